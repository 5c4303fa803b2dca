"""Cases and result folders for pages: a wide one, one with hostile names, unfinished ones."""

import json
import math

from tests.examples import make_cases
from tests.study.cases import copy

#: Would run, if any of it were taken for HTML.
HOSTILE = {
    "spring": "<img src=x onerror='window.hacked=1'>",
    "gorge": "</script><script>window.hacked=2</script>",
    "plain": "<!--<script>\u2028'\"&amp;{{ 7*7 }}",
    "mouth": '=HYPERLINK("http://evil.example","mouth")',
    "town": "<svg onload=window.hacked=3>town",
    "coast": "=1+1",
}


def hostile(folder):
    """The cascade, with names that would run."""
    copy("cascade", folder, iterations=2, scenarios=3, passes=2)
    for name in ("system/hydros.json", "system/buses.json"):
        path = folder / name
        content = json.loads(path.read_text())
        [entities] = content.values()
        for entity in entities:
            entity["name"] = HOSTILE.get(entity["name"], entity["name"])
        path.write_text(json.dumps(content))
    return folder


def wide(folder, hydros=160, stages=120, buses=8):
    """Many plants, of every size, each between two neighbours on one of the buses; ten years."""
    make = make_cases
    means = [20.0 + 7.0 * (i * 0.618034 % 1.0) * (1 + i % 5) for i in range(hydros)]
    plants = [
        make.hydro(i, f"Plant {i:03d}", i % buses, (0.0, round(mean * (4 + i % 40), 1)), (2.0 * mean, 0.5))
        for i, mean in enumerate(means)
    ]
    load = 0.5 * sum(means) / buses * 1.3
    thermals = [
        make.thermal(i, f"thermal {i}", i % buses, (0.0, load * 0.3), 40.0 * 1.5 ** (i // buses))
        for i in range(4 * buses)
    ]
    files = {
        "config.json": make.config(1, 1, 3),
        "penalties.json": make.penalties([(None, 2000.0)]),
        "stages.json": {
            "policy_graph": make.graph(stages, 0.08),
            "stages": [make.stage(t, 2, {"all": 1.0}) for t in range(stages)],
        },
        "initial_conditions.json": {
            "storage": [
                {"hydro_id": plant["id"], "value_hm3": 0.6 * plant["reservoir"]["max_storage_hm3"]}
                for plant in plants
            ],
            "filling_storage": [],
        },
        "system/buses.json": {"buses": [{"id": i, "name": f"Region {i + 1}"} for i in range(buses)]},
        "system/lines.json": {
            "lines": [make.line(i, (i, (i + 1) % buses), 0.2 * load, 0.2 * load) for i in range(buses)]
        },
        "system/hydros.json": {"hydros": plants},
        "system/thermals.json": {"thermals": thermals},
        "scenarios/inflow_seasonal_stats.parquet": make.table(
            "hydro_id stage_id mean_m3s std_m3s",
            [
                (i, t, make.seasonal(mean, 0.5, i % 3, t), 0.25 * mean)
                for i, mean in enumerate(means)
                for t in range(stages)
            ],
        ),
        "scenarios/load_seasonal_stats.parquet": make.table(
            "bus_id stage_id mean_mw std_mw",
            [
                (bus, t, make.seasonal(load * math.pow(1.02, t / 12), 0.06, 0, t), 0.0)
                for bus in range(buses)
                for t in range(stages)
            ],
        ),
        "scenarios/noise_openings.parquet": make.noise(5, 2, stages, hydros),
    }
    make.write(folder, files)
    return folder
