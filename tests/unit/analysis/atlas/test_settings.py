"""Measured settings, and where on a map they belong."""

from dataclasses import replace
from pathlib import Path

import pytest
from nashbed.analysis.atlas.settings import (
    KnownSetting,
    place_settings,
    published_settings,
    run_settings,
)
from nashbed.analysis.nash.of_run import equilibria_of_run
from nashbed.controlplane.machine.paths import PUBLISHED_EQUILIBRIA as PUBLISHED
from nashbed.controlplane.store.errors import RunError
from tests.support.synthetic_run import write_run
from tests.unit.analysis.atlas.made_maps import plane

SETTING = KnownSetting(
    source="a paper", published=True, rate_bps=100e6, base_rtt_s=0.04, buffer_bdp=10, flows=50,
    duration_s=120, start="together", share=0.5,
)  # fmt: skip


def test_the_published_settings() -> None:
    settings = published_settings(PUBLISHED)
    assert len(settings) == 49
    found = {(s.rate_bps, s.base_rtt_s, s.buffer_bdp): s.share for s in settings}
    assert found[100e6, 0.04, 10] == pytest.approx(1 - 26 / 50)
    assert found[100e6, 0.005, 5] == 1  # no CUBIC flow
    # 500 Mbit/s, 20 ms, 5 BDP has equilibria of 25 and 21 CUBIC flows.
    assert found[500e6, 0.02, 5] == pytest.approx(1 - 23 / 50)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b\n1,2\n", "has no column"),
        ("", "has no column"),
        (PUBLISHED.read_text().splitlines()[0] + "\n50,20,5,50,,\n", "line 2"),
        (PUBLISHED.read_text().splitlines()[0] + "\n50,x,5,50,3,3\n", "line 2"),
    ],
)
def test_wrong_files(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "equilibria.csv"
    file.write_text(text)
    with pytest.raises(RunError, match=said):
        published_settings(file)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="cannot be read"):
        published_settings(tmp_path / "none.csv")


def test_all_published_settings_are_on_the_usual_map() -> None:
    usual = replace(plane("buffer=0.4..60bdp", "bdp-per-flow=0.5..100pkt"), start="iperf3")
    placed = place_settings(usual, published_settings(PUBLISHED))
    assert len(placed) == 49
    exact = [p for p in placed if not p.differs]
    assert {p.base_rtt_s for p in exact} == {0.04}
    assert len(exact) == 14
    assert {p.differs for p in placed} == {(), ("base RTT",)}
    together = place_settings(replace(usual, start="together"), published_settings(PUBLISHED))
    assert {p.differs for p in together} == {("start",), ("base RTT", "start")}
    # 100 Mbit/s x 40 ms / 8 = 500,000 bytes: 10,000 a flow.
    (ten,) = (p for p in exact if (p.rate_bps, p.x) == (100e6, 10))
    assert ten.y == pytest.approx(10_000 / 1514)


def test_a_setting_with_another_bdp_per_flow_does_not_belong() -> None:
    by_rate = plane("buffer=1..20bdp", "rate=10..200mbit")
    assert [p.y for p in place_settings(by_rate, [SETTING])] == [100e6]
    assert place_settings(by_rate, [SETTING.model_copy(update={"base_rtt_s": 0.02})]) == []
    # Half of the base RTT with half of the flows is the same BDP per flow.
    other = SETTING.model_copy(update={"base_rtt_s": 0.02, "flows": 25, "duration_s": 200})
    (placed,) = place_settings(by_rate, [other])
    assert placed.differs == ("base RTT", "flows", "duration")


def test_a_setting_with_another_buffer_does_not_belong() -> None:
    by_rate = plane("rate=10..200mbit", "flows=10..100", buffer=10.0)
    assert len(place_settings(by_rate, [SETTING])) == 1
    assert place_settings(by_rate, [SETTING.model_copy(update={"buffer_bdp": 12})]) == []


def test_outside_the_map() -> None:
    assert place_settings(plane("buffer=1..9bdp"), [SETTING]) == []


@pytest.mark.slow
def test_the_settings_of_a_run(tmp_path: Path) -> None:
    run_dir = write_run(tmp_path / "run")
    (equilibria,) = equilibria_of_run(run_dir)
    settings = run_settings(run_dir)
    known = equilibria.equilibria or (equilibria.ends and equilibria.ends.intervals)
    assert len(settings) == (1 if known else 0)
    for setting in settings:
        assert (setting.source, setting.published) == ("synthetic", False)
        assert (setting.rate_bps, setting.base_rtt_s, setting.flows) == (10e6, 0.04, 4)
        assert (setting.buffer_bdp, setting.duration_s) == (2, 6)
        assert 0 <= setting.share <= 1


def test_no_run(tmp_path: Path) -> None:
    with pytest.raises(RunError):
        run_settings(tmp_path)
