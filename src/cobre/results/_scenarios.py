"""Writing the scenarios that a rank simulates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import TracebackType

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from cobre.results._files import settle, write_table
from cobre.results._layout import Layout

#: Threads that encode and write: while one waits for the file system, others encode.
_THREADS = 4
_SCENARIO = "scenario_id"


class ScenarioWriter:
    """Writes scenarios as files while the next ones are solved. A context manager.

    Where its block ends well, all files are on the disk; where it raises, those not begun are left out. At
    most the files of one call of `write` are in memory.

    Args:
        folder: of the simulation.
        compression: of the files.
        layout: of the tables.
    """

    def __init__(self, folder: Path, compression: str, layout: Layout) -> None:
        self._folder, self._compression, self._layout = folder, compression, layout
        self._pool = ThreadPoolExecutor(_THREADS, "cobre-writer")
        self._writing: list[Future[None]] = []

    def __enter__(self) -> ScenarioWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._await_files()
        finally:
            self._pool.shutdown(cancel_futures=True)
        if kind is None:
            settle(self._folder.parent)

    def write(self, tables: Mapping[str, pa.Table]) -> None:
        """Write some scenarios: all those of each file that has one of them.

        Args:
            tables: by the names of `SIMULATION`, sorted by ``scenario_id``, their first column.

        Raises:
            OutputError: a file of this call or of the one before cannot be written.
        """
        self._await_files()
        each = self._layout.scenarios_per_file
        numbers = np.unique(tables["costs"][_SCENARIO].to_numpy() // each)
        for name, table in tables.items():
            scenarios = table[_SCENARIO].to_numpy()
            bounds = np.searchsorted(scenarios, [each * numbers, each * (numbers + 1)]).T.tolist()
            # Where a file has one scenario its path tells which.
            rows = table.drop_columns(_SCENARIO) if each == 1 else table
            files = [
                (self._folder / name / self._layout.file(number), rows[start:end])
                for number, (start, end) in zip(numbers.tolist(), bounds, strict=True)
            ]
            self._writing.append(self._pool.submit(self._write, files))

    def _write(self, files: Iterable[tuple[Path, pa.Table]]) -> None:
        for path, table in files:
            write_table(path, table, self._compression, at_once=False)

    def _await_files(self) -> None:
        """Wait for the files of the call before, and raise what was raised."""
        for one in self._writing:
            one.result()
        self._writing = []
