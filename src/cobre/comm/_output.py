"""What ranks print, passed on in whole lines with the rank in front."""

from __future__ import annotations

import sys
from typing import Literal


class Lines:
    """One output stream of one rank.

    Whole lines go to ``sys.stdout`` or ``sys.stderr`` as they are at that moment, so that notebooks
    and test frameworks see them. Bytes pass unchanged where the stream has bytes underneath.
    """

    def __init__(self, prefix: str, target: Literal["stdout", "stderr"]) -> None:
        self._prefix = prefix.encode()
        self._target = target
        self._begun = bytearray()  # a line without its end

    def feed(self, data: bytes) -> None:
        """Pass on the lines that ``data`` completes; keep the rest."""
        end = data.rfind(b"\n") + 1
        if end == 0:
            self._begun += data
            return
        lines = bytes(self._begun) + data[:end]
        self._begun[:] = data[end:]
        marked = self._prefix + lines[:-1].replace(b"\n", b"\n" + self._prefix) + b"\n"
        self._write(marked)

    def finish(self) -> None:
        """Pass on a last line that was left without its end."""
        if self._begun:
            self.feed(b"\n")

    def _write(self, data: bytes) -> None:
        stream = getattr(sys, self._target)
        if stream is None:  # a program without a console
            return
        below = getattr(stream, "buffer", None)
        if below is None:
            stream.write(data.decode("utf-8", "backslashreplace"))
        else:
            stream.flush()  # what was printed before comes first
            below.write(data)
        stream.flush()
