"""Makes the examples in docstrings, README and docs run as tests."""

import numpy as np
import pytest
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser, SkipParser

import cobre.comm

#: What takes longest, and so begins first: no stream of tests should still be at it when another has ended.
LONG = ("tests/test_docs_stories.py", "tests/cli/", "tests/report/")

collect_ignore_glob = ["docs/_build*"]  # pages that were built have copies of sources

pytest_collect_file = Sybil(
    parsers=[PythonCodeBlockParser(), SkipParser()],
    patterns=["README.md", "docs/*.md", "docs/**/*.md"],
    path=".",
).pytest()


def pytest_collection_modifyitems(items):
    """Begin with what takes longest; the order stays otherwise."""
    items.sort(
        key=lambda item: next((i for i, name in enumerate(LONG) if item.nodeid.startswith(name)), len(LONG))
    )


@pytest.fixture(autouse=True)
def _names_for_doctests(doctest_namespace):
    """What a reader of a docstring would have imported."""
    doctest_namespace["np"] = np
    doctest_namespace.update({name: getattr(cobre.comm, name) for name in cobre.comm.__all__})
