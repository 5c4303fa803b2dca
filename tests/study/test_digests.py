"""The same bits on every x86-64 processor: the examples against recorded digests, in other processes."""

import json
import os
import platform
import subprocess
import sys

import highspy
import numpy._core._multiarray_umath as numpy_core
import pytest

from tests.study.digests import RECORDED, used

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="the digests are of x86-64")

ALL_OF_NUMPY = used()["numpy"]
#: What each library has to pretend that this processor is another one.
PROCESSORS = {
    "as it is": {},
    "without AVX-512": {
        "NPY_DISABLE_CPU_FEATURES": " ".join(set(ALL_OF_NUMPY) - {"X86_V3", "AVX2", "FMA3"}),
        "OPENBLAS_CORETYPE": "Haswell",
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX512BW,-AVX512DQ,-AVX512CD",
    },
    "without AVX2 and FMA": {
        "NPY_DISABLE_CPU_FEATURES": " ".join(ALL_OF_NUMPY),
        "OPENBLAS_CORETYPE": "Prescott",
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F,-AVX2,-FMA,-FMA4,-AVX",
        "ARROW_USER_SIMD_LEVEL": "NONE",
        "COBRE_CPU_BASELINE": "1",
    },
}


@pytest.fixture(scope="module", params=PROCESSORS)
def processor(request):
    return request.param


@pytest.fixture(scope="module")
def answer(processor):
    """What a process says that takes the processor for another one."""
    settings = {name: value for name, value in PROCESSORS[processor].items() if value}
    command = [sys.executable, "-m", "tests.study.digests"]
    ended = subprocess.run(
        command, env=os.environ | settings, capture_output=True, text=True, timeout=110, check=False
    )
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


def test_the_examples_have_the_recorded_bits(answer):
    recorded = json.loads(RECORDED.read_text())
    assert recorded["highs"] == highspy.Highs().version(), (
        "record the digests anew: CONTRIBUTING.md says when"
    )
    assert answer["cases"] == recorded["cases"]


def test_the_processor_was_used_as_asked(answer, processor):
    features = numpy_core.__cpu_features__
    expected = {
        "as it is": {"numpy": ALL_OF_NUMPY, "ours": [features["AVX2"]] * 2},
        "without AVX2 and FMA": {"numpy": [], "ours": [False] * 2},
    }
    if processor in expected:
        assert answer["used"] == expected[processor]
    else:
        assert not any("512" in name or name == "X86_V4" for name in answer["used"]["numpy"])
