"""The container of policies and checkpoints: a ZIP of arrays and a header, checked when read.

The first member, ``header.json``, tells the format, its version, the SHA-256 of every other member, and what
the caller wants known; the others are arrays in NumPy's format, not compressed. The bytes of a file are a
function of its content: no dates, no order but that of names. Any ZIP tool opens it.
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
import math
import os
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from cobre.errors import PolicyFileError
from cobre.file_locks import open_locked

StrPath = str | os.PathLike[str]

FORMAT = "cobre-policy"
#: In files of version 1, warm-start bases were of the whole programme, and had another name.
VERSION = 2

_HEADER = "header.json"
_NPY_VERSION = (1, 0)
_LONGEST_NPY_HEADER = 1 << 17  # more than version 1.0 can have
_PIECE = 1 << 20
_OURS = ("format", "version", "sha256")
_DAMAGED = "it is damaged ({}); use an earlier copy, or train again"


def write(path: StrPath, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write a file, whole or not at all: after a crash the old file is there or the new one.

    Args:
        path: where; a file that is there is replaced.
        header: in JSON's types.
        arrays: by name; of numbers or other types of fixed size.

    Raises:
        PolicyFileError: it cannot be written; a file that was there is as it was.
        ValueError: the header has a key that is not the caller's, or an array holds Python objects.
    """
    target = Path(path)
    if taken := [key for key in _OURS if key in header]:
        raise ValueError(f"the header's {taken[0]!r} is not for the caller to set")
    files = sorted((f"{name}.npy", name) for name in arrays)
    members = {file: _canonical(name, arrays[name]) for file, name in files}
    digests = {name: _Digest.of(array) for name, array in members.items()}
    whole = {
        **header,
        "format": FORMAT,
        "version": VERSION,
        "sha256": {name: digest.sha256.hexdigest() for name, digest in digests.items()},
    }
    text = json.dumps(whole, sort_keys=True).encode()
    if not target.parent.is_dir():
        raise PolicyFileError(str(path), f"there is no folder {str(target.parent)!r}; make it first")
    try:
        with _replacement(target) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            archive.writestr(_member(_HEADER, len(text)), text)
            for name, array in members.items():
                with archive.open(_member(name, digests[name].size), "w") as member:
                    npy.write_array(member, array, _NPY_VERSION, allow_pickle=False)
    except OSError as error:
        reason = f"it cannot be written: {error.strerror or error}; what was there before is unchanged"
        raise PolicyFileError(str(path), reason) from error


def read(path: StrPath) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the header, without what this module put there, and the arrays in the order of their names.

    Nothing in the file is run, and what it claims to hold takes no more memory than the file is long.

    Raises:
        PolicyFileError: it cannot be read, is damaged, something else, or of a newer version.
    """
    try:
        with Path(path).open("rb") as file:
            return _read(str(path), file)
    except FileNotFoundError as error:
        raise PolicyFileError(str(path), "there is no such file; check the path") from error
    except OSError as error:
        reason = f"it cannot be read: {error.strerror or error}; check what it is and who may read it"
        raise PolicyFileError(str(path), reason) from error


def _read(path: str, file: IO[bytes]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    length = os.fstat(file.fileno()).st_size
    begins_well = file.read(4) == b"PK\x03\x04"
    try:
        with zipfile.ZipFile(file) as archive:
            members = {info.filename: info for info in archive.infolist()}
            _check_sizes(archive.infolist(), length)
            if next(iter(members), None) != _HEADER:
                raise PolicyFileError(path, "it is a ZIP file, but not a policy of cobre; check the path")
            header = _read_header(path, bytes(_content(archive, members.pop(_HEADER))))
            digests: dict[str, str] = header.pop("sha256")
            if list(digests) != list(members):
                raise _Damage("its members are not those that its header lists")
            arrays = {
                name.removesuffix(".npy"): _read_array(_content(archive, info), digests[name], name)
                for name, info in members.items()
            }
    except zipfile.BadZipFile as error:
        reason = (
            _DAMAGED.format("cut short, or overwritten: " + str(error))
            if begins_well
            else "it is not a policy of cobre; check the path"
        )
        raise PolicyFileError(path, reason) from error
    except (PolicyFileError, MemoryError):
        raise
    except OSError as error:
        if error.errno not in (None, errno.EINVAL):  # these come of places that the file does not have
            raise
        raise PolicyFileError(path, _DAMAGED.format(error)) from error
    except Exception as error:  # a parser of foreign bytes can fail in any way
        raise PolicyFileError(path, _DAMAGED.format(error)) from error
    return header, arrays


class _Damage(Exception):
    """Damage in a file of this format."""


def _check_sizes(members: list[zipfile.ZipInfo], length: int) -> None:
    """Sizes in a ZIP are claims. Of members that are stored as they are, the file's length is the limit."""
    for info in members:
        if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
            raise _Damage(f"its member {info.filename!r} is compressed")
    if sum(info.file_size for info in members) > length:
        raise _Damage("its members are longer than the file")


def _content(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytearray:
    content = bytearray(info.file_size)
    got = 0
    with archive.open(info) as member:
        while piece := member.read(_PIECE):
            content[got : got + len(piece)] = piece
            got += len(piece)
    if got != info.file_size:
        raise _Damage(f"its member {info.filename!r} is not as long as it says")
    return content


def _read_header(path: str, text: bytes) -> dict[str, Any]:
    header = json.loads(text)
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise PolicyFileError(path, "it is a ZIP file, but not a policy of cobre; check the path")
    version = header.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise _Damage(f"its version is {version!r}")
    if version > VERSION:
        raise PolicyFileError(
            path,
            f"its format has version {version}, this cobre knows {VERSION} at most; install a newer one",
        )
    digests = header.get("sha256")
    if not isinstance(digests, dict) or not all(isinstance(text, str) for text in digests.values()):
        raise _Damage("its header has no checksums")
    del header["format"], header["version"]
    return header


def _read_array(content: bytearray, sha256: str, name: str) -> NDArray[Any]:
    if hashlib.sha256(content).hexdigest() != sha256:
        raise _Damage(f"the checksum of {name!r} is wrong")
    start = io.BytesIO(memoryview(content)[:_LONGEST_NPY_HEADER])
    if npy.read_magic(start) != _NPY_VERSION:
        raise _Damage(f"{name!r} is of another version of NumPy's format")
    shape, fortran, dtype = npy.read_array_header_1_0(start, max_header_size=_LONGEST_NPY_HEADER)
    if dtype.hasobject:
        raise _Damage(f"{name!r} holds Python objects, which are never loaded")
    if math.prod(shape) * dtype.itemsize != len(content) - start.tell():
        raise _Damage(f"{name!r} is not as long as its shape {shape} says")
    return np.ndarray(shape, dtype, content, start.tell(), order="F" if fortran else "C")


def _canonical(name: str, array: NDArray[Any]) -> NDArray[Any]:
    """The array in the one layout that its values have in a file."""
    array = np.asarray(array)
    if array.dtype.hasobject:
        raise ValueError(f"array {name!r} holds Python objects; give numbers")
    return np.asarray(array, array.dtype.newbyteorder("<"), order="C")


def _member(name: str, size: int) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)  # dated 1980-01-01
    info.create_system = 3  # as on Unix, wherever it is written
    info.external_attr = 0o644 << 16
    info.file_size = size
    return info


class _Digest:
    """Takes the place of a file, to know a member's length and checksum before it is written."""

    def __init__(self) -> None:
        self.sha256 = hashlib.sha256()
        self.size = 0

    @classmethod
    def of(cls, array: NDArray[Any]) -> _Digest:
        digest = cls()
        npy.write_array(digest, array, _NPY_VERSION, allow_pickle=False)
        return digest

    def write(self, data: bytes) -> int:
        self.sha256.update(data)
        self.size += len(data)
        return len(data)


@contextmanager
def _replacement(target: Path) -> Iterator[IO[bytes]]:
    """A file that takes the place of ``target`` once it is complete and on the disk."""
    # Always the same name, so that what a killed process has left is used again and not added to.
    temporary = target.with_name(f".{target.name}.tmp")
    with _alone(target, temporary) as file:
        try:
            yield file
            file.flush()
            os.fsync(file.fileno())
            temporary.replace(target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    _sync_folder(target.parent)


def _alone(target: Path, temporary: Path) -> IO[bytes]:
    """Open the file ``temporary``, empty, for nobody else until it is closed."""
    try:
        file = open_locked(temporary)
    except BlockingIOError as error:
        reason = "another process is writing it; give each run a file of its own"
        raise PolicyFileError(str(target), reason) from error
    file.truncate()
    return file


def _sync_folder(folder: Path) -> None:
    """Have the new name on the disk, too."""
    fd = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # some file systems cannot, and then need not
            os.fsync(fd)
    finally:
        os.close(fd)
