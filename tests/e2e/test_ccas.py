"""CCAs in one C file in real runs: shipped and of one's own, and kills at random moments."""

import json
import os
import random
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from nashbed.controlplane.contract.errors import NashbedError
from nashbed.controlplane.machine.c_files.kernel_support import (
    held_ccas,
    kernels_own_ccas,
    require_ccas,
)
from nashbed.controlplane.machine.c_files.kinds import CCA
from nashbed.controlplane.machine.paths import CCA_LOADER, CCA_TEMPLATE
from tests.e2e.conftest import WIDE_GATES, Nashbed, only_valid
from tests.support.programs import needs_program

pytestmark = [pytest.mark.root, pytest.mark.dataplane]
needs_clang = needs_program("clang")

EBPF = Path(__file__).resolve().parents[1] / "support" / "reno.bpf.c"
KILLS = 10
GONE_S = 2.0
"""The kernel frees a killed process's BPF links within this time."""


@pytest.fixture(autouse=True)
def _kernel_that_can() -> None:
    """Skip where this machine cannot run CCAs as eBPF."""
    if not CCA_LOADER.is_file():
        pytest.skip("needs nashbed-cc: run `make build`")
    try:
        require_ccas([CCA.read(CCA_TEMPLATE)])
    except NashbedError as error:
        pytest.skip(error.message)


def with_cca(nashbed: Nashbed, cca: str, more: str = WIDE_GATES, **changes: str) -> Path:
    """A scenario of one flow of CUBIC and one of a CCA."""
    path = nashbed.scenario(more, **changes)
    path.write_text(path.read_text().replace("[cubic, bbr]", f"[cubic, {cca}]"))
    return path


def own_cca(nashbed: Nashbed, name: str) -> str:
    """A CCA of one's own beside the scenario, as the scenario names it."""
    shutil.copyfile(CCA_TEMPLATE, nashbed.folder / f"{name}.c")
    return f"./{name}.c"


def own_ebpf(nashbed: Nashbed, name: str) -> str:
    """Another one, of struct_ops, that includes nothing of ours."""
    (nashbed.folder / f"{name}.bpf.c").write_text(EBPF.read_text().replace("NAME", name))
    return f"./{name}.bpf.c"


def manifest_of(run_dir: Path) -> dict[str, dict[str, str]]:
    controls: dict[str, dict[str, str]] = json.loads((run_dir / "manifest.json").read_text())[
        "controls"
    ]
    return controls


def applied(run_dir: Path) -> set[str]:
    """What TCP_CONGESTION read back, of both flows."""
    (trial,) = run_dir.glob("trials/b*")
    return set(pq.read_table(trial / "flows.parquet").to_pydict()["cc_applied"])


def test_a_shipped_cca_against_cubic(nashbed: Nashbed) -> None:
    if "bbr3" in held_ccas():
        pytest.skip("another program on this machine has registered bbr3")
    before = kernels_own_ccas()
    run_dir = nashbed.run(with_cca(nashbed, "bbr3"))
    only_valid(run_dir)
    assert applied(run_dir) == {"cubic", "bbr3"}
    facts = manifest_of(run_dir)["bbr3"]
    assert facts["source"] == "hosts/cc/bbr3.c"
    assert len(facts["object_digest"]) == 64
    assert kernels_own_ccas() == before
    assert "bbr3" not in held_ccas()


def test_what_a_shipped_cca_tells_is_on_the_record(nashbed: Nashbed) -> None:
    if "bbr3" in held_ccas():
        pytest.skip("another program on this machine has registered bbr3")
    run_dir = nashbed.run(with_cca(nashbed, "bbr3"))
    (trial,) = run_dir.glob("trials/b*")
    flows = pq.read_table(trial / "flows.parquet").to_pydict()
    samples = pq.read_table(trial / "flow_samples.parquet").to_pydict()
    bbr3 = flows["cc_applied"].index("bbr3")
    gains = [
        gain
        for flow, gain in zip(samples["flow"], samples["bbr_pacing_gain"], strict=True)
        if flow == bbr3 and gain
    ]
    # STARTUP's gain is 4 ln 2, and cruising is at 1.
    assert max(gains) == pytest.approx(2.773, abs=0.01)
    assert any(gain == pytest.approx(1.0, abs=0.01) for gain in gains)


@needs_clang
@pytest.mark.parametrize("own", [own_cca, own_ebpf])
def test_ones_own_cca(nashbed: Nashbed, own: Callable[[Nashbed, str], str]) -> None:
    before = kernels_own_ccas()
    cca = own(nashbed, "liveown")
    run_dir = nashbed.run(with_cca(nashbed, cca))
    only_valid(run_dir)
    assert applied(run_dir) == {"cubic", "liveown"}
    kept = f"controls/liveown/{cca.removeprefix('./')}"
    assert manifest_of(run_dir)["liveown"]["source"] == kept
    assert (run_dir / kept).is_file()
    assert kernels_own_ccas() == before


@needs_clang
@pytest.mark.parametrize(
    ("own", "right", "wrong", "says"),
    [
        (own_cca, "if (!mine)", "if (0)", "R0 invalid mem access 'map_value_or_null'"),
        (own_ebpf, "->snd_cwnd / 2", "->snd_cwnd / *(volatile int *)8", "invalid mem access"),
    ],
)
def test_one_that_the_verifier_refuses_ends_the_run_in_one_line(
    nashbed: Nashbed, own: Callable[[Nashbed, str], str], right: str, wrong: str, says: str
) -> None:
    cca = own(nashbed, "refused")
    path = nashbed.folder / cca
    path.write_text(path.read_text().replace(right, wrong))
    scenario = with_cca(nashbed, cca)
    said = nashbed.call("run", str(scenario), "--testbed", str(nashbed.testbed()), "--out",
                        str(nashbed.results), code=4)  # fmt: skip
    assert "refused: the verifier refuses it: " in said
    assert says in said
    assert f"{path.name}:" in said


@needs_clang
def test_a_loader_that_dies_ends_the_run_and_it_can_be_resumed(nashbed: Nashbed) -> None:
    before = kernels_own_ccas()
    scenario = with_cca(nashbed, own_cca(nashbed, "orphan"), duration="4s")
    process = nashbed.start("run", str(scenario), "--testbed", str(nashbed.testbed()), "--out",
                            str(nashbed.results), "--no-report")  # fmt: skip
    wait_until(lambda: any("-a0: run\n" in log for log in logs(nashbed)), 60)
    os.kill(held_ccas()["orphan"], signal.SIGKILL)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 4
    assert "nashbed-cc ended in mid-trial, and with it went orphan" in said
    assert kernels_own_ccas() == before
    (run_dir,) = nashbed.run_dirs()
    nashbed.call("resume", str(run_dir), "--no-report")
    only_valid(run_dir)


@needs_clang
@pytest.mark.slow
@pytest.mark.long
def test_kills_leave_the_kernel_as_it_was(nashbed: Nashbed) -> None:
    # The moments are random but told, so that a failure can be repeated.
    seed = random.randrange(10**6)
    print("seed", seed)
    moments = random.Random(seed)
    before = kernels_own_ccas()
    cca = own_cca(nashbed, "killed")
    scenario = with_cca(nashbed, cca, WIDE_GATES + "trials: 2\n", duration="60s")
    bed = str(nashbed.testbed())
    args = ["run", str(scenario), "--testbed", bed, "--out", str(nashbed.results)]
    for kill in range(KILLS):
        process = nashbed.start(*args)
        if kill % 2:  # else at any moment of its start
            wait_until(lambda p=process: p.poll() is not None or "killed" in held_ccas(), 60)
        time.sleep(moments.uniform(0.0, 3.0))
        assert process.poll() is None, process.communicate()
        process.kill()
        process.communicate()
        wait_until(lambda: "killed" not in held_ccas() and kernels_own_ccas() == before)
        if begun := sorted(nashbed.results.glob("*/manifest.json")):
            args = ["resume", str(begun[0].parent)]
    nashbed.call("doctor", "--clean")


def logs(nashbed: Nashbed) -> list[str]:
    return [path.read_text() for path in nashbed.results.glob("*/run.log")]


def wait_until(condition: Callable[[], bool], timeout_s: float = GONE_S) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, (kernels_own_ccas(), held_ccas())
        time.sleep(0.02)
