"""The CCAs of a run: kept with it, on the record, the same on resume, and told to the flows."""

import hashlib
import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
from nashbed.controlplane.config import parse_scenario, parse_testbed
from nashbed.controlplane.contract.c_files import CFile
from nashbed.controlplane.contract.errors import ConfigError, HostError
from nashbed.controlplane.contract.manifest import CcaFacts, Manifest
from nashbed.controlplane.machine.c_files import finding, kept, kernel_support
from nashbed.controlplane.machine.c_files.ebpf_loader import CcasLostError
from nashbed.controlplane.machine.c_files.finding import find_ccas, require_strategies
from nashbed.controlplane.machine.c_files.kept import with_objects
from nashbed.controlplane.machine.c_files.objects import CObject
from nashbed.controlplane.machine.host.session import SessionRequest
from nashbed.controlplane.machine.kernels.cache import GuestKernel
from nashbed.controlplane.plan.planner import make_plan
from nashbed.controlplane.run.active_run import ActiveRun, new_run, resumed_run
from nashbed.controlplane.run.runner import execute
from nashbed.controlplane.run.this_machine import ThisMachine
from nashbed.controlplane.study.adaptive import make_chooser
from nashbed.controlplane.targets.dpdk import dpdk_capabilities
from tests.fakes.session import FakeSession
from tests.unit.controlplane.conftest import SCENARIO, TESTBED

KERNELS = ("reno", "cubic", "bbr")


@pytest.fixture(autouse=True)
def _kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel with three CCAs of its own, and objects out of nothing."""

    def made(cca: CFile) -> CObject:
        return CObject(cca.name, Path("x.bpf.o"), "0" * 64, "a test")

    monkeypatch.setattr(kernel_support, "kernels_own_ccas", lambda: KERNELS)
    monkeypatch.setattr(kept, "ebpf_object", made)


@pytest.fixture
def run(tmp_path: Path) -> ActiveRun:
    """A run with a CCA of one's own that has a header of its own."""
    own = tmp_path / "own"
    (own / "parts").mkdir(parents=True)
    (own / "mycc.c").write_text('#include "cc.h"\n#include "parts/more.h"\n')
    (own / "parts" / "more.h").write_text("int more;\n")
    text = SCENARIO.replace("[cubic, bbr]", "[cubic, ./mycc.c]").replace("[0, 1, 3]", "[1]")
    scenario, bed = parse_scenario(text, str(own / "s.yaml")), parse_testbed(TESTBED, "t.yaml")
    plan = make_plan(scenario.model, bed.model, dpdk_capabilities(bed.model.dataplane))
    made = new_run(tmp_path / "results", scenario, bed, plan, make_chooser)
    shutil.rmtree(own)  # what a run needs of it, it has
    return made


class SessionWithCcas(FakeSession):
    """One that has registered what it was asked for."""

    def __init__(self, request: SessionRequest) -> None:
        super().__init__()
        self._ccas = request.ccas

    @property
    def cca_maps(self) -> Mapping[str, int]:
        return {cca.name: 40 + i for i, cca in enumerate(self._ccas)}


def carry_out(run: ActiveRun) -> None:
    execute(run, lambda _: None, ThisMachine(SessionWithCcas, lambda _: Path("x")))


def test_a_run_keeps_a_copy_and_a_record(run: ActiveRun) -> None:
    folder = run.directory.path
    assert sorted(p.name for p in (folder / "controls").rglob("*.[ch]")) == ["more.h", "mycc.c"]
    facts = run.directory.read("manifest.json", Manifest).controls["mycc"]
    assert facts.source == "controls/mycc/mycc.c"
    assert not facts.shipped
    assert facts.digest == run.ccas[0].digest


@pytest.mark.slow
def test_the_flows_are_told_and_the_object_is_on_the_record(run: ActiveRun) -> None:
    carry_out(run)
    (trial,) = run.directory.trials.iterdir()
    sender = json.loads((trial / "sender.json").read_text())
    assert sender["control_states"] == [{"cc": "mycc", "map_id": 40}]
    assert "control_states" not in json.loads((trial / "sink.json").read_text())
    facts = run.directory.read("manifest.json", Manifest).controls["mycc"]
    assert (facts.object_digest, facts.object_from) == ("0" * 64, "a test")
    gates = json.loads((trial / "trial.json").read_text())["gates"]
    assert [g["passed"] for g in gates if g["name"] == "congestion_control"] == [True]


def test_a_run_goes_on_with_its_own_copy(run: ActiveRun) -> None:
    again = resumed_run(run.directory.path, make_chooser)
    assert [cca.digest for cca in again.ccas] == [run.ccas[0].digest]
    assert again.ccas[0].source == run.directory.path / "controls" / "mycc" / "mycc.c"


@pytest.mark.parametrize("changed", ["mycc.c", "parts/more.h"])
def test_a_changed_copy_is_refused(run: ActiveRun, changed: str) -> None:
    path = run.directory.path / "controls" / "mycc" / changed
    path.write_text(path.read_text() + "int changed;\n")
    with pytest.raises(ConfigError, match=r"mycc\.c: mycc or a header of it was changed after the"):
        resumed_run(run.directory.path, make_chooser)


@pytest.mark.slow
def test_another_object_is_refused(run: ActiveRun, monkeypatch: pytest.MonkeyPatch) -> None:
    carry_out(run)
    (trial,) = run.directory.trials.iterdir()
    shutil.rmtree(trial)
    again = resumed_run(run.directory.path, make_chooser)
    other = CObject("mycc", Path("x.bpf.o"), "1" * 64, "another compiler")
    monkeypatch.setattr(kept, "ebpf_object", lambda _: other)
    with pytest.raises(HostError, match=r"mycc: the run began with another eBPF object \(a test\)"):
        carry_out(again)


class SessionThatLosesThem(SessionWithCcas):
    """One whose nashbed-cc is dead."""

    def require_targets(self) -> None:
        raise CcasLostError("nashbed-cc ended in mid-trial")


@pytest.mark.slow
def test_lost_ccas_end_the_run_at_once(run: ActiveRun) -> None:
    with pytest.raises(CcasLostError):
        execute(run, lambda _: None, ThisMachine(SessionThatLosesThem, lambda _: Path("x")))
    assert "b2bdp-k01-r0-a1" not in run.directory.log.read_text()
    assert run.directory.read("manifest.json", Manifest).status == "failed"


def test_virtual_time_wants_a_kernel_that_takes_modules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mycc.c").write_text('#include "cc.h"\n')
    text = SCENARIO.replace("[cubic, bbr]", "[cubic, ./mycc.c]")
    scenario = parse_scenario(text, str(tmp_path / "s.yaml"))
    bed = parse_testbed("name: virtual\ntarget: virtual\n", "t.yaml")
    ccas = find_ccas(scenario, bed)
    assert [cca.name for cca in ccas] == ["mycc"]
    configuration = tmp_path / "kernel.config"
    monkeypatch.setattr(finding, "guest_configuration", lambda: configuration)
    configuration.write_text("CONFIG_TCP_CONG_CUBIC=y\n")
    with pytest.raises(HostError, match="mycc: the guests' kernel takes no modules"):
        require_strategies(scenario, bed.model, ccas)
    configuration.write_text("CONFIG_TCP_CONG_CUBIC=y\nCONFIG_MODULES=y\n")
    require_strategies(scenario, bed.model, ccas)


def test_modules_of_virtual_time_are_on_the_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each kernel has its own; a module other than the one the run began with is refused."""
    modules = {release: tmp_path / f"{release}.ko" for release in ("6.1.192", "6.12.1")}
    for release, path in modules.items():
        path.write_text(release)
    kernels = {
        name: GuestKernel(release, "package", "d", tmp_path, "b")
        for name, release in (("6.1", "6.1.192"), ("6.12", "6.12.1"))
    }
    monkeypatch.setattr(kept, "find_kernel", lambda name: kernels[name or "6.1"])
    monkeypatch.setattr(kept, "module_of", lambda kernel, _: modules[kernel.release])
    bed = parse_testbed("name: virtual\ntarget: virtual\n", "v.yaml").model
    cca = CFile("mycc", tmp_path / "mycc.c", "1" * 64)
    facts = CcaFacts(source="mycc.c", shipped=False, digest="1" * 64)
    manifest = Manifest.model_construct(
        controls={"mycc": facts}, guest_kernels={"": None, "6.12": None}
    )
    made = with_objects(manifest, bed, [cca])
    assert made.controls["mycc"].modules == {
        release: hashlib.sha256(release.encode()).hexdigest() for release in modules
    }
    assert made.controls["mycc"].object_digest == ""
    modules["6.12.1"].write_text("changed")
    with pytest.raises(HostError, match=r"mycc: the run began with another module .* 6.12.1"):
        with_objects(made, bed, [cca])
