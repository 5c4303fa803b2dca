"""Small random cases, as the files of a folder: a little of everything, and always feasible.

Where inflows may be negative, something is done about it; where something must be pumped, they never are and
there is enough of them.
"""

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from tests.hydrothermal.random_calendars import KINDS
from tests.hydrothermal.random_plants import vary
from tests.hydrothermal.seasonal_cases import BOTH

Files = dict[str, Any]
METHODS = ["none", "penalty", "truncation", "truncation_with_penalty"]
Draw = Callable[[st.SearchStrategy[Any]], Any]


def number(low: float, high: float) -> st.SearchStrategy[float]:
    """Numbers on a grid of 20: they shrink well, and leave no solver in doubt."""
    return st.integers(0, 20).map(lambda i: round(low + (high - low) * i / 20, 6))


def maybe(strategy: st.SearchStrategy[Any], otherwise: Any) -> st.SearchStrategy[Any]:
    return st.one_of(st.just(otherwise), strategy)


def ids(draw: Draw, least: int, most: int) -> list[int]:
    """Ids in any order and with gaps."""
    return draw(st.lists(st.integers(0, 9), min_size=least, max_size=most, unique=True))


class Drawn:
    """A case as it is drawn."""

    def __init__(self, draw: Draw, kinds: tuple[str, ...]) -> None:
        self.draw = draw
        self.stages = draw(st.integers(1, 4))
        self.openings = [draw(st.integers(1, 3 if self.stages < 4 else 2)) for _ in range(self.stages)]
        self.blocks = [draw(st.integers(1, 3)) for _ in range(self.stages)]
        self.buses = ids(draw, 1, 3)
        self.hydros = ids(draw, 0, 3)
        self.lags = bool(self.hydros) and draw(st.booleans())
        self.kind = draw(st.sampled_from(kinds)) if self.lags else "plain"
        self.time = KINDS[self.kind](draw, self.stages)
        self.annual = self.lags and self.kind in ("plain", "weeks") and draw(st.booleans())
        self.past = 12 if self.annual else 6 if self.kind == "months_then_quarters" else 2
        #: Those before the study that models look back to.
        self.earlier = (
            self.time.before if self.annual or self.kind not in ("plain", "weeks") else self.time.before[:2]
        )
        self.files: Files = {}

    def one(self, low: float, high: float) -> float:
        return self.draw(number(low, high))

    def limits(self, unit: str, least: float, more: float) -> dict[str, float]:
        """A lower bound, 0 as a rule, and an upper one."""
        low = self.draw(maybe(number(0, least), 0.0))
        return {f"min_{unit}": low, f"max_{unit}": low + self.one(0, more)}

    def bus(self) -> int:
        return self.draw(st.sampled_from(self.buses))

    def rows(self, names: str, rows: list[tuple[Any, ...]]) -> dict[str, list[Any]]:
        return {name: [row[i] for row in rows] for i, name in enumerate(names.split())}

    def each_stage(self) -> range:
        return range(self.stages)


def risk_measures() -> st.SearchStrategy[dict[str, Any]]:
    """Mixtures of expectation and CVaR, either of them alone included."""
    numbers = {"alpha": number(0.05, 1), "lambda": number(0, 1)}
    return st.fixed_dictionaries({"cvar": st.fixed_dictionaries(numbers)})


def penalties(case: Drawn) -> None:
    first = case.one(200, 400)
    case.files["penalties.json"] = {
        "bus": {
            "deficit_segments": [
                {"depth_mw": case.one(5, 25), "cost": first},
                {"depth_mw": None, "cost": first + case.one(50, 500)},
            ],
            "excess_cost": case.one(0.1, 3),
        },
        "line": {"exchange_cost": case.one(0.1, 2)},
        "hydro": {
            name: case.one(low, high)
            for name, low, high in (
                ("spillage_cost", 0.1, 2),
                ("fpha_turbined_cost", 2.1, 3),
                ("diversion_cost", 0.1, 2),
                ("storage_violation_below_cost", 100, 9000),
                ("filling_target_violation_cost", 100, 9000),
                ("turbined_violation_below_cost", 5, 90),
                ("outflow_violation_below_cost", 5, 90),
                ("outflow_violation_above_cost", 5, 90),
                ("generation_violation_below_cost", 5, 90),
                ("evaporation_violation_cost", 100, 900),
                ("water_withdrawal_violation_cost", 5, 900),
            )
        },
        "non_controllable_source": {"curtailment_cost": case.one(0.1, 2)},
    }


def time(case: Drawn) -> None:
    modes = st.sampled_from(["parallel", "chronological"])
    case.files["stages.json"] = {
        "policy_graph": {
            "type": "finite_horizon",
            "annual_discount_rate": case.draw(maybe(number(0, 0.5), 0.0)),
            "transitions": [
                {"source_id": t, "target_id": t + 1, "probability": 1.0} for t in range(case.stages - 1)
            ],
        },
        "pre_study_stages": [
            {"id": -k, "start_date": str(start), "end_date": str(end), "season_id": season}
            for k, (start, end, season) in enumerate(case.earlier, 1)
        ],
        **({"season_definitions": case.time.definitions} if case.time.definitions else {}),
        "stages": [
            {
                "id": t,
                "start_date": str(case.time.stages[t][0]),
                "end_date": str(case.time.stages[t][1]),
                "season_id": case.time.stages[t][2],
                "block_mode": case.draw(modes),
                "blocks": [
                    {"id": k, "name": str(k), "hours": case.one(100, 300)} for k in range(case.blocks[t])
                ],
                "num_scenarios": case.openings[t],
                "state_variables": {"storage": True, "inflow_lags": True},
                "risk_measure": case.draw(maybe(risk_measures(), "expectation")),
            }
            for t in case.each_stage()
        ],
    }


def power(case: Drawn) -> None:
    one, bus = case.one, case.bus
    case.files["system/buses.json"] = {"buses": [{"id": i, "name": f"bus {i}"} for i in case.buses]}
    pairs = [(a, b) for a in case.buses for b in case.buses if a != b]
    lines = []
    for i in ids(case.draw, 0, 2) if pairs else ():
        source, target = case.draw(st.sampled_from(pairs))
        lines.append(
            {
                "id": i,
                "name": f"line {i}",
                "source_bus_id": source,
                "target_bus_id": target,
                "capacity": {"direct_mw": one(0, 40), "reverse_mw": one(0, 40)},
                "losses_percent": case.draw(maybe(number(0, 20), 0.0)),
            }
        )
    case.files["system/lines.json"] = {"lines": lines}
    case.files["system/thermals.json"] = {
        "thermals": [
            {
                "id": i,
                "name": f"thermal {i}",
                "bus_id": bus(),
                "cost_per_mwh": one(5, 150),
                "generation": case.limits("mw", 10, 50),
            }
            for i in ids(case.draw, 0, 3)
        ]
    }
    case.files["system/energy_contracts.json"] = {
        "contracts": [
            {
                "id": i,
                "name": f"contract {i}",
                "bus_id": bus(),
                "type": (kind := case.draw(st.sampled_from(["import", "export"]))),
                "price_per_mwh": one(5, 150) * (1 if kind == "import" else -0.5),
                "limits": case.limits("mw", 5, 20),
            }
            for i in ids(case.draw, 0, 2)
        ]
    }
    if lines and case.draw(st.booleans()):
        case.files["constraints/exchange_factors.json"] = {
            "exchange_factors": [
                {
                    "line_id": lines[0]["id"],
                    "stage_id": 0,
                    "block_factors": [
                        {"block_id": 0, "direct_factor": one(0, 1), "reverse_factor": one(0, 1.5)}
                    ],
                }
            ]
        }


def commitments(case: Drawn) -> None:
    """Some thermal plants are committed in advance; limits change only where nothing is committed before."""
    pipeline, changed = [], []
    for plant in case.files["system/thermals.json"]["thermals"]:
        lag = case.draw(st.integers(0, case.stages - 1))
        if lag:
            plant["gnl_config"] = {"lag_stages": lag}
            limits = list(plant["generation"].values())
            for offset in range(1, lag + 1):
                committed = {"stage_offset": offset, "committed_mw": case.draw(st.sampled_from(limits))}
                pipeline.append({"thermal_id": plant["id"], **committed})
            changed += [
                (plant["id"], t, *case.limits("mw", 20, 40).values())
                for t in range(lag, case.stages)
                if case.draw(st.booleans())
            ]
    case.files["initial_conditions.json"]["gnl_pipeline"] = pipeline
    if changed:
        case.files["constraints/thermal_bounds.parquet"] = case.rows(
            "thermal_id stage_id min_generation_mw max_generation_mw", changed
        )


def batteries(case: Drawn) -> None:
    """Batteries; what is in them at first always fits."""
    one, draw = case.one, case.draw
    there = ids(draw, 0, 2)
    changes = [(i, t, one(500, 4000)) for i in there for t in case.each_stage() if draw(st.booleans())]
    case.files["system/batteries.json"] = {
        "batteries": [
            {
                "id": i,
                "name": f"battery {i}",
                "bus_id": case.bus(),
                "entry_stage_id": draw(st.sampled_from([None, 0, 1])),
                "exit_stage_id": draw(st.sampled_from([None, 2, 3])),
                "capacity": {
                    "energy_mwh": one(500, 4000),
                    "charge_mw": one(0, 30),
                    "discharge_mw": one(0, 30),
                },
                "efficiency": {"charge": one(0.5, 1), "discharge": one(0.5, 1)},
                "self_discharge_per_hour": draw(maybe(number(0, 0.002), 0.0)),
                "initial_energy_mwh": one(0, 500),
                "cycles_per_day": one(0, 0.3),
                "costs": {"charge_per_mwh": one(0, 5), "discharge_per_mwh": one(0, 5)},
            }
            for i in there
        ]
    }
    if changes:
        case.files["constraints/battery_bounds.parquet"] = case.rows(
            "battery_id stage_id energy_mwh", changes
        )


def sources(case: Drawn) -> list[int]:
    """Sources; those with statistics have noise, even where it does nothing."""
    there = ids(case.draw, 0, 2)
    case.files["system/non_controllable_sources.json"] = {
        "non_controllable_sources": [
            {"id": i, "name": f"source {i}", "bus_id": case.bus(), "max_generation_mw": case.one(0, 40)}
            for i in there
        ]
    }
    random = [i for i in there if case.draw(st.booleans())]
    if random:
        stds = {i: case.draw(maybe(number(0.05, 0.5), 0.0)) for i in random}
        case.files["scenarios/non_controllable_stats.parquet"] = case.rows(
            "ncs_id stage_id mean std",
            [(i, t, case.one(0, 1), stds[i]) for i in random for t in case.each_stage()],
        )
    if there and case.draw(st.booleans()):
        factor = {"block_id": 0, "factor": case.one(0, 1.5)}
        case.files["scenarios/non_controllable_factors.json"] = {
            "non_controllable_factors": [{"ncs_id": there[-1], "stage_id": 0, "block_factors": [factor]}]
        }
    return sorted(random)


def loads(case: Drawn) -> list[int]:
    """Loads; buses with a standard deviation have noise."""
    random = {bus: case.draw(maybe(number(1, 30), 0.0)) for bus in case.buses}
    case.files["scenarios/load_seasonal_stats.parquet"] = case.rows(
        "bus_id stage_id mean_mw std_mw",
        [(bus, t, case.one(0, 80), random[bus]) for bus in case.buses for t in case.each_stage()],
    )
    if case.draw(st.booleans()):
        factor = {"block_id": 0, "factor": case.one(0.2, 1.5)}
        case.files["scenarios/load_factors.json"] = {
            "load_factors": [{"bus_id": case.bus(), "stage_id": 0, "block_factors": [factor]}]
        }
    return sorted(bus for bus, std in random.items() if std > 0)


def plant(case: Drawn, place: int) -> dict[str, Any]:
    """A plant; water runs to those later in the list."""
    one, draw = case.one, case.draw
    below = case.hydros[place + 1 :]
    least = draw(maybe(number(0, 15), 0.0))
    most = least + draw(maybe(number(0, 60), 0.0))
    made: dict[str, Any] = {
        "id": case.hydros[place],
        "name": f"hydro {case.hydros[place]}",
        "bus_id": case.bus(),
        "downstream_id": draw(st.sampled_from([None, *below])),
        "reservoir": {"min_storage_hm3": least, "max_storage_hm3": most},
        "outflow": {
            "min_outflow_m3s": (low := draw(maybe(number(0, 20), 0.0))),
            "max_outflow_m3s": draw(maybe(number(0, 40).map(lambda more: low + more), None)),
        },
        "generation": {
            "model": "constant_productivity",
            "productivity_mw_per_m3s": one(0.2, 1.5),
            "min_turbined_m3s": (low := draw(maybe(number(0, 10), 0.0))),
            "max_turbined_m3s": low + one(0, 50),
            "min_generation_mw": (low := draw(maybe(number(0, 10), 0.0))),
            "max_generation_mw": low + one(0, 60),
        },
    }
    if below and draw(st.booleans()):
        made["diversion"] = {"downstream_id": draw(st.sampled_from(below)), "max_flow_m3s": one(0, 10)}
    if case.time.definitions is not BOTH and most > least and draw(st.booleans()):
        made["evaporation"] = {"coefficients_mm": [one(0, 200) for _ in range(12)]}
    return made


def water(case: Drawn) -> None:
    one, draw, stages = case.one, case.draw, case.each_stage()
    plants = [plant(case, place) for place in range(len(case.hydros))]
    case.files["system/hydros.json"] = {"hydros": plants}
    evaporating = [made["id"] for made in plants if "evaporation" in made]
    if evaporating:
        case.files["system/hydro_geometry.parquet"] = case.rows(
            "hydro_id volume_hm3 height_m area_km2",
            [
                (i, volume, 10.0 + volume, area)
                for i in evaporating
                for volume, area in ((0.0, one(0, 2)), (30.0, one(3, 6)), (80.0, one(7, 9)))
            ],
        )
    initial = [
        {"hydro_id": made["id"], "value_hm3": draw(st.sampled_from(list(made["reservoir"].values())))}
        for made in plants
    ]
    case.files["initial_conditions.json"] = {
        "storage": initial,
        "filling_storage": [],
        "past_inflows": [
            {"hydro_id": i, "values_m3s": [one(5, 30) for _ in range(case.past)]}
            for i in case.hydros
            if case.lags
        ],
        "recent_observations": [
            {
                "hydro_id": i,
                "start_date": str(case.time.observed[0]),
                "end_date": str(case.time.observed[1]),
                "value_m3s": one(0, 30),
            }
            for i in case.hydros
            if case.time.observed and draw(st.booleans())
        ],
    }
    withdrawn = [(i, t, one(0, 8)) for i in case.hydros for t in stages if draw(st.booleans())]
    if withdrawn:
        case.files["constraints/hydro_bounds.parquet"] = case.rows(
            "hydro_id stage_id water_withdrawal_m3s", withdrawn
        )
    pairs = [(a, b) for a in case.hydros for b in case.hydros if a != b]
    case.files["system/pumping_stations.json"] = {
        "pumping_stations": [
            {
                "id": i,
                "name": f"pump {i}",
                "bus_id": case.bus(),
                "source_hydro_id": (pair := draw(st.sampled_from(pairs)))[0],
                "destination_hydro_id": pair[1],
                "consumption_mw_per_m3s": one(0.1, 2),
                "flow": case.limits("m3s", 0 if case.lags else 1.5, 8),
            }
            for i in (ids(draw, 0, 2) if pairs else ())
        ]
    }


def inflows(case: Drawn, steady: bool) -> None:
    """Inflows; ``steady`` ones are never negative."""
    one, hydros = case.one, case.hydros
    if not hydros:
        return
    seasons = {-k: season for k, (_, _, season) in enumerate(case.earlier, 1)}
    seasons |= {t: case.time.stages[t][2] for t in case.each_stage()}
    stages = sorted(seasons)
    usual = {(i, season): one(5, 30) for i in hydros for season in sorted({*seasons.values()})}
    means = {(i, t): usual[i, seasons[t]] for i in hydros for t in stages}
    share = {i: case.one(0.05, 0.2 if steady else 0.9) for i in hydros}
    case.files["scenarios/inflow_seasonal_stats.parquet"] = case.rows(
        "hydro_id stage_id mean_m3s std_m3s",
        [(i, t, means[i, t], round(share[i] * means[i, t], 6)) for i in hydros for t in stages],
    )
    if case.lags:
        orders = {i: case.draw(st.integers(1, 2)) for i in hydros}
        case.files["scenarios/inflow_ar_coefficients.parquet"] = case.rows(
            "hydro_id stage_id lag coefficient residual_std_ratio",
            [
                (i, t, lag, one(-0.3, 0.5), 0.9)
                for i in hydros
                for t in case.each_stage()
                for lag in range(1, orders[i] + 1)
            ],
        )
    if case.annual:
        case.files["scenarios/inflow_annual_component.parquet"] = case.rows(
            "hydro_id stage_id annual_coefficient annual_mean_m3s annual_std_m3s",
            [(i, t, one(-0.3, 0.4), 17.5, one(3, 9)) for i in hydros for t in case.each_stage()],
        )


def constraint(case: Drawn) -> None:
    """A constraint with a slack on some of all that can be constrained."""
    owners = {
        "hydro_withdrawal hydro_storage hydro_turbined hydro_spillage hydro_outflow hydro_generation": (
            "hydros",
            "hydros",
        ),
        "thermal_generation": ("thermals", "thermals"),
        "line_direct line_exchange": ("lines", "lines"),
        "bus_deficit bus_excess": ("buses", "buses"),
        "pumping_flow pumping_power": ("pumping_stations", "pumping_stations"),
        "battery_charge battery_discharge battery_energy": ("batteries", "batteries"),
        "non_controllable_generation non_controllable_curtailment": (
            "non_controllable_sources",
            "non_controllable_sources",
        ),
    }
    terms = []
    for variables, (file, key) in owners.items():
        for entity in case.files[f"system/{file}.json"][key]:
            if case.draw(st.booleans()):
                variable = case.draw(st.sampled_from(variables.split()))
                terms.append(f"{case.one(0.2, 2)} * {variable}({entity['id']})")
    if not terms:
        return
    case.files["constraints/generic_constraints.json"] = {
        "constraints": [
            {
                "id": 3,
                "name": "constraint",
                "expression": " + ".join(terms),
                "sense": case.draw(st.sampled_from(["<=", ">=", "=="])),
                "slack": {"enabled": True, "penalty": case.one(1, 100)},
            }
        ]
    }
    case.files["constraints/generic_constraint_bounds.parquet"] = case.rows(
        "constraint_id stage_id block_id bound",
        [(3, t, None if case.draw(st.booleans()) else 0, case.one(-20, 80)) for t in case.each_stage()],
    )


def noise(case: Drawn, dimension: int) -> None:
    case.files["scenarios/noise_openings.parquet"] = case.rows(
        "stage_id opening_index entity_index value",
        [
            (t, k, i, case.one(-2, 2))
            for t in case.each_stage()
            for k in range(case.openings[t])
            for i in range(dimension)
        ],
    )


@st.composite
def cases(draw: Draw, kinds: tuple[str, ...] = tuple(KINDS)) -> Files:
    """Draw a case, with stages in the calendar of one of these kinds."""
    case = Drawn(draw, kinds)
    penalties(case)
    time(case)
    power(case)
    batteries(case)
    random = sources(case) + loads(case)
    water(case)
    commitments(case)
    vary(case)
    pumped = any(
        station["flow"]["min_m3s"] > 0
        for station in case.files["system/pumping_stations.json"]["pumping_stations"]
    )
    method = draw(st.sampled_from(METHODS[case.lags :]))
    inflows(case, pumped or method == "none")
    if draw(st.booleans()):
        constraint(case)
    dimension = len(case.hydros) + len(random)
    if dimension:
        noise(case, dimension)
    case.files["config.json"] = {
        "training": {
            "tree_seed": 1,
            "forward_passes": 3,
            "stopping_rules": [{"type": "iteration_limit", "limit": 10}],
        },
        "modeling": {"inflow_non_negativity": {"method": method, "penalty_cost": case.one(100, 1000)}},
    }
    return case.files
