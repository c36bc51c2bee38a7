"""What a certificate is worth for a run: until something changes, and only for its testbed."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from nashbed.controlplane.calibrate.runner import refuse_foreign, write_certificate
from nashbed.controlplane.cli.calibrate import certificate_text
from nashbed.controlplane.cli.main import run as nashbed
from nashbed.controlplane.config import Loaded, load_testbed, parse_testbed
from nashbed.controlplane.contract.certificate import CalibrationCheck, Certificate, Standing
from nashbed.controlplane.contract.errors import EXIT_CONFIG, ConfigError
from nashbed.controlplane.contract.messages.dataplane import Hello
from nashbed.controlplane.contract.testbed import ASSUMED_CAPACITY, Capacity, Testbed
from nashbed.controlplane.contract.units import Rate
from nashbed.controlplane.machine.host import facts
from nashbed.controlplane.machine.paths import CONFIGS, DEFAULT_TESTBED, spec
from nashbed.controlplane.machine.process.clock import utc_now
from nashbed.controlplane.run.standing import (
    ASSUMED,
    MEASURED,
    STATED,
    after_load,
    age_text,
    certificate_path,
    standing,
    with_capacity,
)
from nashbed.controlplane.store.documents import read_document
from nashbed.files import find_scenario, find_testbed
from tests.unit.controlplane.conftest import SCENARIO, TESTBED

SILENT = """\
name: bed
ports:
  senders: {driver: af_xdp}
  receivers: {driver: af_xdp}
"""
MEASURED_CAPACITY = Capacity(rate=Rate(1_100_000_000), lanes=22)
CERTIFIED = Standing(state="certified", detail="", capacity=MEASURED_CAPACITY)


def check(passed: bool) -> CalibrationCheck:
    return CalibrationCheck(name="rate", setting="10mbit", passed=passed, value=0.3, limit=0.2,
                            unit="%", detail="9.97 Mbit/s")  # fmt: skip


@pytest.fixture
def bed(tmp_path: Path) -> Loaded[Testbed]:
    path = tmp_path / "fake.yaml"
    path.write_text(TESTBED)
    return load_testbed(path)


Certify = Callable[..., Path]


@pytest.fixture
def certify(bed: Loaded[Testbed]) -> Certify:
    """Writes the testbed's certificate with some fields changed."""

    def write(**changes: Any) -> Path:
        stamp = spec().read_text().splitlines()[0].split("sha256:")[1].split()[0]
        fields: dict[str, Any] = {
            "testbed": "fake", "testbed_digest": bed.digest, "target": "dpdk",
            "artefact_digest": stamp, "dataplane_version": "1", "created_utc": utc_now(),
            "load": {}, "passed": True, "checks": (check(True),), "software": {}, "git": {},
            "kernel": facts.kernel(), "cpu": facts.cpu(), "host": {},
        }  # fmt: skip
        path = certificate_path(bed)
        write_certificate(path, Certificate(**(fields | changes)))
        return path

    return write


def test_the_certificate_stands_beside_its_testbed(bed: Loaded[Testbed], tmp_path: Path) -> None:
    assert certificate_path(bed) == tmp_path / "fake.certificate.json"


def test_without_one_the_testbed_is_not_calibrated(bed: Loaded[Testbed]) -> None:
    found = standing(bed)
    assert found.state == "none"
    assert (
        found.doubt == f"testbed fake is not calibrated: `nashbed calibrate {bed.name}` proves it"
    )


def test_virtual_time_needs_none() -> None:
    found = standing(load_testbed(DEFAULT_TESTBED))
    assert (found.state, found.doubt) == ("exact", "")


def test_a_fresh_one_certifies(bed: Loaded[Testbed], certify: Certify) -> None:
    path = certify()
    found = standing(bed)
    assert found.state == "certified"
    assert len(found.digest) == 64
    assert found.age_s is not None
    assert 0 <= found.age_s < 60
    assert str(path) in found.detail


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"testbed_digest": "0" * 64}, "the testbed file has changed since its calibration"),
        ({"artefact_digest": "0" * 64}, "the P4 program has changed since its calibration"),
        ({"kernel": "another"}, "the machine or its kernel has changed since its calibration"),
    ],
)
def test_it_expires_when_something_changes(
    bed: Loaded[Testbed], certify: Certify, changes: dict[str, Any], said: str
) -> None:
    certify(**changes)
    found = standing(bed)
    assert found.state == "expired"
    assert said in found.detail
    assert "nashbed calibrate" in found.detail


def test_a_missed_bound_is_named(bed: Loaded[Testbed], certify: Certify) -> None:
    certify(passed=False, checks=(check(True), check(False)))
    found = standing(bed)
    assert found.state == "failed"
    assert "its calibration missed rate at 10mbit" in found.detail


def test_another_data_plane_expires_it(bed: Loaded[Testbed], certify: Certify) -> None:
    certify()
    known = standing(bed)
    same = Hello.model_construct(version="1", spec_digest=known.artefact_digest)
    assert after_load(known, same) == known
    other = after_load(known, same.model_copy(update={"spec_digest": "another"}))
    assert (other.state, "another P4 program" in other.detail) == ("expired", True)
    found = after_load(known, same.model_copy(update={"version": "2"}))
    assert found.state == "expired"
    assert found.detail.startswith("the data plane was version 1 ")
    none = Standing(state="none", detail="")
    assert after_load(none, same.model_copy(update={"version": "2"})) == none


def test_another_testbeds_is_refused(bed: Loaded[Testbed], certify: Certify) -> None:
    path = certify(testbed="other")
    with pytest.raises(ConfigError, match="is the certificate of testbed 'other', not of 'fake'"):
        standing(bed)
    with pytest.raises(ConfigError, match="move it away"):
        refuse_foreign(path, bed.model)


def test_a_damaged_one_is_refused(bed: Loaded[Testbed]) -> None:
    certificate_path(bed).write_text('{"format": 1}')
    with pytest.raises(ConfigError, match=r"is damaged \(testbed: Field required\); move it away"):
        standing(bed)


@pytest.mark.slow
def test_plan_says_where_the_testbed_stands(
    bed: Loaded[Testbed], certify: Certify, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scenario = tmp_path / "small.yaml"
    scenario.write_text(SCENARIO)
    words = ["plan", str(scenario), "--testbed", bed.name]
    assert nashbed(words) == 0
    assert "testbed fake is not calibrated" in capsys.readouterr().out
    certify()
    assert nashbed([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["certificate"]["state"] == "certified"
    certify(testbed="other")
    assert nashbed(words) == EXIT_CONFIG
    assert "is the certificate of testbed 'other'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["nowhere"],
            "testbed 'nowhere': there is no such file in configs/testbeds/; write one of",
        ),
        (["./nowhere.yaml"], "no such testbed file"),
        (["embedded", "--rate", "fast"], "--rate"),
        (["embedded", "--base-rtt", "5"], "--base-rtt"),
        (
            ["embedded", "--base-rtt", *" --base-rtt ".join(["1ms"] * 17).split()],
            "at most 16 flow groups",
        ),
        (["embedded", "--load", "iperf"], "--load iperf: write auto, own, testpmd or pktgen"),
        (["embedded", "--keep", "/tmp"], "keep it in a new folder"),
    ],
)
@pytest.mark.usefixtures("as_root")
def test_bad_input_is_one_line(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert nashbed(["calibrate", *words]) == EXIT_CONFIG
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1


def test_a_bare_name_is_a_shipped_testbed() -> None:
    assert find_testbed("embedded") == CONFIGS / "testbeds" / "embedded.yaml"
    assert find_testbed("mine.yaml") == Path("mine.yaml")
    assert find_testbed("beds/mine") == Path("beds/mine")


def test_a_scenario_is_named_or_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    scenarios = CONFIGS / "scenarios"
    assert find_scenario("quickstart") == scenarios / "quickstart.yaml"
    assert find_scenario("controls/tournament") == scenarios / "controls" / "tournament.yaml"
    assert find_scenario("mine.yaml") == Path("mine.yaml")
    (tmp_path / "quickstart").write_text("a file of one's own\n")
    assert find_scenario("quickstart") == Path("quickstart")


@pytest.mark.parametrize(("age_s", "text"), [(-3, "0 s"), (119, "119 s"), (7300, "2 h"),
                                             (259_200, "3 d")])  # fmt: skip
def test_ages_are_short(age_s: float, text: str) -> None:
    assert age_text(age_s) == text


def test_a_person_sees_what_was_missed(certify: Certify) -> None:
    path = certify(passed=False, checks=(check(False),))
    text = certificate_text(read_document(path, Certificate, ""), path)
    assert "MISSED" in text
    assert "NOT calibrated" in text


def capacity_of(text: str, known: Standing) -> tuple[Capacity, str]:
    """The capacity that a run on this testbed uses, and where it is from."""
    bed, capacity_from = with_capacity(parse_testbed(text, "bed.yaml"), known)
    return bed.model.capacity, capacity_from


def test_a_stated_capacity_takes_precedence() -> None:
    text = SILENT + "capacity: {rate: 1mbit, lanes: 3}\n"
    assert capacity_of(text, CERTIFIED) == (Capacity(rate=Rate(10**6), lanes=3), STATED)


def test_else_the_measured_capacity() -> None:
    assert capacity_of(SILENT, CERTIFIED) == (MEASURED_CAPACITY, MEASURED)


def test_else_an_assumed_capacity() -> None:
    expired = CERTIFIED.model_copy(update={"state": "expired"})
    unmeasured = CERTIFIED.model_copy(update={"capacity": None})
    for known in (expired, unmeasured, Standing(state="none", detail="")):
        assert capacity_of(SILENT, known) == (ASSUMED_CAPACITY, ASSUMED)
