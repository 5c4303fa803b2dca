"""Copies of the examples with settings of their own, quick to run."""

import json
import shutil
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples" / "cases"


def copy(name, folder, *, iterations=4, scenarios=5, passes=3, **settings):
    """Copy an example; ``settings`` are merged into the sections of its ``config.json``."""
    shutil.copytree(EXAMPLES / name, folder, ignore=shutil.ignore_patterns("output"))
    path = folder / "config.json"
    config = json.loads(path.read_text())
    config["training"]["stopping_rules"] = [{"type": "iteration_limit", "limit": iterations}]
    config["training"]["forward_passes"] = passes
    config["simulation"] = {"enabled": scenarios > 0, "num_scenarios": max(scenarios, 1)}
    for section, changes in settings.items():
        config[section] = {**config.get(section, {}), **changes}
    path.write_text(json.dumps(config))
    return folder
