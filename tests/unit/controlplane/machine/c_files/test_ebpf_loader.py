"""nashbed-cc, played by a stand-in, and the verifier's answers as a person reads them."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from nashbed.controlplane.contract.c_files import CFile
from nashbed.controlplane.contract.errors import ConfigError, HostError
from nashbed.controlplane.contract.messages.ccas import CcaRefused
from nashbed.controlplane.machine.c_files import ebpf_loader as loader
from nashbed.controlplane.machine.c_files.ebpf_loader import (
    CcasLostError,
    RegisteredCcas,
    read_refusal,
    refusal_text,
    try_loading,
)
from nashbed.controlplane.machine.c_files.objects import CObject
from nashbed.controlplane.machine.host.runs import StateFile, own_state

FAKE = Path(__file__).resolve().parents[4] / "fakes" / "nashbed_cc.py"


def made(cca: CFile) -> CObject:
    return CObject(cca.name, Path(f"/x/{cca.name}.bpf.o"), "", "a test")


@pytest.fixture(autouse=True)
def _fake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loader, "CCA_LOADER", FAKE)
    monkeypatch.setattr(loader, "ebpf_object", made)


def ccas(*names: str) -> list[CFile]:
    return [CFile(name, Path(f"{name}.c"), "") for name in names]


@pytest.fixture
def held(tmp_path: Path) -> Iterator[tuple[RegisteredCcas, StateFile]]:
    state = StateFile(own_state("ab12", tmp_path), tmp_path)
    registered = RegisteredCcas(ccas("bbr3", "mycc"), state)
    yield registered, state
    registered.close()


def test_it_holds_them_until_it_is_closed(held: tuple[RegisteredCcas, StateFile]) -> None:
    registered, state = held
    assert registered.maps == {"bbr3": 40, "mycc": 41}
    assert [child.pid for child in state.state.processes] == [registered.pid]
    registered.require_held()
    registered.close()
    assert state.state.processes == ()
    registered.close()


def test_its_death_is_said(held: tuple[RegisteredCcas, StateFile]) -> None:
    registered, _ = held
    os.kill(registered.pid, signal.SIGKILL)
    os.waitid(os.P_PID, registered.pid, os.WEXITED | os.WNOWAIT)
    with pytest.raises(CcasLostError, match="nashbed-cc ended in mid-trial, and with it went bbr3"):
        registered.require_held()


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("verifier", "bbr3: the verifier refuses it: R6 invalid mem access 'scalar', at mycc.c:22"),
        ("name_taken", "bbr3: not taken: bbr3; rename the file"),
        ("not_permitted", "bbr3: not taken: bbr3"),
    ],
)
def test_a_refusal_is_one_line(monkeypatch: pytest.MonkeyPatch, fault: str, said: str) -> None:
    monkeypatch.setenv("FAKE_CC", fault)
    with pytest.raises(HostError) as caught:
        RegisteredCcas(ccas("bbr3"))
    assert caught.value.message.startswith(said)
    kind = HostError if fault == "not_permitted" else ConfigError
    with pytest.raises(kind) as tried:
        try_loading(made(ccas("bbr3")[0]))
    assert tried.value.message.startswith(said)


def test_one_that_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_CC", "silent")
    monkeypatch.setattr(loader, "READY_TIMEOUT_S", 0.3)
    with pytest.raises(HostError, match="nashbed-cc did not report 'ready' within"):
        RegisteredCcas(ccas("bbr3"))


def test_trying_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    try_loading(made(ccas("bbr3")[0]))
    monkeypatch.setenv("FAKE_CC", "dies")
    with pytest.raises(HostError, match="nashbed-cc: nashbed-cc: dying as asked"):
        try_loading(made(ccas("bbr3")[0]))


def test_it_is_not_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loader, "CCA_LOADER", Path("/nowhere/nashbed-cc"))
    with pytest.raises(HostError, match="/nowhere/nashbed-cc: not built; run `make build`"):
        RegisteredCcas(ccas("bbr3"))


NO_TEST = [
    "Global function mine_main() doesn't return scalar. Only those are supported.",
    "0: R1=ctx() R10=fp0",
    "; CC_MAIN(mine_main, sk, rs) @ nullptr.c:35",
    "0: (79) r7 = *(u64 *)(r1 +24)",
    "func 'cong_control' arg3 has btf_id 14589 type STRUCT 'rate_sample'",
    "1: R1=ctx() R7=trusted_ptr_rate_sample()",
    "7: (85) call bpf_sk_storage_get#107   ; R0=map_value_or_null(id=1,map=cc_states,ks=4,vs=32)",
    "; if (rs->losses > 0 && !cc_before(tp->delivered, mine->round_end)) { @ nullptr.c:24",
    "10: (c6) if w2 s< 0x1 goto pc+20      ; R2=scalar(smin=umin=smin32=umin32=1)",
    "11: (61) r2 = *(u32 *)(r0 +28)",
    "R0 invalid mem access 'map_value_or_null'",
    "processed 11 insns (limit 1000000) max_states_per_insn 0 total_states 0 peak_states 0",
]
FORBIDDEN = [
    ";  @ cc.h:39",
    "78: (63) *(u32 *)(r6 +1444) = r3      ; R3=scalar(smin=0,smax=umax=0xffffffff)",
    "; tp->delivered = 1; @ writes.c:45",
    "79: (63) *(u32 *)(r6 +1692) = r2",
    "no write support to tcp_sock at off 1692",
    "processed 44 insns (limit 1000000) max_states_per_insn 0 total_states 3 peak_states 3",
]
TOO_LARGE = [
    "; for (int i = 0; i < 64; i++) @ long.c:9",
    "20: (bf) r2 = r1                      ; R1=map_value(map=cc_states) R2=map_value()",
    "from 31 to 20: R0=map_value(map=cc_states,ks=4,vs=280) R1=map_value()",
    "BPF program is too large. Processed 1000001 insn",
    "processed 1000001 insns (limit 1000000) max_states_per_insn 32 total_states 8",
]


def refused(log: list[str], reason: str = "verifier") -> CcaRefused:
    return CcaRefused.model_validate(
        {"object": "mycc.bpf.o", "reason": reason, "message": "not taken", "log": log}
    )


def test_reason_and_source_line() -> None:
    why = read_refusal(NO_TEST)
    assert why.reason == "R0 invalid mem access 'map_value_or_null'"
    assert why.place == "nullptr.c:24"
    assert why.text == "if (rs->losses > 0 && !cc_before(tp->delivered, mine->round_end)) {"
    assert why.instruction == "11: (61) r2 = *(u32 *)(r0 +28)"


@pytest.mark.parametrize(
    ("log", "said"),
    [
        (NO_TEST, "{ (the pointer".replace("{ ", "{` ") + " may be NULL: test it before"),
        (FORBIDDEN, "no write support to tcp_sock at off 1692, at writes.c:45: `tp->delivered = 1"),
        (FORBIDDEN, "of a socket a congestion control writes nothing but by cc_set_*"),
        (TOO_LARGE, "BPF program is too large. Processed 1000001 insn, at long.c:9"),
        (TOO_LARGE, "fewer branches in loops"),
        (["processed 0 insns (limit 1000000)"], "it does not say why; is each of its functions in"),
        ([], "it does not say why"),
    ],
)
def test_one_line_with_a_remedy(log: list[str], said: str) -> None:
    text = refusal_text("mycc", refused(log))
    assert text.startswith("mycc: the verifier refuses it: ")
    assert said in text
    assert "\n" not in text


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("name_taken", "mycc: not taken; rename the file"),
        ("not_permitted", "mycc: not taken"),
        ("not_a_control", "mycc: not taken"),
        ("kernel", "mycc: not taken"),
    ],
)
def test_other_refusals_are_in_the_loaders_words(reason: str, said: str) -> None:
    assert refusal_text("mycc", refused([], reason)) == said
