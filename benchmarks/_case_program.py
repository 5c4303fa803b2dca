"""Do one thing with a case folder in a process of its own, and say what it took.

``python _case_program.py {ours|peer|simulate|compact|load} FOLDER OUTPUT WORKERS THREADS``; the last line of
what it prints is JSON. Ours and the peer's package are both called ``cobre``: which of them is meant, the
interpreter decides, and each takes the same folder and leaves the same tables.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path
from typing import Any


def ours(folder: Path, output: Path, workers: int, threads: int) -> dict[str, float]:
    """Train, and simulate where the folder says so."""
    from cobre import study  # noqa: PLC0415  the peer has no such module

    result = study.run(folder, num_workers=workers, threads=threads, output=output)
    return {"simulation_s": result.simulation.seconds} if result.simulation else {}


def peer(folder: Path, output: Path, _workers: int, threads: int) -> dict[str, float]:
    """Do the same by the peer."""
    import cobre.run  # noqa: PLC0415  ours has no such module

    cobre.run.run(str(folder), output_dir=str(output), threads=threads)
    return {}


def simulate(
    folder: Path, output: Path, workers: int, threads: int, layout: str = "scenarios"
) -> dict[str, float]:
    """Follow the policy that is beside the output folder."""
    from cobre import study  # noqa: PLC0415
    from cobre.hydrothermal import SimulationTables  # noqa: PLC0415
    from cobre.results import ScenarioWriter  # noqa: PLC0415

    taken = {
        "tables_s": _timed(SimulationTables, "tables"),  # what workers take stays with them
        "encoding_s": _timed(ScenarioWriter, "write"),
        "awaiting_files_s": _timed(ScenarioWriter, "__exit__"),
    }
    policy = output.parent / "trained" / "policy" / "policy.cobre"
    options = {"num_workers": workers, "threads": threads, "layout": layout}
    result = study.simulate(folder, policy, output=output, **options)
    return {"simulation_s": result.seconds, **{name: sum(times) for name, times in taken.items()}}


def compact(folder: Path, output: Path, workers: int, threads: int) -> dict[str, float]:
    """Do the same with compact tables."""
    return simulate(folder, output, workers, threads, "compact")


def load(folder: Path, *_: object) -> dict[str, float]:
    """Load and validate, and nothing else."""
    from cobre import case  # noqa: PLC0415
    from cobre.elements.hydro.data import Hydro  # noqa: PLC0415

    begun = time.perf_counter()
    system = case.load(folder).system
    took = time.perf_counter() - begun
    return {"load_s": took, "hydros": len(system.of(Hydro)), "stages": len(system.stages)}


def _timed(owner: type, name: str) -> list[float]:
    """Return a list that the time of each call of a method will be added to, in this process."""
    method, times = getattr(owner, name), []

    def timed(*arguments: Any) -> Any:
        begun = time.perf_counter()
        result = method(*arguments)
        times.append(time.perf_counter() - begun)
        return result

    setattr(owner, name, timed)
    return times


def peak_mb(who: int) -> float:
    """Return the most memory that a process had in use; of several children, that of the largest."""
    return resource.getrusage(who).ru_maxrss / 1024  # Linux gives KiB


def main() -> None:
    """Run what the command line asks for."""
    action, folder, output, workers, threads = sys.argv[1:]
    begun = time.perf_counter()
    found = globals()[action](Path(folder), Path(output), int(workers), int(threads))
    report = {
        "seconds": time.perf_counter() - begun,
        "cpu_s": time.process_time(),
        "peak_mb": peak_mb(resource.RUSAGE_SELF),
        "peak_mb_of_workers": peak_mb(resource.RUSAGE_CHILDREN),
        **found,
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
