"""The part `virtual` with a profile: what perf reports, added up by part of a guest."""

from __future__ import annotations

from pathlib import Path

import pytest
from nashbed.controlplane.bench import profile
from nashbed.controlplane.bench.profile import PARTS, read_report, require_perf
from nashbed.controlplane.contract.errors import PrerequisiteError

REPORT = Path(__file__).with_name("perf_report.txt")
"""Lines of a real answer of perf 6.1, with its heading."""


def test_samples_are_added_up_by_part_and_by_function() -> None:
    found = read_report(REPORT.read_text())
    of = {pattern: found.parts[part] for pattern, part in PARTS.items()}
    assert of == {
        "[[]kernel*": 22.58,
        "linux": 6.25,
        "nashbed-virtual.so": 3.63,
        "bottleneck.so": 0.4,
        "librte_*": 2.01,
        "libc.so*": 1.01,
        "*": 0.6,
    }
    assert list(found.parts.values()) == sorted(found.parts.values(), reverse=True)
    assert [(each.name, each.file, each.percent) for each in found.symbols[:3]] == [
        ("finish_task_switch.isra.0", "[kernel.kallsyms]", 22.58),
        ("memcpy_orig", "linux", 6.25),
        ("bottleneck_advance", "nashbed-virtual.so", 3.63),
    ]


def test_only_the_largest_functions_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profile, "MOST_SYMBOLS", 2)
    found = read_report(REPORT.read_text())
    assert len(found.symbols) == 2
    assert sum(found.parts.values()) == pytest.approx(36.48)


def test_without_perf_the_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profile, "PERF", "no-such-program")
    with pytest.raises(PrerequisiteError, match=r"linux-perf.*perf_event_paranoid"):
        require_perf()
