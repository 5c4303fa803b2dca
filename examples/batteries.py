"""A town with solar power, diesel and two batteries, one of which enters on the third day.

Each stage is a day of six blocks of four hours. In the first days blocks are chronological, so the batteries
are charged at noon before they are discharged in the evening; in the last two they are parallel. Clouds are
random.
"""

import json
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import cobre
from cobre import results

TEMPLATE = Path(__file__).parent / "cases" / "one-reservoir"
DAYS, OPENINGS = 6, 5
#: By block, from midnight on: shares of the load's mean, and of what panels bring at most.
LOAD, SUN = (0.7, 0.8, 1.0, 1.0, 1.4, 1.1), (0.0, 0.3, 1.0, 0.9, 0.1, 0.0)


def battery(number: int, name: str, energy_mwh: float, power_mw: float, **more: object) -> dict[str, object]:
    """Return an entry of ``system/batteries.json``."""
    return {
        "id": number,
        "name": name,
        "bus_id": 0,
        "capacity": {"energy_mwh": energy_mwh, "charge_mw": power_mw, "discharge_mw": power_mw},
        "efficiency": {"charge": 0.95, "discharge": 0.95},
        "self_discharge_per_hour": 0.0005,
        "costs": {"discharge_per_mwh": 2.0},
        **more,
    }


def factors(kind: str, shares: tuple[float, ...]) -> list[dict[str, object]]:
    """Return block factors of the element 0 for all stages."""
    blocks = [{"block_id": k, "factor": share} for k, share in enumerate(shares)]
    return [{f"{kind}_id": 0, "stage_id": t, "block_factors": blocks} for t in range(DAYS)]


def documents() -> dict[str, dict[str, object]]:
    """Return the JSON files of the case."""
    steps = [{"source_id": t, "target_id": t + 1, "probability": 1.0} for t in range(DAYS - 1)]
    return {
        "config.json": {
            "training": {
                "tree_seed": 1,
                "forward_passes": 4,
                "stopping_rules": [{"type": "iteration_limit", "limit": 15}],
            },
            "simulation": {"enabled": True, "num_scenarios": 20},
        },
        "penalties.json": json.loads((TEMPLATE / "penalties.json").read_text(encoding="utf-8")),
        "stages.json": {
            "policy_graph": {"type": "finite_horizon", "annual_discount_rate": 0.0, "transitions": steps},
            "stages": [
                {
                    "id": t,
                    "start_date": f"2026-06-{t + 1:02}",
                    "end_date": f"2026-06-{t + 2:02}",
                    "block_mode": "chronological" if t < DAYS - 2 else "parallel",
                    "blocks": [{"id": k, "name": f"{4 * k} h", "hours": 4.0} for k in range(len(LOAD))],
                    "num_scenarios": OPENINGS,
                }
                for t in range(DAYS)
            ],
        },
        "initial_conditions.json": {"storage": [], "filling_storage": []},
        "system/buses.json": {"buses": [{"id": 0, "name": "town"}]},
        "system/lines.json": {"lines": []},
        "system/hydros.json": {"hydros": []},
        "system/thermals.json": {
            "thermals": [
                {
                    "id": i,
                    "name": name,
                    "bus_id": 0,
                    "cost_per_mwh": cost,
                    "generation": {"min_mw": 0.0, "max_mw": most},
                }
                for i, (name, cost, most) in enumerate((("gas", 90.0, 60.0), ("diesel", 310.0, 35.0)))
            ]
        },
        "system/non_controllable_sources.json": {
            "non_controllable_sources": [{"id": 0, "name": "sun", "bus_id": 0, "max_generation_mw": 280.0}]
        },
        "system/batteries.json": {
            "batteries": [
                battery(0, "old battery", 120.0, 40.0, initial_energy_mwh=60.0),
                battery(1, "new battery", 200.0, 50.0, entry_stage_id=2, cycles_per_day=0.5),
            ]
        },
        "scenarios/load_factors.json": {"load_factors": factors("bus", LOAD)},
        "scenarios/non_controllable_factors.json": {"non_controllable_factors": factors("ncs", SUN)},
    }


def table(path: Path, **columns: list[int] | list[float]) -> None:
    """Write a Parquet file; ids are 32 bits wide."""
    kinds = {name: pa.int32() if name.endswith("_id") else pa.float64() for name in columns}
    fields = [pa.field(name, kind, nullable=False) for name, kind in kinds.items()]
    arrays = [pa.array(values, kinds[name]) for name, values in columns.items()]
    pq.write_table(pa.table(arrays, schema=pa.schema(fields)), path)


def write(folder: Path) -> None:
    """Write the case folder."""
    for name, content in documents().items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content, indent=2), encoding="utf-8")
    days, zeros = list(range(DAYS)), [0] * DAYS
    table(
        folder / "scenarios" / "load_seasonal_stats.parquet",
        bus_id=zeros,
        stage_id=days,
        mean_mw=[100.0] * DAYS,
        std_mw=[0.0] * DAYS,
    )
    table(
        folder / "scenarios" / "non_controllable_stats.parquet",
        ncs_id=zeros,
        stage_id=days,
        mean=[0.55] * DAYS,
        std=[0.35] * DAYS,
    )
    table(
        folder / "constraints" / "battery_bounds.parquet",
        battery_id=[0],
        stage_id=[3],
        discharge_mw=[20.0],
    )


def main() -> None:
    """Train with and without batteries, and show the stored energy."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "case" / "constraints").mkdir(parents=True)
        write(folder / "case")
        run = cobre.run(folder / "case", output=folder / "with")
        print(f"with batteries:    {run.simulation.mean_cost:10.0f} $")
        print("mean energy at the end of each day, MWh:")
        stored = results.read(folder / "with").simulation("batteries")
        last = stored.filter(pc.equal(stored["block_id"], len(LOAD) - 1))
        ends = last.group_by(["battery_id", "stage_id"], use_threads=False).aggregate(
            [("soc_final_mwh", "mean")]
        )
        for number in (0, 1):
            own = ends.filter(pc.equal(ends["battery_id"], number))["soc_final_mwh_mean"].to_pylist()
            print(f"  battery {number}:", *(f"{energy:.1f}" for energy in own))
        (folder / "case" / "system" / "batteries.json").unlink()
        (folder / "case" / "constraints" / "battery_bounds.parquet").unlink()
        run = cobre.run(folder / "case", output=folder / "without")
        print(f"without batteries: {run.simulation.mean_cost:10.0f} $")


if __name__ == "__main__":
    main()
