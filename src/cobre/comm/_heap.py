"""Regions on the heap: for backends whose ranks share no memory."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from cobre.comm._base import SharedRegion
from cobre.errors import AllocationFailed


class HeapRegion(SharedRegion):
    """A region of which each rank has a copy of its own, and is the leader.

    The price is memory: every rank of a machine pays for the whole region.
    """

    @classmethod
    def allocate(cls, count: int, dtype: np.dtype[Any]) -> HeapRegion:
        """Return a zero-filled region, or raise `AllocationFailed`."""
        requested = count * dtype.itemsize
        try:
            if requested > sys.maxsize:
                raise MemoryError("no address space is that large")
            return cls(np.zeros(count, dtype))
        except (MemoryError, ValueError) as exc:  # NumPy's ValueError: more elements than it can index
            raise AllocationFailed(
                requested, f"{exc}; ask for less, or run where there is more memory"
            ) from exc

    def _fence(self) -> None:
        """There is nobody to wait for: no other rank sees this memory."""
