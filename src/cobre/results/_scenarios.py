"""Writing the scenarios that a rank simulates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import TracebackType

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from cobre.results._files import settle, write_bytes
from cobre.results._layout import Layout
from cobre.results._parquet import ParquetEncoder

#: Threads that wait for the file system; none of them computes.
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
        self._encoders: dict[str, ParquetEncoder] = {}
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
            starts, ends = (np.searchsorted(scenarios, each * first) for first in (numbers, numbers + 1))
            content = self._encoded(name, table, starts.tolist(), ends.tolist())
            paths = [self._folder / name / self._layout.file(number) for number in numbers.tolist()]
            self._writing.append(self._pool.submit(_write, list(zip(paths, content, strict=True))))

    def _encoded(self, name: str, table: pa.Table, starts: list[int], ends: list[int]) -> Iterator[bytes]:
        if self._layout.scenarios_per_file == 1:  # the path of the file tells which
            table = table.drop_columns(_SCENARIO)
        if name not in self._encoders:
            self._encoders[name] = ParquetEncoder(table.schema, self._compression)
        return self._encoders[name].files(table, starts, ends)

    def _await_files(self) -> None:
        """Wait for the files of the call before, and raise what was raised."""
        for one in self._writing:
            one.result()
        self._writing = []


def _write(files: Iterable[tuple[Path, bytes]]) -> None:
    for path, content in files:
        write_bytes(path, content, at_once=False)
