"""The doctor's checks of controls of eBPF: each says what is skipped without it."""

from __future__ import annotations

import pytest
from nashbed.controlplane.cli import doctor
from nashbed.controlplane.cli.doctor import ebpf_checks
from nashbed.controlplane.contract.errors import HostError
from nashbed.controlplane.machine.controls import checks as control_checks
from nashbed.controlplane.machine.controls.objects import ControlObject


def lacks() -> str:
    raise HostError("the BPF JIT is off; turn it on")


def by_name() -> dict[str, tuple[bool, str]]:
    prefix = "congestion controls of eBPF: "
    return {c.name.removeprefix(prefix): (c.ok, c.detail + c.remedy) for c in ebpf_checks()}


@pytest.fixture(autouse=True)
def loaded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A kernel that has everything and takes whatever it is given."""
    names: list[str] = []

    def take(made: ControlObject) -> None:
        names.append(made.name)

    for name in ("release", "btf", "jit", "capabilities", "optmem"):
        monkeypatch.setattr(control_checks, name, lambda: "fine")
    monkeypatch.setattr(doctor, "try_loading", take)
    return names


def test_a_machine_that_can_loads_one(loaded: list[str]) -> None:
    checks = by_name()
    assert list(checks) == [
        "kernel", "BTF", "BPF JIT", "capabilities", "optmem_max", "clang", "simulator",
        "trial load",
    ]  # fmt: skip
    assert all(checks[name][0] for name in ("kernel", "optmem_max", "trial load"))
    assert loaded == ["mine"]
    assert not any(check.needed for check in ebpf_checks())


def test_what_is_missing_says_what_is_skipped(
    monkeypatch: pytest.MonkeyPatch, loaded: list[str]
) -> None:
    monkeypatch.setattr(control_checks, "jit", lacks)
    monkeypatch.setattr(doctor, "find_clang", lambda: None)
    checks = by_name()
    said = "strategies such as bbr3 are refused in real time: the BPF JIT is off; turn it on"
    assert checks["BPF JIT"] == (False, f"not usable{said}")
    assert checks["trial load"] == (False, f"not usable{said}")
    assert loaded == []
    assert not checks["clang"][0]
    assert "controls of your own are refused in real time" in checks["clang"][1]


def test_a_kernel_that_refuses_is_quoted(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(made: ControlObject) -> None:
        raise HostError(f"{made.name}: the verifier refuses it: too large")

    monkeypatch.setattr(doctor, "try_loading", refuse)
    ok, said = by_name()["trial load"]
    assert not ok
    assert "mine: the verifier refuses it: too large" in said
