"""Makes the examples in docstrings, README and docs run as tests."""

import os
import re
from collections import Counter

import numpy as np
import pytest
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser, SkipParser
from xdist.scheduler import LoadScopeScheduling

import cobre.comm

#: The groups that take longest begin first, so that all streams of tests end at about the same time.
LONG = ("tests/test_docs_stories.py", "mpi", "tests/sddp/test_right.py", "tests/comm/", "tests/cli/", "tests")

#: Streams of tests share the CPUs; what a run does without this is tested where it is set aside.
os.environ.setdefault("OMP_NUM_THREADS", "1")

collect_ignore_glob = ["docs/_build*"]  # pages that were built have copies of sources

pytest_collect_file = Sybil(
    parsers=[PythonCodeBlockParser(), SkipParser()],
    patterns=["README.md", "docs/*.md", "docs/**/*.md"],
    path=".",
).pytest()


def _group_of(nodeid):
    """Tests of one stream: those of a file, for its fixtures; those under ``mpiexec``, which take turns."""
    if re.search(r"\[(openmpi|mpich)\b", nodeid):
        return "mpi"
    return nodeid if nodeid.startswith("tests/test_docs_stories.py") else nodeid.partition("::")[0]


def _place_of(item):
    group = _group_of(item.nodeid)
    return next((place for place, begin in enumerate(LONG) if group.startswith(begin)), len(LONG))


def pytest_collection_modifyitems(items):
    """Begin with what takes longest; the order stays otherwise."""
    items.sort(key=_place_of)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Several streams of tests, as ``pytest -n 3 --dist loadscope`` has them, but by these groups."""
    if config.getvalue("dist") != "loadscope":
        return None
    scheduler = LoadScopeScheduling(config, log)
    scheduler._split_scope = _group_of
    return scheduler


def pytest_terminal_summary(terminalreporter):
    """Where the time went, by folder; ``--durations=20`` has the longest tests."""
    parts = [part for found in terminalreporter.stats.values() for part in found if hasattr(part, "duration")]
    seconds, tests = Counter(), Counter()
    for part in parts:
        folder = "/".join(part.nodeid.partition("::")[0].split("/")[:-1][:2]) or "."
        seconds[folder] += part.duration
        tests[folder] += part.when == "call"
    if len(seconds) > 1:
        terminalreporter.section("seconds and tests by folder")
        for folder, spent in seconds.most_common():
            terminalreporter.line(f"{spent:8.1f} {tests[folder]:6d}  {folder}")


@pytest.fixture(autouse=True)
def _names_for_doctests(doctest_namespace):
    """What a reader of a docstring would have imported."""
    doctest_namespace["np"] = np
    doctest_namespace.update({name: getattr(cobre.comm, name) for name in cobre.comm.__all__})
