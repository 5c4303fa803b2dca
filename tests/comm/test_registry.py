"""Backends of other packages: installed for real, found by their entry point."""

import textwrap

import pytest

from cobre.comm import BackendNotAvailable, available_backends, create_communicator

GOOD = """
    from cobre.comm import Backend, LocalConfig
    from cobre.comm.local import LocalCommunicator

    class Config(LocalConfig):
        backend = "{name}"

    class Other(Backend):
        name, summary = "{name}", "somebody else's"
        def configure(self, env): return Config()
        def connect(self, config): return LocalCommunicator()
        def launched_as(self, env): return None

    BACKEND = Other()
"""


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Put a distribution with one entry point on the path, as pip would lay it out."""
    monkeypatch.syspath_prepend(tmp_path)

    def install(name, source, package="other_backend", attribute="BACKEND"):
        (tmp_path / f"{package}.py").write_text(textwrap.dedent(source).format(name=name))
        info = tmp_path / f"{package}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[cobre.comm]\n{name} = {package}:{attribute}\n")

    return install


def test_a_backend_is_found_by_its_entry_point(install, monkeypatch):
    install("avian", GOOD, "avian_carriers")
    status = available_backends()["avian"]
    assert (status.available, status.origin, status.summary) == (True, "avian_carriers", "somebody else's")
    with create_communicator("avian") as comm:
        assert comm.size == 1
    monkeypatch.setenv("COBRE_COMM_BACKEND", "avian")
    with create_communicator() as comm:
        assert comm.size == 1
    import avian_carriers  # noqa: PLC0415

    with create_communicator(avian_carriers.Config()) as comm:
        assert comm.size == 1


def test_a_builtin_name_cannot_be_taken_over(install):
    install("local", GOOD, "usurper")
    assert available_backends()["local"].origin == "cobre"
    assert create_communicator("local").topology.backend == "local"
    assert type(create_communicator("local")).__module__ == "cobre.comm.local"


def test_a_backend_that_cannot_be_imported_says_why(install):
    install("broken", "import a_module_that_does_not_exist", "broken_backend")
    with pytest.raises(BackendNotAvailable) as raised:
        create_communicator("broken")
    assert "No module named 'a_module_that_does_not_exist'" in raised.value.reason
    assert raised.value.remedy == "repair or reinstall broken_backend"
    assert not available_backends()["broken"].available


def test_two_packages_of_one_name_are_told_apart(install):
    install("twin", GOOD, "first_twin")
    install("twin", GOOD, "second_twin")
    with pytest.raises(BackendNotAvailable, match=r"several packages offer it \(first_twin, second_twin\)"):
        create_communicator("twin")


def test_an_entry_point_must_be_a_backend(install):
    install("odd", "BACKEND = 42", "odd_backend")
    with pytest.raises(BackendNotAvailable, match="is not a cobre.comm.Backend instance"):
        create_communicator("odd")


def test_where_there_is_no_shm_another_way_is_named(monkeypatch):
    monkeypatch.setattr("cobre.comm.shm.sys.platform", "darwin")
    status = available_backends()["shm"]
    assert status.reason == "it needs Linux, this is darwin"
    assert "'tcp'" in status.remedy
