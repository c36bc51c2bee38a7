"""What client and workers say to each other: bundles, a user's own CCAs, and errors."""

from pathlib import Path

import pytest
from nashbed.controlplane.cluster.parcel import ParcelError
from nashbed.controlplane.cluster.request import (
    CcaSource,
    Failure,
    RunBundle,
    bundle_of,
    error_of,
    failure_of,
    run_name,
    unpacked_ccas,
)
from nashbed.controlplane.contract.c_files import c_sources
from nashbed.controlplane.contract.errors import (
    ConfigError,
    HostError,
    InternalError,
    NashbedError,
    TargetError,
    is_repeatable,
)
from nashbed.controlplane.machine.c_files.ebpf_loader import CcasLostError
from nashbed.controlplane.machine.c_files.kinds import CCA
from nashbed.controlplane.machine.kernels.cache import NoKernelError
from nashbed.controlplane.machine.paths import CCA_FOLDER
from nashbed.controlplane.machine.process.command import CommandTimeoutError
from nashbed.controlplane.store.errors import DiskFullError, RunError
from tests.unit.controlplane.cluster.conftest import MINE, MakeVirtualRun


def travelled(bundle: RunBundle) -> RunBundle:
    return RunBundle.model_validate_json(bundle.model_dump_json())


def test_what_is_told_survives_the_way(make_virtual_run: MakeVirtualRun) -> None:
    run = make_virtual_run()
    bundle = bundle_of(run, "/shared")
    assert travelled(bundle) == bundle
    assert (bundle.scenario, bundle.testbed) == (run.scenario.text, run.testbed.text)
    assert bundle.directory == run.directory.path.name
    assert bundle.run == run_name(run.directory.path)
    assert bundle.shared_folder == Path(f"/shared/{bundle.directory}-{bundle.run}")
    assert bundle_of(run).shared_folder is None


def test_runs_do_not_share_names_or_resources(make_virtual_run: MakeVirtualRun) -> None:
    one, other = bundle_of(make_virtual_run()), bundle_of(make_virtual_run(results="other"))
    assert one.run != other.run
    assert one.resource() != other.resource()
    changed = one.model_copy(update={"scenario": other.scenario + "\n"})
    assert changed.resource() != one.resource(), "a worker that was fit for one may not be for both"
    assert one.resource("lab") != one.resource()


def test_a_cca_with_includes_arrives_with_its_digest(
    make_virtual_run: MakeVirtualRun, own: Path, tmp_path: Path
) -> None:
    run = make_virtual_run("bbr]", "./mycc.c]")
    (sent,) = travelled(bundle_of(run)).controls
    assert set(sent.files) == {"mycc.c", "parts/more.h"}, "shipped headers are there already"
    assert sent.digest == CCA.read(own).digest
    (arrived,) = unpacked_ccas([sent], tmp_path / "worker")
    assert (arrived.name, arrived.digest) == ("mycc", sent.digest)
    files = c_sources(arrived.source, CCA_FOLDER)
    assert files["parts/more.h"] == tmp_path / "worker" / "mycc" / "parts" / "more.h"
    assert files["cc.h"] == CCA_FOLDER / "cc.h"


def test_any_bytes_of_a_cca_arrive(
    make_virtual_run: MakeVirtualRun, own: Path, tmp_path: Path
) -> None:
    """Line ends of Windows, and a name in Latin-1."""
    content = MINE.replace("\n", "\r\n").encode() + b"/* by J\xf6rg */\r\n"
    own.write_bytes(content)
    bundle = travelled(bundle_of(make_virtual_run("bbr]", "./mycc.c]")))
    (arrived,) = unpacked_ccas(bundle.controls, tmp_path / "worker")
    assert arrived.source.read_bytes() == content
    assert arrived.digest == bundle.controls[0].digest


def test_a_shipped_cca_does_not_travel(make_virtual_run: MakeVirtualRun, tmp_path: Path) -> None:
    (sent,) = bundle_of(make_virtual_run("bbr]", "bbr3]")).controls
    assert sent.files == {}
    (arrived,) = unpacked_ccas([sent], tmp_path)
    assert arrived.source == CCA_FOLDER / "bbr3.c"
    with pytest.raises(ConfigError, match=r"^bbr3: the client has another version of it \(0{12}"):
        unpacked_ccas([sent.model_copy(update={"digest": "0" * 64})], tmp_path)


@pytest.mark.parametrize("name", ["/tmp/mycc.c", "../mycc.c", "parts/../../mycc.c"])
def test_no_file_is_written_outside(tmp_path: Path, name: str) -> None:
    hostile = CcaSource(name="mycc", source="mycc.c", digest="0", files={name: "int x;"})
    with pytest.raises(ConfigError, match="stands outside its folder"):
        unpacked_ccas([hostile], tmp_path / "a" / "b")
    assert [path for path in tmp_path.rglob("*.c") if path.is_file()] == []


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (HostError("x"), HostError),
        (CommandTimeoutError("x"), HostError),
        (ParcelError("x"), HostError),
        (DiskFullError("x"), DiskFullError),
        (CcasLostError("x"), HostError),
        (NoKernelError("x"), HostError),
        (TargetError("x"), TargetError),
        (TargetError("x", repeatable=True), TargetError),
        (RunError("x"), ConfigError),
        (InternalError("x"), InternalError),
        (ZeroDivisionError("x"), InternalError),
        (MemoryError("x"), InternalError),
    ],
)
def test_an_error_arrives_as_the_nearest_kind(error: Exception, kind: type[NashbedError]) -> None:
    sent = failure_of(error, "worker 1 on there: x").model_dump_json()
    arrived = error_of(Failure.model_validate_json(sent))
    assert (type(arrived), arrived.message) == (kind, "worker 1 on there: x")
    assert is_repeatable(arrived) == is_repeatable(error)
    if isinstance(error, NashbedError):
        assert arrived.exit_code == error.exit_code


def test_a_kind_that_nobody_knows_is_a_bug() -> None:
    assert type(error_of(Failure(kind="Exception", message="x"))) is InternalError
