"""Layouts of the tables of a simulation: how many scenarios a file has, and how files are called."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

LayoutName: TypeAlias = Literal["scenarios", "compact"]


class Layout(NamedTuple):
    """A layout of tables.

    Attributes:
        scenarios_per_file: in all files of a table but the last.
        pattern: of the files in the folder of a table, by their number.
    """

    scenarios_per_file: int
    pattern: str

    def file(self, number: int) -> str:
        """Return the path of a file in the folder of a table."""
        return self.pattern.format(number)

    def files(self, scenarios: int) -> range:
        """Return the numbers of the files of so many scenarios."""
        return range(-(-scenarios // self.scenarios_per_file))

    def scenarios_in(self, number: int, scenarios: int) -> int:
        """Return how many of all scenarios are in a file."""
        return min(scenarios - number * self.scenarios_per_file, self.scenarios_per_file)


#: That of Cobre's output format, and one with fewer files.
LAYOUTS: dict[LayoutName, Layout] = {
    "scenarios": Layout(1, "scenario_id={:04d}/data.parquet"),
    "compact": Layout(16, "part-{:04d}.parquet"),
}
