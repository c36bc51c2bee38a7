"""What the page says that a run does not show."""

from nashbed.analysis.report.limits import _processor, _too_short
from nashbed.controlplane.contract.scenario_keys import ProcessorTime
from tests.unit.analysis.made_measures import made


def test_convergence_times_have_their_authors() -> None:
    measures = made(
        {"sweep": {"buffer": ["1bdp", "8bdp", "32bdp"]}}, lambda setting, strategy, k: 1e7
    )
    (said,) = _too_short(measures)
    assert said.startswith("60 s may be too short at 32 BDP")
    assert "169 s to converge at 8 BDP and 488 s at 32 BDP" in said
    assert "Sarpkaya, Srivastava, Fund and Panwar 2025" in said
    assert _too_short(made({"sweep": {"buffer": ["1bdp"]}}, lambda setting, name, k: 1e7)) == []


def test_what_programs_compute_is_free_or_has_its_price() -> None:
    assert "take no time to compute" in _processor(None, is_virtual=True)
    priced = ProcessorTime.model_validate({"per_datagram": "5us", "per_kilobyte": "1us"})
    price = "take 5us of processor time for each UDP datagram and 1us"
    assert price in _processor(priced, is_virtual=True)
    assert "share the hosts' cores" in _processor(None, is_virtual=False)
