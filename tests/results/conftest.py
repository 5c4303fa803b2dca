"""What is written in most tests."""

import pytest

from tests.results.made_up import made_up_run


@pytest.fixture
def run(tmp_path):
    return made_up_run(tmp_path / "case")
