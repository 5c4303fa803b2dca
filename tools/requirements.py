"""Print what must be installed before cobre can be built in place: its own needs and the dev extra."""

import tomllib
from pathlib import Path

project = tomllib.loads(Path("pyproject.toml").read_text())
wanted = [
    *project["build-system"]["requires"],
    *project["project"]["dependencies"],
    *project["project"]["optional-dependencies"]["dev"],
]
print("\n".join(f"'{requirement}'" for requirement in dict.fromkeys(wanted)))  # noqa: T201
