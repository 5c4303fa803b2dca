"""Agreement of ranks before they work: all of them begin, with the same problem, or none does.

Both functions cost one collective of 40 bytes per rank as long as there is nothing to say.
"""

from __future__ import annotations

import hashlib
import json
import platform
import sys
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

import cobre
from cobre import lp
from cobre.comm import BackendCommunicator
from cobre.errors import CobreError, InitializationFailed
from cobre.logs import logger

_log = logger(__name__)

Result = TypeVar("Result")

#: Longer values are shortened: digests to their beginning, others to a digest.
LONGEST_VALUE, LENGTH_OF_DIGESTS = 60, 12


def together(comm: BackendCommunicator, prepare: Callable[[], Result]) -> Result:
    """Return what ``prepare`` returns, on all ranks; if one of them cannot, raise on all. A collective.

    Raises:
        InitializationFailed: another rank cannot, and why. This rank's own exceptions come as they are.
    """
    if comm.size == 1:
        return prepare()
    try:
        prepared, own = prepare(), None
    except Exception as error:  # noqa: BLE001  the other ranks wait to hear of it, whatever it is
        own = error
    refusals = _shared(comm, "" if own is None else f"{type(own).__name__}: {own}")
    # Rank 0 reports its own refusal or, without one, those of the others.
    if own is not None:
        if isinstance(own, CobreError):
            own.reported_by_root = refusals[0] in {"", refusals[comm.rank]}
        raise own
    if any(refusals):
        groups = _ranks_by_value(refusals)
        groups.pop("", None)
        reported = refusals[0] == "" or list(groups) == [refusals[0]]
        words = "; ".join(f"{_named(ranks)} cannot start: {refusal}" for refusal, ranks in groups.items())
        raise _refusal(comm, words, {"refusals": groups}, reported=reported)
    return prepared


def require_same(comm: BackendCommunicator, facts: Callable[[], Mapping[str, Any]]) -> None:
    """Compare what decides the bits of results on all ranks, versions included. A collective.

    Args:
        comm: of the ranks.
        facts: names and values in JSON's types; called if there is anybody to compare with.

    Raises:
        InitializationFailed: something differs; raised on every rank.
    """
    if comm.size == 1:
        return
    texts = _shared(comm, json.dumps({**facts(), **versions()}, sort_keys=True, default=str))
    if len(set(texts)) == 1:
        _log.debug("all %d ranks have the same: %s", comm.size, texts[0])
        return
    records = [json.loads(text) for text in texts]
    names = list(dict.fromkeys(name for record in records for name in record))
    found = {name: _ranks_by_value([_value(record, name) for record in records]) for name in names}
    differences = {name: groups for name, groups in found.items() if len(groups) > 1}
    lines = "".join(
        f"\n  - {name}: {', '.join(f'{value} on {_named(ranks)}' for value, ranks in groups.items())}"
        for name, groups in differences.items()
    )
    words = (
        f"the ranks do not solve the same problem:{lines}\n"
        "start all of them with the same case, settings and versions"
    )
    raise _refusal(comm, words, {"differences": differences}, reported=True)


def from_root(comm: BackendCommunicator, text: str) -> str:
    """Return rank 0's text. A collective."""
    return text if comm.size == 1 else _shared(comm, text)[0]


def versions() -> dict[str, str]:
    """Return the versions and the byte order on which bits depend."""
    return {
        "cobre": cobre.__version__,
        "highs": lp.HIGHS_VERSION,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "byte order": sys.byteorder,
    }


def _shared(comm: BackendCommunicator, own: str) -> list[str]:
    """The texts of all ranks: one collective if they are equal, else two."""
    text = own.encode(errors="surrogateescape")
    head = len(text).to_bytes(8, "little") + hashlib.sha256(text).digest()
    heads = np.empty((comm.size, len(head)), np.uint8)
    comm.allgatherv(np.frombuffer(head, np.uint8), heads.reshape(-1), [len(head)] * comm.size)
    if (heads == heads[0]).all():
        return [own] * comm.size
    lengths = [int.from_bytes(one[:8].tobytes(), "little") for one in heads]
    whole = np.empty(sum(lengths), np.uint8)
    comm.allgatherv(np.frombuffer(text, np.uint8), whole, lengths)
    parts = np.split(whole, np.cumsum(lengths)[:-1])
    return [part.tobytes().decode(errors="surrogateescape") for part in parts]


def _value(record: Mapping[str, Any], name: str) -> str:
    if name not in record:
        return "nothing"
    value, text = record[name], json.dumps(record[name])
    if len(text) <= LONGEST_VALUE:
        return text
    digest = value if isinstance(value, str) else hashlib.sha256(text.encode()).hexdigest()
    return digest[:LENGTH_OF_DIGESTS]


def _ranks_by_value(values: list[str]) -> dict[str, list[int]]:
    groups: dict[str, list[int]] = {}
    for rank, value in enumerate(values):
        groups.setdefault(value, []).append(rank)
    return groups


def _named(ranks: list[int]) -> str:
    """Ranks in words, for example ``ranks 0-2, 5``."""
    starts = [rank for rank in ranks if rank - 1 not in ranks]
    ends = [rank for rank in ranks if rank + 1 not in ranks]
    spans = [f"{a}" if a == b else f"{a}-{b}" for a, b in zip(starts, ends, strict=True)]
    return f"rank{'s'[: len(ranks) != 1]} {', '.join(spans)}"


def _refusal(
    comm: BackendCommunicator, words: str, details: Mapping[str, Any], *, reported: bool
) -> InitializationFailed:
    _log.error("%s", words)
    error = InitializationFailed(comm.topology.backend, words, "IncompatibleSettings", details)
    error.reported_by_root = reported
    return error
