"""The traces that nashbed ships are what their models make, and carry what their README says."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
from nashbed.controlplane.config.trace import read_trace
from nashbed.controlplane.contract.link import link_of_trace
from nashbed.controlplane.contract.units import PACKET_BYTES

FOLDER = Path(__file__).parents[2] / "configs" / "traces"


@pytest.fixture(scope="module")
def models() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_traces", FOLDER / "make.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_trace_is_made_by_its_model(models: ModuleType) -> None:
    shipped = {path.name for path in FOLDER.iterdir() if path.suffix in (".trace", ".csv")}
    assert shipped == set(models.TRACES)
    for name, make in models.TRACES.items():
        assert (FOLDER / name).read_text() == make(), name


@pytest.mark.parametrize(
    ("name", "length_s", "mean_mbps"),
    [("cellular.trace", 60, 6.0), ("satellite.csv", 60, 33.2), ("wifi.trace", 20, 21.6)],
)
def test_they_carry_what_the_readme_says(name: str, length_s: int, mean_mbps: float) -> None:
    trace = read_trace(FOLDER / name, repeat=True)
    trace = trace.model_copy(update={"opportunity_bytes": PACKET_BYTES})
    carried = link_of_trace(10**6, trace).capacity_bits(0, length_s * 10**9)
    assert trace.period_ns == length_s * 10**9
    assert carried / length_s / 1e6 == pytest.approx(mean_mbps, abs=0.05)
    assert f"| {length_s} s | {mean_mbps} Mbit/s |" in (FOLDER / "README.md").read_text()
