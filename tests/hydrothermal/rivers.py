"""Inflows of a case's models, from its files and day by day: slow, simple, independent.

Every day has the inflow of its stage, or of the past inflow or observation that it is in; a lag is the mean
of the days of a season. Only monthly and custom seasons, and statistics that are the same in all of a season.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from functools import cache
from typing import Any

import numpy as np

Days = frozenset[date]
FOLDER = "scenarios/"


def rivers(files: Mapping[str, Any]) -> dict[int, "River"]:
    """The rivers of a case, by hydro plant."""
    return {plant["id"]: River(files, plant["id"]) for plant in files["system/hydros.json"]["hydros"]}


@cache
def days(start: Any, end: Any) -> Days:
    """All days from one to the one before another."""
    first, last = (date.fromisoformat(str(one)) for one in (start, end))
    return frozenset(first + timedelta(i) for i in range((last - first).days))


class River:
    """The inflow of a plant."""

    def __init__(self, files: Mapping[str, Any], plant: int) -> None:
        time = files["stages.json"]
        self.stages = sorted(time["stages"], key=lambda stage: stage["id"])
        self.days = [days(stage["start_date"], stage["end_date"]) for stage in self.stages]
        self.before = sorted(time.get("pre_study_stages", []), key=lambda stage: -stage["id"])
        definitions = time.get("season_definitions")
        self.seasons = {one["id"]: one for one in definitions["seasons"]} if definitions else {}
        self.own = [
            self.season_of(stage.get("season_id"), one)
            for stage, one in zip(self.stages, self.days, strict=True)
        ]
        self.numbers = {
            name: self.rows(files, file, names, plant)
            for name, file, *names in (
                ("moments", "inflow_seasonal_stats", "mean_m3s", "std_m3s"),
                ("psi", "inflow_ar_coefficients", "lag", "coefficient", "residual_std_ratio"),
                ("year", "inflow_annual_component", "annual_coefficient", "annual_std_m3s"),
            )
        }
        initial = files["initial_conditions.json"]
        past = [one["values_m3s"] for one in initial.get("past_inflows", []) if one["hydro_id"] == plant]
        self.past: list[float] = past[0] if past else []
        self.near: dict[tuple[Days, int], Days] = {}
        self.observed = {
            day: one["value_m3s"]
            for one in initial.get("recent_observations", [])
            if one["hydro_id"] == plant
            for day in days(one["start_date"], one["end_date"])
        }

    @staticmethod
    def rows(files: Mapping[str, Any], file: str, names: Sequence[str], plant: int) -> dict[int, list[Any]]:
        """Rows of a table by stage."""
        table, found = files.get(f"{FOLDER}{file}.parquet"), defaultdict(list)
        for i, hydro in enumerate(table["hydro_id"] if table else ()):
            if hydro == plant:
                found[table["stage_id"][i]].append([table[name][i] for name in names])
        return found

    def season_of(self, season: int, stage: Days) -> Days:
        """The days of the year's season that a stage has most of; a stage's own where none are defined."""
        if not self.seasons:
            return stage
        years = [self.season_in(season, min(stage).year + more) for more in (-1, 0, 1)]
        return max(years, key=lambda one: len(one & stage))

    def season_in(self, season: int, year: int) -> Days:
        one = self.seasons[season]
        first = date(year, one["month_start"], one.get("day_start") or 1)
        last = one.get("month_end") or one["month_start"]
        return days(first, date(year + (last == 12), last % 12 + 1, 1))

    def beside(self, own: Days, step: int) -> Days:
        """The season before or after one, of those as long as it is."""
        if (own, step) not in self.near:
            self.near[own, step] = self.find_beside(own, step)
        return self.near[own, step]

    def find_beside(self, own: Days, step: int) -> Days:
        day = max(own) + timedelta(1) if step > 0 else min(own) - timedelta(1)
        near = [self.season_in(season, day.year) for season in self.seasons]
        return min((one for one in near if day in one), key=lambda one: abs(len(one) - len(own)))

    def lags(self, t: int, inflows: Sequence[float]) -> list[float]:
        """What was known of the past before a stage: means of seasons, the latest first."""
        if not self.seasons:
            return [*reversed(inflows), *self.past]
        known: dict[date, float] = dict(self.observed)
        back = self.own[0]
        for value in self.past:
            back = self.beside(back, -1)
            known |= dict.fromkeys(back, value)
        found, counted = list(self.past), defaultdict(list)
        counted[self.own[0]] += [known[day] for day in self.own[0] & known.keys()]
        for s in range(t):
            for season in (self.own[s], self.beside(self.own[s], 1)):
                counted[season] += [inflows[s]] * len(season & self.days[s])
            known |= dict.fromkeys(self.days[s], inflows[s])
            if self.own[s] not in self.own[s + 1 :]:
                found.insert(0, float(np.mean(counted[self.own[s]])))
            if s + 1 < len(self.own) and self.changes(s + 1):
                found, back = [], self.own[s + 1]
                while (back := self.beside(back, -1)) & known.keys():
                    found.append(float(np.mean([known[day] for day in back & known.keys()])))
                counted[self.own[s + 1]] = [known[day] for day in self.own[s + 1] & known.keys()]
        return found

    def changes(self, s: int) -> bool:
        """True if a stage's season is much longer or shorter than that of the stage before it."""
        return abs(len(self.own[s]) - len(self.own[s - 1])) > 7

    def moments(self, t: int, lag: int) -> tuple[float, float]:
        """Mean and standard deviation of a lag, by season; by stage where none are defined."""
        if not self.seasons:
            before = {t - lag: -(lag - t)} if lag > t else {t - lag: self.stages[t - lag]["id"]}
            rows = (
                self.numbers["moments"].get(before[t - lag]) or self.numbers["moments"][self.stages[0]["id"]]
            )
            return tuple(rows[0])
        back = self.own[t]
        for _ in range(lag):
            back = self.beside(back, -1)
        for stage in [*self.stages, *self.before]:
            one = days(stage["start_date"], stage["end_date"])
            own = self.season_of(stage.get("season_id"), one)
            if (min(own).month, max(own).month) == (min(back).month, max(back).month):
                return tuple(self.numbers["moments"][stage["id"]][0])
        raise LookupError(f"stage {t}, lag {lag}")

    def inflow(self, t: int, inflows: Sequence[float], noise: float) -> float:
        """The inflow of a stage, given those of the stages before it in their order."""
        number = self.stages[t]["id"]
        mean, std = self.numbers["moments"][number][0]
        psi, year = self.numbers["psi"].get(number, []), self.numbers["year"].get(number, [])
        known = self.lags(t, inflows) if psi or year else []
        result = mean + std * noise * (psi[0][2] if psi else 1.0)
        for lag, coefficient, _ in psi:
            mean_then, std_then = self.moments(t, lag)
            result += coefficient * std / std_then * (known[lag - 1] - mean_then) if std_then else 0.0
        for coefficient, std_of_year in year:
            then = [*known, *[0.0] * 12][:12]
            usual = [self.moments(t, lag)[0] for lag in range(1, 13)]
            result += coefficient * std / std_of_year * float(np.mean(then) - np.mean(usual))
        return float(result)
