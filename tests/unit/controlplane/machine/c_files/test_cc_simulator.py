"""The simulator: its answers, and files that crash, loop or do not compile."""

from dataclasses import replace
from pathlib import Path

import pytest
from nashbed.controlplane.contract.errors import ConfigError, HostError
from nashbed.controlplane.machine.c_files import cc_simulator
from nashbed.controlplane.machine.c_files.cc_simulator import (
    SimulatedBottleneck,
    compile_for_simulator,
    simulate,
)
from nashbed.controlplane.machine.c_files.kinds import CCA
from nashbed.controlplane.machine.paths import CCA_SIMULATOR, CCA_TEMPLATE

pytestmark = pytest.mark.skipif(
    not CCA_SIMULATOR.is_file(), reason="needs nashbed-cc-sim: run `make build`"
)
PATH = SimulatedBottleneck(10**7, 20_000_000, 50_000, 5 * 10**9, 10**9)
SEND = "\tcc_set_cwnd(sk, next_cwnd(mine, tp, rs));\n"


def shared(folder: Path, body: str = SEND) -> str:
    """The template with another line in place of the one that sets its window, compiled."""
    text = CCA_TEMPLATE.read_text()
    assert text.count(SEND) == 1
    (folder / "mycc.c").write_text(text.replace(SEND, body + SEND))
    compile_for_simulator(CCA.read(folder / "mycc.c"), folder / "mycc.so")
    return str(folder / "mycc.so")


def test_two_flows_share_a_link(tmp_path: Path) -> None:
    done = simulate(PATH, [shared(tmp_path), "cubic:2"])
    assert [flow.control for flow in done.flows] == ["mycc", "cubic", "cubic"]
    total = sum(flow.throughput_bps for flow in done.flows)
    assert total == pytest.approx(done.path.utilisation * PATH.rate_bps, rel=0.02)
    assert 0.9 < done.path.utilisation < 1.01


def test_the_same_seed_gives_the_same(tmp_path: Path) -> None:
    flows, lossy = [shared(tmp_path)], replace(PATH, loss_ppm=10_000)
    assert simulate(lossy, flows) == simulate(lossy, flows)
    assert simulate(lossy, flows) != simulate(replace(lossy, seed=2), flows)


def test_a_crash_is_the_files_fault(tmp_path: Path) -> None:
    crash = "\tcc_set_rate(sk, cc_div(USEC_PER_SEC, (u64)rs->losses));\n"
    with pytest.raises(ConfigError, match=r"^mycc: crashes .* SIGFPE \(a division by zero\?\)"):
        simulate(PATH, [shared(tmp_path, crash)])


@pytest.mark.slow
def test_a_loop_without_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cc_simulator, "TIMEOUT_S", 0.5)
    loop = "\tfor (volatile u32 i = 0; i < 2; i = 0)\n\t\t;\n"
    with pytest.raises(ConfigError, match=r"^mycc: the simulation does not end within 0\.5 s"):
        simulate(PATH, [shared(tmp_path, loop)])


def test_what_does_not_compile(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"mycc\.c: does not compile\n(.*\n)*.*'?nope"):
        shared(tmp_path, "\tnope;\n")


def test_what_is_no_cca(tmp_path: Path) -> None:
    (tmp_path / "no.so").write_text("")
    with pytest.raises(HostError, match=r"^nashbed-cc-sim: .*no\.so"):
        simulate(PATH, [str(tmp_path / "no.so")])
