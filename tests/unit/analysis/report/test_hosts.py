"""What the page says of the hosts, and of records that do not tell."""

from pathlib import Path

import pytest
from nashbed.analysis.report import build_report
from nashbed.analysis.report.hosts import hosts_context
from nashbed.controlplane.contract.trial import CoreLoad, Repeated, TrialRecord, WindowLimited
from nashbed.controlplane.store.finished_run import open_run
from tests.support.synthetic_run import edit_json
from tests.unit.analysis.report.test_report import PAGE, text_of

LOAD = CoreLoad(
    core=1, flows=True, squeezed=4, dropped=0, waiting=2, ksoftirqd_ns=3_000_000, softirq=0.5,
    steal=0.0,
)  # fmt: skip
LIMITED = WindowLimited(
    flow=0, group=0, strategy="cubic", by="send buffer", share=0.25, stated=False
)
TWICE = Repeated(flow=0, bytes=4000, packets=4, late=1, longest_ns=5, missing_bytes=0)


def records(run: Path) -> list[TrialRecord]:
    return [trial.record for trial in open_run(run).trials][:2]


def test_means_and_the_largest_over_trials(whole_run: Path) -> None:
    first, second = records(whole_run)
    busier = LOAD.model_copy(update={"squeezed": 8, "softirq": 0.7, "dropped": 1})
    found = hosts_context(
        [
            first.model_copy(update={"kernel_load": (LOAD,), "repeated": (TWICE,)}),
            second.model_copy(update={"kernel_load": (busier,), "window_limited": (LIMITED,)}),
        ]
    )
    (core,) = found["cores"]
    assert (core["core"], core["work"]) == (1, "flows")
    assert (core["squeezed"], core["softirq"], core["ksoftirqd"]) == (
        "6.00 (8.00)", "60.0 (70.0)", "3.00 (3.00)",
    )  # fmt: skip
    assert (core["dropped"], core["waiting"]) == (1, 2)
    assert found["sockets"] == [
        "cubic: 1 flow in 1 trial limited by their send buffer, for 25% of the window "
        "at most, not by congestion control alone."
    ]
    assert found["repeats"] == (
        "In 1 trial with all postcards, 3 packets crossed the path again as spurious "
        "retransmissions, and 1 because the earlier copy was lost behind the bottleneck."
    )


def test_records_of_virtual_time_say_nothing(whole_run: Path) -> None:
    assert hosts_context(records(whole_run)) == {"cores": [], "sockets": [], "repeats": ""}


@pytest.mark.slow
@pytest.mark.usefixtures("no_figures")
def test_the_page_shows_load_and_marks(run_copy: Path, tmp_path: Path) -> None:
    assert "Kernel load" not in text_of(build_report(run_copy, PAGE, tmp_path / "old"))
    trial = next((run_copy / "trials").iterdir())
    edit_json(trial / "trial.json", kernel_load=[LOAD.model_dump()], marks=["short of memory"])
    text = text_of(build_report(run_copy, PAGE, tmp_path / "new"))
    assert "Kernel load of the hosts" in text
    assert "Marked: short of memory" in text
