"""What is logged, with rank and host, and that nothing is unless somebody asks."""

import logging
import os
import subprocess
import sys

import pytest

from cobre import logs
from cobre.comm import InitializationFailed, TcpConfig, create_communicator
from tests.cli.commands import cobre_process
from tests.study.cases import copy

HOST = os.uname().nodename


def logged(err):
    """The records in what was written to standard error: pairs of where each was made and its words."""
    lines = [line.partition(f" on {HOST}, cobre.") for line in err.splitlines()]
    return [(before.split()[-2:], *after.split(": ", 1)) for before, middle, after in lines if middle]


def test_a_run_tells_of_its_groups_its_checkpoints_and_its_end(tmp_path):
    case = copy("one-reservoir", tmp_path / "case", iterations=20, scenarios=0)
    code, out, err = cobre_process("--log-level", "info", "run", case, "--quiet", "-w", "2")
    assert (code, out) == (0, "")
    records = logged(err)
    assert ("sddp.training", True) in [
        (name, words.startswith("checkpoint of iteration 10 in ")) for where, name, words in records
    ]
    for rank in ("0", "1"):
        own = [words for where, name, words in records if where == ["rank", rank]]
        assert own[0].startswith("joined shm, 2 ranks on 1 host in ")
        assert own[-1] == "left the group; no collective had failed"
    assert (["rank", "-"], "comm.launch._ranks", "starts 2 ranks of shm") in records


def test_nothing_is_logged_unless_somebody_asks(tmp_path):
    case = copy("one-reservoir", tmp_path / "case", iterations=2, scenarios=0)
    assert cobre_process("run", case, "--quiet", "-w", "2") == (0, "", "")
    program = "from cobre.logs import logger; logger('cobre.here').error('it burns')"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert (ended.stdout, ended.stderr) == (b"", b"")


@pytest.mark.parametrize(("level", "told"), [("warning", True), ("ERROR", False), ("loud", True)])
def test_the_variable_names_the_level(level, told):
    program = "from cobre.logs import logger; logger('cobre.here').warning('it is warm')"
    ended = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "COBRE_LOG": level},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ((["rank", "-"], "here", "it is warm") in logged(ended.stderr)) is told
    complaint = "COBRE_LOG is 'loud'; use one of debug, info, warning, error"
    assert (complaint in ended.stderr) is (level == "loud")


def test_records_of_a_program_that_configures_logging_have_rank_and_host(caplog):
    caplog.set_level(logging.INFO, "cobre")
    nobody = TcpConfig(
        rank=1, size=2, coordinator="127.0.0.1", port=1, secret="a" * 32, connect_timeout_ms=50
    )
    with pytest.raises(InitializationFailed):
        create_communicator(nobody)
    chosen, failed = [record for record in caplog.records if record.name == "cobre.comm.selection"]
    assert chosen.getMessage() == "backend tcp: a configuration names it"
    assert (failed.levelname, failed.host) == ("ERROR", HOST)
    assert "cannot reach 127.0.0.1 port 1" in failed.getMessage()


def test_the_rank_is_that_in_the_group_of_several(monkeypatch):
    monkeypatch.setattr(logs, "_where", {"rank": "-", "host": HOST})
    for rank, size, told in ((0, 1, 0), (2, 3, 2), (0, 1, 2)):
        logs.set_rank(rank, size)
        assert logs.logger("cobre").process("", {})[1]["extra"] == {"rank": told, "host": HOST}
