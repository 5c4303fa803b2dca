"""Shared by all tests: a hypothesis profile that repeats itself, and nothing left behind."""

import os
import threading
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("repeatable", derandomize=True, deadline=None, max_examples=300)
settings.register_profile("thorough", deadline=None, max_examples=20_000)
settings.load_profile(os.environ.get("COBRE_HYPOTHESIS_PROFILE", "repeatable"))


def _shared_memory() -> set[str]:
    folder = Path("/dev/shm")
    return {entry.name for entry in folder.iterdir()} if folder.is_dir() else set()


@pytest.fixture(autouse=True)
def nothing_is_left_behind():
    """No thread and no shared-memory name outlives the test that made it."""
    threads, names = set(threading.enumerate()), _shared_memory()
    yield
    assert set(threading.enumerate()) <= threads
    assert {name for name in _shared_memory() - names if "cobre" in name} == set()
