"""The settings of the built-in backends: in code as frozen dataclasses, outside as variables.

Each setting is declared once, with its variable, what it should hold and an example. Reading the
environment, checking values given in code and the words of the errors all follow from that.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, ClassVar, NamedTuple, Self

from cobre.comm.registry import LaunchedRank
from cobre.errors import ConfigurationProblem, MissingConfiguration


class Setting(NamedTuple):
    """One setting: where it is read from, what it may be, and how to say so."""

    variable: str
    expected: str
    example: str
    parse: Callable[[str], Any]
    accepts: Callable[[Any], bool]
    secret: bool = False

    def problem(self, label: str, actual: object | None) -> ConfigurationProblem:
        """Say that this setting is absent (None) or malformed."""
        shown = None if actual is None else "(not shown)" if self.secret else str(actual)
        return ConfigurationProblem(label, self.expected, shown, self.example)

    def problem_in_code(self, label: str, actual: object) -> ConfigurationProblem:
        """Say that a value given in code is malformed; a number as text would look right in the message."""
        problem = self.problem(label, actual)
        if isinstance(actual, str) and self.parse is not str:
            return problem._replace(expected=f"a number, not a string: {self.expected}")
        return problem


def _setting(rule: Setting, default: Any = MISSING) -> Any:
    return field(default=default, metadata={"setting": rule}, repr=not rule.secret)


def _whole(variable: str, expected: str, example: str, least: int = 0, most: float = math.inf) -> Setting:
    def parse(text: str) -> int:
        if not re.fullmatch("[0-9]+", text):  # int() would also take blanks, signs and underscores
            raise ValueError(text)
        return int(text)

    def accepts(value: Any) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most

    return Setting(variable, expected, example, parse, accepts)


def _seconds(variable: str, least: float = math.ulp(0)) -> Setting:
    expected = "a number of seconds above 0" if least > 0 else "a number of seconds, or 0 for no limit"

    def parse(text: str) -> float:
        if not re.fullmatch(r"[0-9]+(\.[0-9]+)?", text):
            raise ValueError(text)
        return float(text)

    def accepts(value: Any) -> bool:
        return isinstance(value, int | float) and not isinstance(value, bool) and least <= value < math.inf

    return Setting(variable, expected, "60", parse, accepts)


def _text(variable: str, expected: str, example: str, pattern: str, *, secret: bool = False) -> Setting:
    def accepts(value: Any) -> bool:
        return isinstance(value, str) and re.fullmatch(pattern, value) is not None

    return Setting(variable, expected, example, str, accepts, secret)


def _rank(variable: str) -> Setting:
    return _whole(variable, "this process's rank, a whole number from 0 to the number of ranks - 1", "0")


def _size(variable: str) -> Setting:
    return _whole(variable, "the number of ranks, a whole number from 1 to 65535", "4", 1, 65535)


#: The mpi backend names in it the process that is a rank, whose children inherit the launcher's variables.
MPI_RANK_PROCESS_VARIABLE = "COBRE_MPI_RANK_PID"
#: Variables that MPI launchers set in every process they start.
MPI_LAUNCHER_VARIABLES = (
    "PMI_RANK",
    "PMI_SIZE",
    "OMPI_COMM_WORLD_RANK",
    "OMPI_COMM_WORLD_SIZE",
    "MPI_LOCALRANKID",
    "PMIX_RANK",
    "SLURM_PROCID",
)
#: A name or an address; a single colon would come before a port.
_HOST = r"[^\s:\[\]]+|[0-9A-Fa-f:.]*:[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*(%\S+)?"
_LOOPBACK = r"localhost|::1|127(\.[0-9]+){3}"


@dataclass(frozen=True)
class _Settings:
    """Reads and checks what its subclasses declare."""

    backend: ClassVar[str]

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> Self:
        """Read the variables. Raises `MissingConfiguration` listing all that are absent or malformed."""
        values: dict[str, Any] = {}
        problems: list[ConfigurationProblem] = []
        for name, rule, required in cls._declared():
            text = env.get(rule.variable)
            if text is None:
                if required:
                    problems.append(rule.problem(rule.variable, None))
                continue
            try:
                values[name] = rule.parse(text)
                if not rule.accepts(values[name]):
                    raise ValueError(text)
            except ValueError:
                values.pop(name, None)
                problems.append(rule.problem(rule.variable, text))
        cls._raise(problems, values, {name: rule.variable for name, rule, _ in cls._declared()})
        return cls(**values)

    @classmethod
    def launched_as(cls, env: Mapping[str, str]) -> LaunchedRank | None:
        """Read the variables of ``rank`` and ``size`` alone; None if neither is set."""
        rules = {name: rule for name, rule, _ in cls._declared()}
        variables = [rules[name].variable for name in ("rank", "size")]
        if not any(variable in env for variable in variables):
            return None
        try:
            rank, size = (rules["rank"].parse(env.get(variable, "")) for variable in variables)
        except ValueError:
            cls.from_env(env)  # raises, and lists everything else that is wrong
            raise
        return LaunchedRank(cls.backend, rank, size)

    def __post_init__(self) -> None:
        values = {name: getattr(self, name) for name, _, _ in self._declared()}
        labels = {name: f"{type(self).__name__}.{name}" for name in values}
        problems = []
        for name, rule, required in self._declared():
            if (required or values[name] is not None) and not rule.accepts(values[name]):
                problems.append(rule.problem_in_code(labels[name], values.pop(name)))
        self._raise(problems, values, labels)

    @classmethod
    def _declared(cls) -> list[tuple[str, Setting, bool]]:
        """Name, rule and whether it is required, for each setting."""
        declared = [one for one in fields(cls) if "setting" in one.metadata]
        return [(one.name, one.metadata["setting"], one.default is MISSING) for one in declared]

    @classmethod
    def _raise(
        cls, problems: list[ConfigurationProblem], values: Mapping[str, Any], labels: Mapping[str, str]
    ) -> None:
        """Raise what is wrong with single settings, and with the ``values`` that are fine alone, at once."""
        known = {problem.variable for problem in problems}
        problems += [one for one in cls._contradictions(values, labels) if one.variable not in known]
        if problems:
            raise MissingConfiguration(cls.backend, problems)

    @classmethod
    def _contradictions(
        cls, values: Mapping[str, Any], labels: Mapping[str, str]
    ) -> list[ConfigurationProblem]:
        """Settings that are fine alone and wrong together; ``values`` may lack some."""
        rank, size = values.get("rank"), values.get("size")
        if rank is None or size is None or rank < size:
            return []
        expected = f"a rank from 0 to {size - 1}, since {labels['size']} is {size}"
        return [ConfigurationProblem(labels["rank"], expected, str(rank), str(size - 1))]


@dataclass(frozen=True)
class LocalConfig(_Settings):
    """One rank in this process. There is nothing to set."""

    backend: ClassVar[str] = "local"


@dataclass(frozen=True)
class ShmConfig(_Settings):
    """Ranks on one machine.

    >>> ShmConfig(name="/cobre-42", rank=4, size=4)
    Traceback (most recent call last):
    cobre.errors.MissingConfiguration: backend 'shm' is not configured:
      - ShmConfig.rank is '4'; it should hold a rank from 0 to 3, since ShmConfig.size is 4, for example 3
    """

    backend: ClassVar[str] = "shm"
    name: str = _setting(
        _text(
            "COBRE_SHM_NAME",
            "the name at which the ranks meet, equal on all: a '/' and then letters, digits, '.', '_' or '-'",
            "/cobre-42",
            r"/[A-Za-z0-9._-]{1,200}|/proc/[0-9]+/fd/[0-9]+",
        )
    )
    rank: int = _setting(_rank("COBRE_SHM_RANK"))
    size: int = _setting(_size("COBRE_SHM_SIZE"))
    timeout_s: float = _setting(_seconds("COBRE_SHM_TIMEOUT_SECS"), 60.0)
    slot_bytes: int = _setting(
        _whole(
            "COBRE_SHM_SLOT_BYTES",
            "the length of a chunk of a large payload, from 4096 to 67108864; rank 0's counts",
            "524288",
            4096,
            64 << 20,
        ),
        524288,
    )
    one_copy: str = _setting(
        _text(
            "COBRE_SHM_ONE_COPY",
            "'auto' to read large parts straight from a peer's memory where the kernel allows it, else 'off'",
            "off",
            "auto|off",
        ),
        "auto",
    )


@dataclass(frozen=True)
class TcpConfig(_Settings):
    """Ranks on any machines that can reach rank 0. The secret is never shown."""

    backend: ClassVar[str] = "tcp"
    rank: int = _setting(_rank("COBRE_TCP_RANK"))
    size: int = _setting(_size("COBRE_TCP_SIZE"))
    coordinator: str | None = _setting(
        _text(
            "COBRE_TCP_COORDINATOR",
            "the host name or address of rank 0, without a port: COBRE_TCP_PORT holds that",
            "node-1.example",
            _HOST,
        ),
        None,
    )
    port: int = _setting(
        _whole("COBRE_TCP_PORT", "the port of rank 0, from 1 to 65535", "29500", 1, 65535), 29500
    )
    bind_addr: str = _setting(
        _text("COBRE_TCP_BIND_ADDR", "the address on which rank 0 listens", "127.0.0.1", _HOST),
        "0.0.0.0",  # noqa: S104  the documented default; strangers are turned away by the secret
    )
    timeout_s: float = _setting(_seconds("COBRE_TCP_TIMEOUT_SECS"), 60.0)
    connect_timeout_ms: int = _setting(
        _whole("COBRE_TCP_CONNECT_TIMEOUT_MS", "a whole number of milliseconds above 0", "30000", 1), 30000
    )
    secret: str | None = _setting(
        _text(
            "COBRE_TCP_SECRET",
            "the group's secret, one line, not empty",
            "the output of openssl rand -hex 32",
            ".+",
            secret=True,
        ),
        None,
    )
    secret_file: str | None = _setting(
        _text(
            "COBRE_TCP_SECRET_FILE",
            "the path of a file that holds the secret and that only its owner can read",
            "/run/secrets/cobre",
            ".+",
        ),
        None,
    )
    topology: str = _setting(
        _text(
            "COBRE_TCP_TOPOLOGY",
            "'auto' to connect all ranks with each other where the network allows it, 'direct' to insist "
            "on it, 'star' to connect them with rank 0 only",
            "star",
            "auto|direct|star",
        ),
        "auto",
    )
    tls_cert: str | None = _setting(
        _text("COBRE_TCP_TLS_CERT", "the path of this rank's certificate", "rank.pem", ".+"), None
    )
    tls_key: str | None = _setting(
        _text("COBRE_TCP_TLS_KEY", "the path of the key of this rank's certificate", "rank.key", ".+"), None
    )
    tls_ca: str | None = _setting(
        _text("COBRE_TCP_TLS_CA", "the path of the certificate that signed all ranks'", "ca.pem", ".+"), None
    )

    def key(self) -> bytes:
        """Return the secret, from wherever it is; raises `MissingConfiguration` if its file will not do."""
        if self.secret_file is None:
            return (self.secret or "").encode()
        try:
            with open(self.secret_file, "rb") as file:  # noqa: PTH123  every rank would import pathlib
                private = not os.fstat(file.fileno()).st_mode & 0o077
                secret = file.read(65536).rstrip(b"\r\n")
        except OSError as exc:
            problem = exc.strerror
        else:
            if private and secret:
                return secret
            problem = "others can read it" if secret else "it is empty"
        rule = next(rule for name, rule, _ in self._declared() if name == "secret_file")
        raise MissingConfiguration(
            self.backend, [rule.problem(rule.variable, f"{self.secret_file} ({problem})")]
        )

    @classmethod
    def _contradictions(
        cls, values: Mapping[str, Any], labels: Mapping[str, str]
    ) -> list[ConfigurationProblem]:
        problems = super()._contradictions(values, labels)

        def complain(name: str, expected: str, actual: str | None, example: str) -> None:
            problems.append(ConfigurationProblem(labels[name], expected, actual, example))

        rank, coordinator = values.get("rank"), values.get("coordinator")
        if coordinator is None and rank != 0:
            why = "because this is another rank" if rank else "unless this is rank 0"
            complain("coordinator", f"the host name or address of rank 0, {why}", None, "node-1.example")
        if values.get("secret") is not None and values.get("secret_file") is not None:
            expected = f"nothing while {labels['secret']} is set: give the secret one way"
            complain("secret_file", expected, values["secret_file"], "to leave it unset")
        host = values.get("bind_addr", cls.bind_addr) if rank == 0 else coordinator
        unsecured = values.get("secret") is None and values.get("secret_file") is None
        alone = values.get("size") == 1
        if unsecured and not alone and not re.fullmatch(_LOOPBACK, host or ""):
            why = (
                f"because {host} is reached from other machines too"
                if host
                else "unless rank 0 is on loopback"
            )
            complain("secret", f"the group's secret, {why}", None, "the output of openssl rand -hex 32")
        tls = ("tls_cert", "tls_key", "tls_ca")
        given = [name for name in tls if values.get(name) is not None]
        for name in tls if given else ():
            if name not in given:
                expected = f"the path of a PEM file, because {labels[given[0]]} is set"
                complain(name, expected, None, f"{name[4:]}.pem")
        return problems


@dataclass(frozen=True)
class MpiConfig(_Settings):
    """Ranks started by an MPI launcher: all of them, or those of ``comm``, an ``mpi4py.MPI.Intracomm``."""

    backend: ClassVar[str] = "mpi"
    timeout_s: float = _setting(_seconds("COBRE_MPI_TIMEOUT_SECS", least=0.0), 600.0)
    check: int = _setting(
        _whole("COBRE_COMM_CHECK", "1 to compare what ranks call before each collective, or 0", "1", 0, 1), 0
    )
    comm: Any = None
    #: For tests: ranks with the same number count as one machine, as far as they are on one.
    node: int | None = None

    @classmethod
    def launched_as(cls, env: Mapping[str, str]) -> LaunchedRank:
        """Read the launcher's variables; 0 of 1 if it sets none that we know: then only MPI can tell."""
        return LaunchedRank(cls.backend, _first_number(env, *_MPI_RANKS) or 0, cls.promised_size(env) or 1)

    @staticmethod
    def promised_size(env: Mapping[str, str]) -> int | None:
        """Return how many ranks, at least, the launcher's variables promise; None if they do not say."""
        size = _first_number(env, "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS")
        rank = _first_number(env, *_MPI_RANKS)
        return rank + 1 if size is None and rank else size


_MPI_RANKS = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID", "MPI_LOCALRANKID")


def _first_number(env: Mapping[str, str], *variables: str) -> int | None:
    variable = next((variable for variable in variables if variable in env), None)
    if variable is None:
        return None
    if env[variable].isdecimal():
        return int(env[variable])
    problem = ConfigurationProblem(variable, "a number, set by the MPI launcher", env[variable], "4")
    raise MissingConfiguration(MpiConfig.backend, [problem])
