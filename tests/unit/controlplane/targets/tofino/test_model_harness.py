"""tests/tofino_model without a model: why it skips, and its tests of control on the fake."""

import os
import subprocess
import sys

import pytest
from tests.fakes.bfrt import FakeBfRt
from tests.support.tofino import CHIPS, ROOT, artefact
from tests.tofino_model.model import PAGE, why_no_server, why_no_wires

FOLDER = "tests/tofino_model"
PAGE_FILE = ROOT / PAGE.partition(" ")[0]


def pytest_of(what: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rs", what],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


def test_nobody_answers() -> None:
    assert "no Tofino model answers at 127.0.0.1:1 " in why_no_server("127.0.0.1:1")
    assert PAGE_FILE.is_file()


def test_no_wires(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.tofino_model.model.ENDS", ("lo", "nowhere7"))
    assert why_no_wires().startswith("no interface nowhere7: ")


@pytest.mark.slow
def test_everything_skips_with_the_reason() -> None:
    told = pytest_of(FOLDER, NASHBED_TOFINO_MODEL="127.0.0.1:1")
    assert "no Tofino model answers at 127.0.0.1:1" in told
    assert " passed" not in told
    assert " failed" not in told


@pytest.mark.slow
@pytest.mark.parametrize("chip", CHIPS)
def test_its_tests_of_control_pass_on_the_fake(chip: str) -> None:
    server = FakeBfRt(chip, artefact(chip).read_bytes()).start()
    try:
        told = pytest_of(
            f"{FOLDER}/test_control.py",
            NASHBED_TOFINO_MODEL=server.address,
            NASHBED_TOFINO_MODEL_CHIP=chip,
        )
    finally:
        server.stop()
    assert "2 passed" in told, told
