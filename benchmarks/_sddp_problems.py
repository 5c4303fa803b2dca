"""Hydrothermal problems of any size, for the benchmarks of the SDDP engine.

Water runs through cascades of reservoirs and makes power on its way; what it does not make, thermal units
make at rising costs, or demand is not met at the highest. Inflows are random and independent between stages,
alike in all plants to some degree. Numbers are drawn, so no case is anybody's; sizes and proportions are
those of monthly planning. The first stage's inflow is known.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cobre.sddp import LinearProgram, MultistageProblem, Node, Noise, SparseMatrix

BLOCK_HOURS = np.array([120.0, 370.0, 240.0])
BLOCK_LOAD = np.array([1.22, 1.02, 0.86])
HM3_PER_M3S_HOUR = 0.0036
LINES = ((0, 1), (1, 2), (2, 3), (3, 4), (0, 4), (1, 3))
BUSES = 5
DEFICIT = ((1500.0, 0.1), (7500.0, 1.0))  # costs per MWh, and up to which part of the load
MILLION = 1e6  # costs of a problem are in millions


@dataclass(frozen=True)
class Size:
    """How large a problem is."""

    plants: int
    stages: int
    openings: int


def hydrothermal(size: Size, seed: int = 1) -> MultistageProblem:
    """Draw a problem. The same arguments give the same problem."""
    random = np.random.default_rng([size.plants, size.openings, seed])
    system = _System.drawn(size.plants, random)
    program = system.program()
    incoming = {f"volume_{h}": int(column) for h, column in enumerate(system.volume_in)}
    outgoing = {f"volume_{h}": int(column) for h, column in enumerate(system.volume_out)}
    places = [("rhs", row) for row in range(size.plants)]  # the water balances are the first rows
    nodes = []
    for stage in range(size.stages):
        season = 1 + 0.4 * np.cos(2 * np.pi * stage / 12)
        inflows = season * system.inflows(random, size.openings if stage else 1)
        nodes.append(Node(str(stage + 1), program, incoming, outgoing, Noise.from_table(places, inflows)))
    initial = {f"volume_{h}": float(volume) for h, volume in enumerate(system.initial_hm3)}
    return MultistageProblem.linear(nodes, initial, value_bound=0)


class _Columns:
    """Columns of a programme as they are added, with costs and bounds."""

    def __init__(self) -> None:
        self.costs, self.lower, self.upper = [], [], []
        self.count = 0

    def add(self, shape: tuple[int, ...], cost=0.0, lower=0.0, upper=np.inf) -> NDArray[np.intp]:
        for numbers, given in ((self.costs, cost), (self.lower, lower), (self.upper, upper)):
            numbers.append(np.broadcast_to(given, shape).ravel())
        size = int(np.prod(shape))
        self.count += size
        return np.arange(self.count - size, self.count).reshape(shape)


@dataclass
class _System:
    """What is drawn once, for all stages."""

    bus: NDArray[np.intp]  # of each plant
    below: NDArray[np.intp]  # the plant that gets its water, or -1
    power: NDArray[np.float64]  # MW per m3/s
    mean_m3s: NDArray[np.float64]
    through_m3s: NDArray[np.float64]
    sigma: NDArray[np.float64]
    mixing: NDArray[np.float64]
    storage_hm3: NDArray[np.float64]
    initial_hm3: NDArray[np.float64]
    turbine_m3s: NDArray[np.float64]
    least_m3s: NDArray[np.float64]
    load_mw: NDArray[np.float64]
    thermal_bus: NDArray[np.intp]
    thermal_mw: NDArray[np.float64]
    thermal_cost: NDArray[np.float64]
    line_mw: NDArray[np.float64]

    @classmethod
    def drawn(cls, plants: int, random: np.random.Generator) -> _System:
        bus = np.arange(plants) * BUSES // plants
        below = np.full(plants, -1)
        for h in range(plants - 1):
            if bus[h + 1] == bus[h] and random.random() < 0.75:
                below[h] = h + 1
        mean = random.lognormal(np.log(150.0), 0.6, plants)
        through = mean.copy()
        for h in range(plants):
            if below[h] >= 0:
                through[below[h]] += through[h]
        month = HM3_PER_M3S_HOUR * BLOCK_HOURS.sum()
        small = random.random(plants) < 0.25
        storage = through * month * np.where(small, 0.05, random.uniform(1.5, 8.0, plants))
        units = max(plants, 2 * BUSES)
        power = random.uniform(0.25, 1.1, plants)
        load = np.bincount(bus, power * through, minlength=BUSES)
        load = np.maximum(load, load.mean() / 4) * random.uniform(1.15, 1.45, BUSES)
        factors = np.concatenate(
            [0.5 * random.standard_normal((plants, 5)), np.diag(random.uniform(0.5, 1.0, plants))], axis=1
        )
        return cls(
            bus=bus,
            below=below,
            power=power,
            mean_m3s=mean,
            through_m3s=through,
            sigma=random.uniform(0.35, 0.7, plants),
            mixing=factors / np.linalg.norm(factors, axis=1, keepdims=True),
            storage_hm3=storage,
            initial_hm3=storage * random.uniform(0.3, 0.8, plants),
            turbine_m3s=through * random.uniform(1.2, 1.9, plants),
            least_m3s=through * random.uniform(0.1, 0.3, plants),
            load_mw=load,
            thermal_bus=random.permutation(units) % BUSES,
            thermal_mw=load.sum() * 0.55 * random.dirichlet(np.full(units, 2.0)),
            thermal_cost=np.sort(random.lognormal(np.log(220.0), 0.7, units)),
            line_mw=load.mean() * random.uniform(0.15, 0.4, len(LINES)),
        )

    def inflows(self, random: np.random.Generator, count: int) -> NDArray[np.float64]:
        """Lognormal inflows in hm3, one row per realisation."""
        normal = random.standard_normal((count, self.mixing.shape[1])) @ self.mixing.T
        month = HM3_PER_M3S_HOUR * BLOCK_HOURS.sum()
        return self.mean_m3s * month * np.exp(self.sigma * normal - self.sigma**2 / 2)

    def program(self) -> LinearProgram:
        """One stage: water balances, least outflows, load balances."""
        plants, blocks = len(self.bus), len(BLOCK_HOURS)
        hours = BLOCK_HOURS / MILLION
        columns = _Columns()
        self.volume_in = columns.add((plants,), lower=-np.inf)
        self.volume_out = columns.add((plants,), upper=self.storage_hm3)
        spilled = columns.add((plants,), cost=1e-6 * self.power)  # hm3
        missing = columns.add(
            (plants,), cost=3000.0 * self.power * hours.sum()
        )  # m3/s below the least outflow
        turbined = columns.add((plants, blocks), upper=self.turbine_m3s[:, None])
        thermal = columns.add(
            (len(self.thermal_mw), blocks),
            cost=self.thermal_cost[:, None] * hours,
            upper=self.thermal_mw[:, None],
        )
        flows = columns.add(
            (len(LINES), blocks, 2), cost=0.01 * hours[:, None], upper=self.line_mw[:, None, None]
        )
        peak = self.load_mw[:, None] * BLOCK_LOAD
        deficits = [
            columns.add((BUSES, blocks), cost=price * hours, upper=part * peak) for price, part in DEFICIT
        ]
        excess = columns.add((BUSES, blocks), cost=0.001 * hours)

        entries: list[tuple[int, int, float]] = []
        lower, upper = [], []
        hm3 = HM3_PER_M3S_HOUR * BLOCK_HOURS

        def row(terms: list[tuple[int, float]], least: float, most: float) -> None:
            entries.extend((len(lower), int(column), float(value)) for column, value in terms)
            lower.append(least)
            upper.append(most)

        released = [[(spilled[h], 1.0), *zip(turbined[h], hm3, strict=True)] for h in range(plants)]
        for h in range(plants):
            from_above = [(c, -x) for u in np.flatnonzero(self.below == h) for c, x in released[u]]
            row([(self.volume_out[h], 1.0), (self.volume_in[h], -1.0), *released[h], *from_above], 0, 0)
        for h in range(plants):
            row([*released[h], (missing[h], hm3.sum())], self.least_m3s[h] * hm3.sum(), np.inf)
        for i in range(BUSES):
            for b in range(blocks):
                terms = [(turbined[h, b], self.power[h]) for h in np.flatnonzero(self.bus == i)]
                terms += [(thermal[j, b], 1.0) for j in np.flatnonzero(self.thermal_bus == i)]
                for line, (begin, end) in enumerate(LINES):
                    if i in (begin, end):
                        sign = 1.0 if i == end else -1.0
                        terms += [(flows[line, b, 0], sign), (flows[line, b, 1], -sign)]
                terms += [(deficit[i, b], 1.0) for deficit in deficits]
                row([*terms, (excess[i, b], -1.0)], peak[i, b], peak[i, b])
        rows, places, values = zip(*entries, strict=True)
        return LinearProgram(
            np.concatenate(columns.costs),
            SparseMatrix.from_entries((len(lower), columns.count), rows, places, values),
            lower,
            upper,
            np.concatenate(columns.lower),
            np.concatenate(columns.upper),
        )
