"""A few seconds of ``fuzz_tcp.py``, which by itself goes on for as long as one likes."""

import sys

import pytest

from tests.comm import fuzz_tcp


@pytest.mark.skipif(sys.platform != "linux", reason="what a process uses is read from /proc")
def test_no_stream_of_bytes_harms_a_group():
    """Whatever ends as it should not is raised; here every kind of end must have been met as well."""
    counts, uses, _ = fuzz_tcp.attack(streams=fuzz_tcp.BATCH, seed=1)
    assert len(uses) == 1
    assert counts["before", "right"] > 300
    for kind in ("after", "hostile"):
        for outcome in ("right", "CollectiveFailed", "InitializationFailed"):
            assert counts[kind, outcome] > 0, (kind, outcome)
