"""Settings from the environment and from code: what is accepted, and the words of every refusal."""

import pytest

from cobre.comm import MissingConfiguration, MpiConfig, ShmConfig, TcpConfig

SHM = {"COBRE_SHM_NAME": "/cobre-42", "COBRE_SHM_RANK": "1", "COBRE_SHM_SIZE": "4"}
TCP = {
    "COBRE_TCP_COORDINATOR": "node-1",
    "COBRE_TCP_RANK": "1",
    "COBRE_TCP_SIZE": "4",
    "COBRE_TCP_SECRET": "whisper",
}


def test_shm_reads_its_variables():
    assert ShmConfig.from_env(SHM) == ShmConfig("/cobre-42", rank=1, size=4, timeout_s=60)
    assert ShmConfig.from_env({**SHM, "COBRE_SHM_TIMEOUT_SECS": "2.5"}).timeout_s == 2.5


@pytest.mark.parametrize("config", [ShmConfig, TcpConfig, MpiConfig])
def test_the_example_of_a_refusal_is_accepted(config):
    for name, rule, _ in config._declared():
        assert rule.accepts(rule.parse(rule.example)), name


def test_tcp_reads_its_variables_and_has_the_documented_defaults():
    assert TcpConfig.from_env(TCP) == TcpConfig(
        rank=1,
        size=4,
        coordinator="node-1",
        port=29500,
        bind_addr="0.0.0.0",
        timeout_s=60,
        connect_timeout_ms=30000,
        secret="whisper",
        secret_file=None,
        topology="auto",
        tls_cert=None,
        tls_key=None,
        tls_ca=None,
    )


@pytest.mark.parametrize("host", ["node-1", "0.0.0.0", "::", "192.0.2.1", "127.0.0.1.example"])
@pytest.mark.parametrize("rank", [0, 1])
def test_beyond_loopback_a_missing_secret_is_an_error(rank, host):
    with pytest.raises(MissingConfiguration) as raised:
        TcpConfig(rank, 2, coordinator=host if rank else None, bind_addr="127.0.0.1" if rank else host)
    assert raised.value.variables == ("TcpConfig.secret",)
    assert f"because {host} is reached from other machines too" in str(raised.value)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
def test_on_loopback_there_need_be_no_secret(host):
    assert TcpConfig(0, 2, bind_addr=host).key() == b""
    assert TcpConfig(1, 2, coordinator=host).key() == b""
    assert TcpConfig(0, 1).key() == b""  # nobody else takes part


def test_the_secret_may_come_from_a_file_that_only_its_owner_reads(tmp_path):
    file = tmp_path / "secret"
    file.write_text("whisper\n")
    config = TcpConfig(0, 2, secret_file=str(file))
    file.chmod(0o600)
    assert config.key() == b"whisper"
    for mode in (0o640, 0o604, 0o620):
        file.chmod(mode)
        with pytest.raises(MissingConfiguration, match=r"others can read it.*only its owner can read"):
            config.key()
    file.chmod(0o600)
    file.write_text("\n")
    with pytest.raises(MissingConfiguration, match="it is empty"):
        config.key()
    file.unlink()
    with pytest.raises(MissingConfiguration, match="No such file"):
        config.key()


def test_certificates_come_all_three_or_not_at_all():
    with pytest.raises(MissingConfiguration) as raised:
        TcpConfig.from_env({**TCP, "COBRE_TCP_TLS_KEY": "rank.key"})
    assert raised.value.variables == ("COBRE_TCP_TLS_CERT", "COBRE_TCP_TLS_CA")


def test_rank_zero_of_tcp_needs_no_coordinator():
    rank_0 = {"COBRE_TCP_RANK": "0", "COBRE_TCP_SIZE": "2", "COBRE_TCP_SECRET": "whisper"}
    assert TcpConfig.from_env(rank_0).coordinator is None
    with pytest.raises(MissingConfiguration, match="COBRE_TCP_COORDINATOR is not set") as raised:
        TcpConfig.from_env({"COBRE_TCP_RANK": "1", "COBRE_TCP_SIZE": "2"})
    assert raised.value.variables == ("COBRE_TCP_COORDINATOR", "COBRE_TCP_SECRET")
    with pytest.raises(MissingConfiguration) as raised:
        TcpConfig.from_env({})
    required = ("COBRE_TCP_RANK", "COBRE_TCP_SIZE", "COBRE_TCP_COORDINATOR", "COBRE_TCP_SECRET")
    assert raised.value.variables == required, "rank 0 on loopback alone needs less, and says which it is"


@pytest.mark.parametrize("host", ["node-1:29500", "192.0.2.1:29500", "[::1]", "[::1]:29500", ":29500"])
def test_a_port_behind_the_host_is_refused_saying_where_it_belongs(host):
    for variable in ("COBRE_TCP_COORDINATOR", "COBRE_TCP_BIND_ADDR"):
        with pytest.raises(MissingConfiguration) as raised:
            TcpConfig.from_env({**TCP, variable: host})
        assert raised.value.variables == (variable,)
    with pytest.raises(MissingConfiguration, match="without a port: COBRE_TCP_PORT holds that"):
        TcpConfig.from_env({**TCP, "COBRE_TCP_COORDINATOR": host})


@pytest.mark.parametrize(
    "host", ["::1", "2001:db8::17", "fe80::1%eth0", "::ffff:192.0.2.1", "10.0.0.1", "a.b"]
)
def test_hosts_are_names_and_addresses_of_both_families(host):
    assert TcpConfig.from_env({**TCP, "COBRE_TCP_COORDINATOR": host}).coordinator == host


def test_all_findings_come_at_once():
    with pytest.raises(MissingConfiguration) as raised:
        TcpConfig.from_env({"COBRE_TCP_RANK": "one", "COBRE_TCP_PORT": "-1", "COBRE_TCP_TIMEOUT_SECS": "0"})
    error = raised.value
    assert error.backend == "tcp"
    assert error.variables == (
        "COBRE_TCP_RANK",
        "COBRE_TCP_SIZE",
        "COBRE_TCP_PORT",
        "COBRE_TCP_TIMEOUT_SECS",
        "COBRE_TCP_COORDINATOR",
        "COBRE_TCP_SECRET",
    )
    assert [problem.actual for problem in error.problems] == ["one", None, "-1", "0", None, None]
    assert all(problem.expected and problem.example for problem in error.problems)


@pytest.mark.parametrize(
    "text", ["", " 1", "1 ", "1\n", "one", "-1", "+1", "1.0", "1_0", "0x1", "\u0661", "True"]
)
@pytest.mark.parametrize("variable", ["COBRE_SHM_RANK", "COBRE_SHM_SIZE"])
def test_a_number_is_digits_and_nothing_else(variable, text):
    with pytest.raises(MissingConfiguration) as raised:
        ShmConfig.from_env({**SHM, variable: text})
    [problem] = raised.value.problems
    assert (problem.variable, problem.actual) == (variable, text)
    assert f"{variable} is {text!r}" in str(raised.value)


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("COBRE_SHM_SIZE", "0"),
        ("COBRE_SHM_NAME", "cobre-42"),
        ("COBRE_SHM_NAME", "/"),
        ("COBRE_SHM_NAME", "/a/b"),
        ("COBRE_SHM_NAME", "/cobre 42"),
        ("COBRE_SHM_NAME", "/" + "x" * 300),
        ("COBRE_SHM_TIMEOUT_SECS", "0"),
        ("COBRE_SHM_TIMEOUT_SECS", "-5"),
        ("COBRE_SHM_TIMEOUT_SECS", "inf"),
        ("COBRE_SHM_TIMEOUT_SECS", "nan"),
        ("COBRE_SHM_TIMEOUT_SECS", "1e3 "),
    ],
)
def test_shm_names_the_malformed_variable(variable, text):
    with pytest.raises(MissingConfiguration) as raised:
        ShmConfig.from_env({**SHM, variable: text})
    assert raised.value.variables == (variable,)


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("COBRE_TCP_PORT", "-29500"),
        ("COBRE_TCP_PORT", "0"),
        ("COBRE_TCP_PORT", "65536"),
        ("COBRE_TCP_PORT", "http"),
        ("COBRE_TCP_COORDINATOR", ""),
        ("COBRE_TCP_COORDINATOR", "node 1"),
        ("COBRE_TCP_BIND_ADDR", ""),
        ("COBRE_TCP_CONNECT_TIMEOUT_MS", "0"),
        ("COBRE_TCP_CONNECT_TIMEOUT_MS", "2.5"),
        ("COBRE_TCP_SECRET", ""),
        ("COBRE_TCP_SECRET_FILE", ""),
    ],
)
def test_tcp_names_the_malformed_variable(variable, text):
    with pytest.raises(MissingConfiguration) as raised:
        TcpConfig.from_env({**TCP, variable: text})
    assert variable in raised.value.variables


@pytest.mark.parametrize("rank", ["4", "5", "99999999999999999999"])
def test_a_rank_beyond_the_size_is_refused_naming_both(rank):
    with pytest.raises(MissingConfiguration) as raised:
        ShmConfig.from_env({**SHM, "COBRE_SHM_RANK": rank})
    [problem] = raised.value.problems
    assert problem.variable == "COBRE_SHM_RANK"
    assert "from 0 to 3, since COBRE_SHM_SIZE is 4" in problem.expected


def test_code_is_checked_like_the_environment():
    with pytest.raises(MissingConfiguration) as raised:
        TcpConfig(rank=-1, size=0, port=0)
    refused = ("rank", "size", "port", "coordinator", "secret")
    assert raised.value.variables == tuple(f"TcpConfig.{name}" for name in refused)
    with pytest.raises(MissingConfiguration) as raised:
        ShmConfig("no slash", rank=4, size=4)
    assert raised.value.variables == ("ShmConfig.name", "ShmConfig.rank"), "one problem hides no other"
    with pytest.raises(MissingConfiguration, match="rank is '0'; it should hold a number, not a string"):
        ShmConfig("/cobre-42", rank="0", size=4)
    with pytest.raises(MissingConfiguration, match="ShmConfig.rank is '4'"):
        ShmConfig("/cobre-42", rank=4, size=4)
    with pytest.raises(MissingConfiguration, match="ShmConfig.rank is 'True'"):
        ShmConfig("/cobre-42", rank=True, size=4)


def test_the_secret_is_given_one_way_and_never_shown():
    config = TcpConfig.from_env({**TCP, "COBRE_TCP_SECRET": "hunter2"})
    assert config.secret == "hunter2"
    assert "hunter2" not in repr(config)
    with pytest.raises(MissingConfiguration, match="COBRE_TCP_SECRET_FILE") as raised:
        TcpConfig.from_env({**TCP, "COBRE_TCP_SECRET": "hunter2", "COBRE_TCP_SECRET_FILE": "/run/secret"})
    assert "hunter2" not in str(raised.value)


def test_a_malformed_secret_is_never_shown():
    with pytest.raises(MissingConfiguration) as raised:
        TcpConfig.from_env({**TCP, "COBRE_TCP_SECRET": "hunter2\n"})
    assert "hunter2" not in str(raised.value)
    assert "hunter2" not in repr(raised.value)
