"""Policy files: the same bytes for the same content, and nothing but an error from any others."""

import hashlib
import io
import json
import pickle
import random
import resource
import signal
import subprocess
import sys
import threading
import time
import zipfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

from cobre.errors import PolicyFileError
from cobre.sddp import _archive
from tests.processes import DEADLINE_S
from tests.sddp.archive_writer import content

HEADER = {"problem": "abc", "iteration": 12, "bounds": [0.1, 1e300, -5.0], "nested": {"b": 1, "a": None}}
ARRAYS = {
    "cuts": np.arange(12.0).reshape(3, 4) / 7,
    "cut-states": np.arange(5, dtype=np.int32),
    "nothing": np.empty((0, 3)),
    "one": np.array(7.5),
    "flags": np.array([True, False]),
    "records": np.array([(1, 2.5)], dtype=[("node", "<i4"), ("value", "<f8")]),
}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.policy"


@pytest.fixture
def written(path):
    _archive.write(path, HEADER, ARRAYS)
    return path


def same(one, other):
    (header, arrays), (other_header, other_arrays) = one, other
    return (
        header == other_header
        and list(arrays) == list(other_arrays)
        and all(
            (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())
            for a, b in zip(arrays.values(), other_arrays.values(), strict=True)
        )
    )


def repack(path, change, *, compression=zipfile.ZIP_STORED):
    """Write the file anew with members changed by ``change(dict)``, as a forger would."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members = change(members) or members
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def change_header(**changes):
    def change(members):
        header = json.loads(members["header.json"]) | changes
        members["header.json"] = json.dumps(header, sort_keys=True).encode()

    return change


def forge_member(data):
    """Replace an array by other bytes, with the checksum that fits them."""

    def change(members):
        header = json.loads(members["header.json"])
        header["sha256"]["cuts.npy"] = hashlib.sha256(data).hexdigest()
        members["header.json"] = json.dumps(header, sort_keys=True).encode()
        members["cuts.npy"] = data

    return change


def npy(array=None, *, shape=None, pickled=False):
    if shape is not None:
        text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
        return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode() + b"\0" * 16
    file = io.BytesIO()
    np.save(file, array, allow_pickle=pickled)
    return file.getvalue()


def test_what_was_written_is_read(written):
    header, arrays = _archive.read(written)
    assert header == HEADER
    assert list(arrays) == ["cut-states", "cuts", "flags", "nothing", "one", "records"]
    assert same((header, arrays), (HEADER, {name: ARRAYS[name] for name in arrays}))
    arrays["cuts"][0, 0] = 5  # it is the reader's own


@given(
    st.dictionaries(
        st.text("abc-._", min_size=1, max_size=6),
        arrays_of.arrays(
            st.sampled_from(["<f8", "<i8", "<i4", "|b1", "<f4", "<u8"]),
            arrays_of.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
        ),
        max_size=4,
    )
)
def test_anything_comes_back_in_the_order_of_member_names(tmp_path_factory, arrays):
    path = tmp_path_factory.getbasetemp() / "any.policy"
    _archive.write(path, {}, arrays)
    order = sorted(arrays, key=lambda name: f"{name}.npy")
    assert same(_archive.read(path), ({}, {name: arrays[name] for name in order}))


def test_bytes_are_a_function_of_content(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    _archive.write(first, HEADER, ARRAYS)
    shuffled = {name: ARRAYS[name] for name in reversed(ARRAYS)}
    shuffled["cuts"] = np.asfortranarray(ARRAYS["cuts"].astype(">f8"))
    _archive.write(second, dict(reversed(HEADER.items())), shuffled)
    assert first.read_bytes() == second.read_bytes()
    _archive.write(second, HEADER | {"iteration": 13}, ARRAYS)
    assert first.read_bytes() != second.read_bytes()


def test_the_format_is_as_described(written):
    with zipfile.ZipFile(written) as archive:
        infos = archive.infolist()
        assert archive.testzip() is None
        assert infos[0].filename == "header.json"
        assert {info.compress_type for info in infos} == {zipfile.ZIP_STORED}
        assert {info.date_time for info in infos} == {(1980, 1, 1, 0, 0, 0)}
        header = json.loads(archive.read("header.json"))
        assert header["format"] == "cobre-policy"
        assert header["version"] == 2
        for name, digest in header["sha256"].items():
            assert hashlib.sha256(archive.read(name)).hexdigest() == digest
        np.testing.assert_array_equal(np.load(archive.open("cuts.npy")), ARRAYS["cuts"])


def test_a_flipped_byte_is_found_wherever_it_is(written):
    good, content = written.read_bytes(), _archive.read(written)
    with zipfile.ZipFile(written) as archive:
        spans = [
            (info.header_offset + 30 + len(info.filename), info.file_size) for info in archive.infolist()
        ]
    data = {place for start, size in spans for place in range(start, start + size)}
    unnoticed, reasons = set(), []
    for place in range(len(good)):
        for bits in (0x01, 0x80, 0xFF):
            bad = bytearray(good)
            bad[place] ^= bits
            written.write_bytes(bad)
            try:
                assert same(_archive.read(written), content), f"byte {place} ^ {bits:#x} changed the content"
                unnoticed.add(place)
            except PolicyFileError as error:
                reasons.append(error.reason)
    # Dates, attributes and the like in the ZIP's own records change nothing.
    assert not unnoticed & data
    assert all("damaged" in reason or "not a policy" in reason for reason in reasons)


def test_a_truncated_file_is_refused_at_any_length(written):
    good = written.read_bytes()
    for length in range(len(good)):
        written.write_bytes(good[:length])
        with pytest.raises(PolicyFileError, match="damaged|not a policy"):
            _archive.read(written)
    written.write_bytes(good[: len(good) // 2])
    with pytest.raises(PolicyFileError, match="cut short.*use an earlier copy"):
        _archive.read(written)


def test_bytes_at_random_are_refused(written):
    good, content = written.read_bytes(), _archive.read(written)
    chance = random.Random(1)
    for _ in range(300):
        bad = bytearray(good)
        start = chance.randrange(len(good))
        bad[start : start + chance.randrange(1, 80)] = chance.randbytes(chance.randrange(80))
        written.write_bytes(bad)
        with suppress(PolicyFileError):
            assert same(_archive.read(written), content)


@pytest.mark.parametrize("data", [b"", b"PK", b"hello" * 100, b"\x93NUMPY" + bytes(200)])
def test_a_file_of_another_kind_is_refused(path, data):
    path.write_bytes(data)
    with pytest.raises(PolicyFileError, match="not a policy of cobre; check the path"):
        _archive.read(path)


@pytest.mark.parametrize("members", [{}, {"a.txt": "x"}, {"a.txt": "x", "header.json": "{}"}])
def test_another_zip_is_refused(path, members):
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    with pytest.raises(PolicyFileError, match="not a policy of cobre"):
        _archive.read(path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (change_header(format="something else"), "not a policy of cobre"),
        (change_header(version=3), "version 3, this cobre knows 2 at most; install a newer one"),
        (change_header(version="1"), "its version is '1'"),
        (change_header(version=0), "its version is 0"),
        (change_header(sha256=None), "no checksums"),
        (change_header(sha256={"cuts.npy": 1}), "no checksums"),
        (change_header(sha256={}), "not those that its header lists"),
        (lambda members: {"header.json": b"[1]"}, "not a policy of cobre"),
        (lambda members: {"header.json": b"{"}, "damaged"),
        (lambda members: {"header.json": b"[" * 100_000}, "damaged"),
        (lambda members: {"header.json": b"\xff\xfe"}, "damaged"),
        (lambda members: members | {"more.npy": npy(np.ones(1))}, "not those that its header lists"),
        (lambda members: members | {"cuts.npy": npy(np.ones(1))}, "checksum of 'cuts.npy' is wrong"),
        (forge_member(b"text"), "damaged"),
        (forge_member(npy(np.array([{}, 1]), pickled=True)), "Python objects, which are never loaded"),
        (forge_member(pickle.dumps([1])), "damaged"),
        (forge_member(npy(shape="(3,)")), "not as long as its shape"),
        (forge_member(npy(shape="(1000000000000000000,)")), "not as long as its shape"),
        (forge_member(npy(shape="(-1, -2)")), "damaged"),
        (forge_member(npy(shape="'x'")), "damaged"),
        (forge_member(npy(np.ones(2)).replace(b"\x01\x00", b"\x02\x00", 1)), "another version"),
    ],
)
def test_a_forged_file_is_refused(written, change, words):
    repack(written, change)
    with pytest.raises(PolicyFileError, match=words) as caught:
        _archive.read(written)
    assert caught.value.path == str(written)


def test_compressed_members_are_refused_before_they_grow(written):
    repack(written, lambda members: members | {"cuts.npy": bytes(1 << 20)}, compression=zipfile.ZIP_DEFLATED)
    with pytest.raises(PolicyFileError, match="compressed"):
        _archive.read(written)


def test_members_that_share_their_bytes_are_refused(written):
    """Many names for one place would need more memory than the file is long."""
    with zipfile.ZipFile(written, "a") as archive:
        first = archive.infolist()[1]
        archive.filelist += [first] * 1000
        archive._didModify = True
    with pytest.raises(PolicyFileError, match="longer than the file"):
        _archive.read(written)


def test_what_cannot_be_read(tmp_path):
    with pytest.raises(PolicyFileError, match="no such file; check the path"):
        _archive.read(tmp_path / "absent")
    with pytest.raises(PolicyFileError, match="cannot be read: Is a directory"):
        _archive.read(str(tmp_path))


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(PolicyFileError, match="there is no folder .*absent'; make it first"):
        _archive.write(tmp_path / "absent" / "run.policy", {}, {})


def test_what_is_not_the_callers(path):
    for header in ({"format": "mine"}, {"version": 5}, {"sha256": {}}):
        with pytest.raises(ValueError, match="not for the caller"):
            _archive.write(path, header, {})
    with pytest.raises(ValueError, match="'bad' holds Python objects"):
        _archive.write(path, {}, {"bad": np.array([{}])})
    assert not path.exists()


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, path):
    _archive.write(path, HEADER, ARRAYS)
    before = path.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))  # as if the disk were full
    try:
        with pytest.raises(PolicyFileError, match="cannot be written: File too large; what was there"):
            _archive.write(path, HEADER, {"large": np.zeros(100_000)})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_files_have_the_usual_permissions(tmp_path, path):
    _archive.write(path, HEADER, ARRAYS)
    usual = tmp_path / "usual"
    usual.touch()
    assert path.stat().st_mode == usual.stat().st_mode
    usual.unlink()
    assert list(tmp_path.iterdir()) == [path]


def test_killed_in_the_middle_the_file_is_whole(tmp_path, path):
    chance = random.Random(2)
    seen = set()
    for _ in range(25):
        with subprocess.Popen(
            [sys.executable, "-m", "tests.sddp.archive_writer", str(path)],
            stdout=subprocess.PIPE,
            cwd=Path(__file__).parent.parent.parent,
        ) as process:
            assert process.stdout.read(1) == b"."  # from now on there is a file
            time.sleep(chance.uniform(0, 0.03))
            process.send_signal(signal.SIGKILL)
            process.wait(DEADLINE_S)
        header, arrays = _archive.read(path)
        expected = content(header["which"])
        assert same((header, arrays), (expected[0], dict(sorted(expected[1].items()))))
        seen.add(header["which"])
        assert len(list(tmp_path.iterdir())) <= 2  # what a killed one leaves is used by the next
    assert seen == {0, 1}
    _archive.write(path, HEADER, ARRAYS)
    assert list(tmp_path.iterdir()) == [path]


def test_two_writers_do_not_mix(tmp_path, path):
    _archive.write(path, HEADER, ARRAYS)
    with _archive._replacement(path) as file:
        file.write(path.read_bytes())
        with pytest.raises(PolicyFileError, match="another process is writing it; give each run"):
            _archive.write(path, HEADER, {})
    assert same(_archive.read(path), (HEADER, {name: ARRAYS[name] for name in _archive.read(path)[1]}))
    assert list(tmp_path.iterdir()) == [path]


def test_many_writers_leave_one_whole_file(tmp_path, path):
    """Each either writes or is told that another does; none can write into a file that is in its place."""
    done = []

    def write(which):
        for _ in range(100):
            try:
                _archive.write(path, *content(which))
                done.append(which)
            except PolicyFileError as error:
                done.append(error.reason)

    threads = [threading.Thread(target=write, args=(which,)) for which in range(3)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        if path.exists():
            header, arrays = _archive.read(path)
            assert (arrays["cuts"] == header["which"]).all()
    for thread in threads:
        thread.join()
    assert len(done) == 300
    assert {reason for reason in done if isinstance(reason, str)} <= {
        "another process is writing it; give each run a file of its own"
    }
    assert list(tmp_path.iterdir()) == [path]
