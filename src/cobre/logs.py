"""Logging by the standard `logging` module: loggers under ``cobre``, records with the rank and the host.

Silent unless the program configures `logging`, or ``COBRE_LOG`` or ``cobre --log-level`` names a level; then
records go to standard error.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import MutableMapping
from typing import Any

VARIABLE = "COBRE_LOG"
LEVELS = ("debug", "info", "warning", "error")
FORMAT = "%(asctime)s %(levelname)s rank %(rank)s on %(host)s, %(name)s: %(message)s"

#: Attributes of all records of this process; the rank is ``"-"`` until it has joined a group.
_where: dict[str, Any] = {"rank": "-", "host": os.uname().nodename}


class RankLogger(logging.LoggerAdapter[logging.Logger]):
    """Logger whose records have the attributes ``rank`` and ``host``."""

    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        """Add the attributes as they are now."""
        return msg, {**kwargs, "extra": dict(_where)}


class _StandardError(logging.Handler):
    """Writes to what standard error is at the moment: a live display may have taken its place."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            sys.stderr.write(f"{self.format(record)}\n")
        except Exception:  # noqa: BLE001  a run does not end because nobody reads its log
            self.handleError(record)


def logger(name: str) -> RankLogger:
    """Return the logger of a module."""
    return RankLogger(logging.getLogger(name), {})


def set_rank(rank: int, size: int) -> None:
    """Set the rank of later records: that in the group of several that this process has joined last."""
    if size > 1 or _where["rank"] == "-":
        _where["rank"] = rank


def start(level: str) -> None:
    """Write records from a level on to standard error, in this process and in those that it starts."""
    os.environ[VARIABLE] = level
    known = level.lower() in LEVELS
    root = logging.getLogger("cobre")
    root.setLevel(level.upper() if known else logging.INFO)
    if not any(isinstance(handler, _StandardError) for handler in root.handlers):
        handler = _StandardError()
        handler.setFormatter(logging.Formatter(FORMAT))
        root.addHandler(handler)
    if not known:
        logger(__name__).warning("%s is %r; use one of %s", VARIABLE, level, ", ".join(LEVELS))


# Without a handler of its own Python would print warnings of a program that configures no logging.
logging.getLogger("cobre").addHandler(logging.NullHandler())
if os.environ.get(VARIABLE):
    start(os.environ[VARIABLE])
