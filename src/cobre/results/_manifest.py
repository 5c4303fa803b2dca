"""Manifests and metadata of a run, in JSON's types."""

from __future__ import annotations

import getpass
import os
import platform
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import cobre
from cobre.elements.registry import by_entity_code, elements_of, labels
from cobre.results._files import digests
from cobre.results._training_log import TrainingLog
from cobre.system import System

VERSION = "2.0.0"


@dataclass(frozen=True)
class RunTopology:
    """Ranks, threads and hosts of a run.

    Attributes:
        backend: over which ranks communicate.
        ranks: how many processes.
        threads: how many each of them uses.
        hosts: the machines; this one unless given.
        mpi_library: what MPI calls itself; None without it, like the two that follow.
        mpi_standard: the version of the standard that it keeps.
        thread_level: which threads may call it.
    """

    backend: str = "local"
    ranks: int = 1
    threads: int = 1
    hosts: tuple[str, ...] = ()
    mpi_library: str | None = None
    mpi_standard: str | None = None
    thread_level: str | None = None

    def described(self) -> dict[str, Any]:
        """The description in manifests."""
        hosts = sorted(set(self.hosts or (socket.gethostname(),)))
        return {
            "backend": self.backend,
            "world_size": self.ranks,
            "ranks_participated": self.ranks,
            "num_nodes": len(hosts),
            "threads_per_rank": self.threads,
            "mpi_library": self.mpi_library,
            "mpi_standard": self.mpi_standard,
            "thread_level": self.thread_level,
            "slurm_job_id": os.environ.get("SLURM_JOB_ID"),
            "hosts": hosts,
        }


@dataclass(frozen=True, eq=False)
class RunDescription:
    """Inputs of a run, as known before it begins.

    Attributes:
        system: what is studied.
        states: the names of the problem's states, in the order of a cut's slopes.
        seed: of the draws.
        settings: those of ``config.json``, defaults included, in JSON's types.
        topology: ranks, threads and hosts.
        case: the case folder, whose files are hashed.
        provenance: where the stochastic model comes from.
    """

    system: System
    states: tuple[str, ...]
    seed: int
    settings: Mapping[str, Any] = field(default_factory=dict)
    topology: RunTopology = RunTopology()
    case: Path | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)

    @property
    def max_iterations(self) -> int | None:
        """The limit among the stopping rules."""
        rules = self.settings.get("training", {}).get("stopping_rules", [])
        return next((rule["limit"] for rule in rules if rule["type"] == "iteration_limit"), None)


def training_manifest(run: RunDescription) -> dict[str, Any]:
    """The manifest of a training that begins."""
    return {
        "version": VERSION,
        "status": "running",
        "started_at": now(),
        "completed_at": None,
        "iterations": {"max_iterations": run.max_iterations, "completed": 0, "converged_at": None},
        "convergence": {
            "achieved": False,
            "final_gap_percent": None,
            "final_lower_bound": None,
            "termination_reason": "",
        },
        "cuts": {"total_generated": 0, "total_active": 0, "peak_active": 0},
        "checksum": None,
        "distribution": run.topology.described(),
    }


def finished_manifest(
    manifest: Mapping[str, Any], log: TrainingLog, reason: str, converged: bool, checksum: Mapping[str, str]
) -> dict[str, Any]:
    """The manifest of a training that has ended."""
    return {
        **manifest,
        "status": "converged" if converged else "complete",
        "completed_at": now(),
        **_figures(manifest, log, reason, converged),
        "checksum": {"algorithm": "sha256", **checksum},
    }


def failed_manifest(
    manifest: Mapping[str, Any], reason: str, log: TrainingLog | None = None
) -> dict[str, Any]:
    """The manifest of a training or simulation that failed or was interrupted."""
    failed = {**manifest, "status": "failed", "completed_at": now(), "error": reason}
    return failed if log is None else {**failed, **_figures(manifest, log, reason, converged=False)}


def _figures(
    manifest: Mapping[str, Any], log: TrainingLog, reason: str, converged: bool
) -> dict[str, dict[str, Any]]:
    return {
        "iterations": {
            **manifest["iterations"],
            "completed": log.iterations,
            "converged_at": log.iterations if converged else None,
        },
        "convergence": {
            "achieved": converged,
            "final_gap_percent": log.gap_percent,
            "final_lower_bound": log.bound,
            "termination_reason": reason,
        },
        "cuts": log.cuts,
    }


def metadata(run: RunDescription) -> dict[str, Any]:
    """The metadata that make a run reproducible: settings, dimensions, inputs and versions."""
    system, training = run.system, run.settings.get("training", {})
    inputs = digests(run.case) if run.case is not None else {}
    started = now()
    return {
        "version": VERSION,
        "run_info": {
            "run_id": f"{started}-{os.getpid()}",
            "started_at": started,
            "completed_at": None,
            "duration_seconds": None,
            **_program(),
        },
        "configuration_snapshot": {
            "seed": run.seed,
            "forward_passes": training.get("forward_passes"),
            "stopping_mode": training.get("stopping_mode", "any"),
            "policy_mode": run.settings.get("policy", {}).get("mode", "fresh"),
            "policy_graph": {
                "type": "finite_horizon" if system.graph.horizon is None else "cyclic",
                "stages_per_trajectory": len(system.graph.steps),
            },
            "risk_measures": {str(stage.id): dict(stage.risk) for stage in system.stages},
            "settings": dict(run.settings),
        },
        "problem_dimensions": {
            "num_stages": len(system.stages),
            **{
                f"num_{labels(kind).KEY}": len(elements_of(system, kind))
                for kind in by_entity_code().values()
                if labels(kind).IN_METADATA
            },
            "num_states": len(run.states),
        },
        "performance_summary": None,
        "data_integrity": {"algorithm": "sha256", "case": str(run.case or ""), "input_files": inputs},
        "environment": {
            "distribution": run.topology.described(),
            "python": platform.python_version(),
            "numpy": version("numpy"),
            "pyarrow": version("pyarrow"),
            "highspy": version("highspy"),
            "platform": platform.platform(),
        },
    }


def finished_metadata(
    content: Mapping[str, Any], log: TrainingLog, manifest: Mapping[str, Any]
) -> dict[str, Any]:
    """The metadata of a training that has ended, with what Cobre's own readers take from them."""
    info = {**content["run_info"], "completed_at": now(), "duration_seconds": log.seconds}
    ended = {name: manifest[name] for name in ("status", "iterations", "convergence", "distribution")}
    performance = {"total_lp_solves": log.solves}
    return {
        **ended,
        "row_pool": manifest["cuts"],
        **content,
        "run_info": info,
        "performance_summary": performance,
    }


def simulation_manifest(scenarios: int, topology: RunTopology, layout: str) -> dict[str, Any]:
    """The manifest of a simulation that begins."""
    return {
        "version": VERSION,
        "status": "running",
        "started_at": now(),
        "completed_at": None,
        "scenarios": {"total": scenarios, "completed": 0, "failed": 0},
        "tables": [],
        "layout": layout,
        "distribution": topology.described(),
    }


def simulation_metadata(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata of a simulation that has ended: its manifest, and who computed."""
    return {**manifest, **_program()}


def _program() -> dict[str, Any]:
    return {
        "cobre_version": cobre.__version__,
        "solver": "highs",
        "solver_version": version("highspy"),
        "hostname": socket.gethostname(),
        "user": _user(),
    }


def now() -> str:
    """The time, as in ``2026-01-17T08:00:00Z``."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _user() -> str | None:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container may have a user without a name
        return None
