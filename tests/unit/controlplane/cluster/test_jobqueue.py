"""Jobs of a batch system: their scripts, and whole clusters on a stand-in for Slurm."""

import os
from pathlib import Path
from typing import Any

import pytest
from nashbed.controlplane.cluster.connect import connected
from nashbed.controlplane.cluster.jobqueue import JOBS, job_options
from nashbed.controlplane.cluster.starting import configured_dask
from nashbed.controlplane.contract.cluster import Cluster, ClusterTls, JobQueue, JobSystem
from nashbed.controlplane.contract.errors import HostError
from nashbed.controlplane.machine.process.clock import poll
from tests.support import fake_slurm
from tests.support.certificates import make_certificates

dask_jobqueue = pytest.importorskip("dask_jobqueue")

LOOPBACK = {"system": "slurm", "jobs": 1, "cores": 1, "memory": "1GB", "interface": "lo"}


def script(tls: ClusterTls | None = None, **keys: Any) -> list[str]:
    """The lines of the job's script that dask-jobqueue writes."""
    queue = JobQueue(**({"system": "slurm", "jobs": 2, "cores": 4, "memory": "8GB"} | keys))
    name = JOBS[queue.system].removesuffix("Job")
    make = getattr(dask_jobqueue, f"{name}Cluster").job_cls
    with configured_dask(tls):
        job = make("tls://10.0.0.1:8786", name="0", **job_options(queue, tls))
    return [line for line in job.job_script().splitlines() if line]


def test_a_slurm_job() -> None:
    lines = script(
        queue="compute",
        account="lab",
        walltime="02:00:00",
        directives=("--exclusive",),
        prologue=("module load gcc",),
        python="/opt/python",
        folder="$TMPDIR",
    )
    assert {
        "#SBATCH -J nashbed",
        "#SBATCH -p compute",
        "#SBATCH -A lab",
        "#SBATCH --cpus-per-task=4",
        "#SBATCH --mem=8G",
        "#SBATCH -t 02:00:00",
        "#SBATCH --exclusive",
    } <= set(lines)
    assert lines[-2] == "module load gcc"
    command = lines[-1]
    assert command.startswith("/opt/python -m distributed.cli.dask_worker tls://10.0.0.1:8786 ")
    for option in (
        "--nworkers 4",
        "--nthreads 1",
        "--nanny",
        "--death-timeout 60",
        "--local-directory $TMPDIR",
        "--preload nashbed.controlplane.cluster.worker",
    ):
        assert f" {option}" in command
    assert command.rindex("--memory-limit 0") > command.index("--memory-limit 1.86GiB")


def test_jobs_show_certificates(tmp_path: Path) -> None:
    tls = make_certificates(tmp_path / "lab")
    command = script(tls)[-1]
    assert " --protocol tls:// " in command
    for option, path in (("ca-file", tls.ca), ("cert", tls.certificate), ("key", tls.key)):
        assert f"--tls-{option} {path}" in command


@pytest.mark.parametrize(
    ("system", "keys", "lines"),
    [
        ("pbs", {"queue": "q", "account": "a", "walltime": "01:00:00"}, {"#PBS -q q", "#PBS -A a"}),
        ("lsf", {"queue": "q", "account": "a"}, {"#BSUB -q q", '#BSUB -P "a"', "#BSUB -n 4"}),
        (
            "htcondor",
            {"disk": "20GB", "directives": ("getenv = true",)},
            {"getenv = true", "RequestCpus = MY.DaskWorkerCores"},
        ),
    ],
)
def test_other_systems(system: JobSystem, keys: dict[str, Any], lines: set[str]) -> None:
    assert lines <= set(script(system=system, **keys))


def enter(cluster: Cluster) -> None:
    with connected(cluster):
        pass


def cluster(**keys: Any) -> Cluster:
    queue = LOOPBACK | keys
    return Cluster.model_validate({"name": "c", "jobqueue": queue, "private_network": True})


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    fake_slurm.install(tmp_path)
    return tmp_path


def has_ended(group: int) -> bool:
    """Whether no process of a group runs; one that nobody has waited for yet is no more."""
    return not any(_runs_in(group, status) for status in Path("/proc").glob("[0-9]*/stat"))


def _runs_in(group: int, status: Path) -> bool:
    try:
        state, _, process_group = status.read_text().rpartition(")")[2].split()[:3]
    except OSError:
        return False
    return int(process_group) == group and state != "Z"


def wait_for_end(group: int) -> None:
    poll(lambda: has_ended(group) or None, 60, lambda: AssertionError(f"{group} runs on"))


@pytest.mark.slow
def test_jobs_are_submitted_work_and_are_cancelled(slurm: Path) -> None:
    with pytest.raises(KeyboardInterrupt), connected(cluster(jobs=2, cores=2)) as client:
        client.wait_for_workers(4, timeout=120)
        names = sorted(str(w["name"]) for w in client.scheduler_info()["workers"].values())
        assert names == ["0-0", "0-1", "1-0", "1-1"]
        assert client.submit(pow, 2, 7).result() == 128
        raise KeyboardInterrupt
    submitted = fake_slurm.jobs(slurm, "submitted")
    assert len(submitted) == 2
    assert fake_slurm.jobs(slurm, "cancelled") == submitted
    for group in submitted:
        wait_for_end(group)


def test_what_slurm_refuses_is_one_line(slurm: Path) -> None:
    fake_slurm.install(slurm, refuse=True)
    with pytest.raises(HostError) as caught:
        enter(cluster())
    assert caught.value.message == (
        "slurm did not take a job: sbatch: error: invalid partition specified: nonesuch"
    )


def test_without_slurm_the_place_to_run_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(HostError, match="sbatch: no such program here; run nashbed where jobs"):
        enter(cluster())


def test_an_interface_that_does_not_exist(slurm: Path) -> None:
    with pytest.raises(HostError, match="this machine has no nonesuch0 with an address"):
        enter(cluster(interface="nonesuch0"))
