"""configs/clusters: every file loads, and what it would start is what its system takes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from nashbed.controlplane.cli.app import command_line
from nashbed.controlplane.cluster.jobqueue import job_options
from nashbed.controlplane.cluster.where import CLUSTERS, is_manifest, parse_where, ssh_hosts
from nashbed.controlplane.config import parse_cluster
from nashbed.controlplane.contract.cluster import ClusterTls
from ruamel.yaml import YAML

FILES = sorted(path for path in CLUSTERS.glob("*.yaml") if not is_manifest(path))
MANIFEST = CLUSTERS / "kubernetes-daskcluster.yaml"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_cluster_loads_by_its_bare_name(path: Path) -> None:
    assert parse_where(path.stem).name == path.stem
    assert path.read_text().startswith("# yaml-language-server: $schema=../schema/cluster.")


def test_there_is_one_of_each_kind() -> None:
    kinds = {parse_where(path.stem).kind for path in FILES}
    assert kinds == {"local", "ssh", "jobqueue", "scheduler"}


def test_the_hosts_file_names_hosts_and_their_cores() -> None:
    ssh = parse_where("ssh").ssh
    assert ssh is not None
    assert [host.cores for host in ssh_hosts(ssh)] == [8, 8, 16, 16]


def test_the_job_that_slurm_would_get() -> None:
    slurm = pytest.importorskip("dask_jobqueue.slurm")
    queue = parse_where("slurm").jobqueue
    assert queue is not None
    job = slurm.SLURMJob("tls://login:8786", name="0", **job_options(queue, None))
    lines = job.job_script().splitlines()
    assert lines[0] == "#!/usr/bin/env bash"
    directives = [line for line in lines if line.startswith("#")]
    assert directives[1:] == [
        "#SBATCH -J nashbed",
        "#SBATCH -p compute",
        "#SBATCH -n 1",
        "#SBATCH --cpus-per-task=32",
        "#SBATCH --mem=60G",
        "#SBATCH -t 02:00:00",
        "#SBATCH --exclusive",
        "#SBATCH --nodes=1",
    ]
    prologue, command = [line for line in lines if line and not line.startswith("#")]
    assert prologue == "module load gcc"
    assert command.startswith("/home/me/nashbed/.venv/bin/python -m distributed.cli.dask_worker ")
    assert "--nworkers 32" in command
    assert "--local-directory $TMPDIR" in command


def containers() -> dict[str, dict[str, Any]]:
    spec = manifest()["spec"]
    return {part: spec[part]["spec"]["containers"][0] for part in ("worker", "scheduler")}


def manifest() -> dict[str, Any]:
    loaded: dict[str, Any] = YAML(typ="safe").load(MANIFEST.read_text())
    return loaded


def test_the_manifest_is_a_dask_cluster() -> None:
    """As the operator's documentation (kubernetes.dask.org, DaskCluster) says it."""
    found = manifest()
    assert (found["apiVersion"], found["kind"]) == ("kubernetes.dask.org/v1", "DaskCluster")
    name, spec = found["metadata"]["name"], found["spec"]
    assert set(spec) == {"worker", "scheduler"}
    assert spec["worker"]["replicas"] > 0
    service = spec["scheduler"]["service"]
    assert service["selector"] == {
        "dask.org/cluster-name": name,
        "dask.org/component": "scheduler",
    }
    ports = {port["name"]: port["containerPort"] for port in containers()["scheduler"]["ports"]}
    assert {port["targetPort"] for port in service["ports"]} == set(ports)
    assert {port["port"] for port in service["ports"]} == set(ports.values())


@pytest.mark.parametrize("part", ["worker", "scheduler"])
def test_the_manifests_commands_are_ours(part: str) -> None:
    program, name, *args = containers()[part]["args"]
    assert (program, name) == ("nashbed", part)
    command: Any = command_line().commands[name]
    given = command.make_context(name, args).params
    assert given["ca"] and given["cert"] and given["key"]
    mounts = containers()[part]["volumeMounts"]
    assert all(Path(given[key]).parent == Path(mounts[0]["mountPath"]) for key in ("ca", "cert"))


def test_the_manifests_parts_find_each_other() -> None:
    parts = containers()
    args = parts["worker"]["args"]
    ports = {port["name"]: port["containerPort"] for port in parts["scheduler"]["ports"]}
    scheduler = command_context("scheduler", parts["scheduler"]["args"][2:])
    worker = command_context("worker", args[2:])
    assert scheduler["port"] == ports["tcp-comm"]
    assert scheduler["dashboard"] == f"0.0.0.0:{ports['http-dashboard']}"
    name = manifest()["metadata"]["name"]
    assert worker["address"] == f"tls://{name}-scheduler:{scheduler['port']}"
    assert str(worker["cores"]) == parts["worker"]["resources"]["requests"]["cpu"]


def command_context(name: str, args: list[str]) -> dict[str, Any]:
    command: Any = command_line().commands[name]
    given: dict[str, Any] = command.make_context(name, list(args)).params
    return given


def test_the_readmes_cluster_file_loads() -> None:
    text = (CLUSTERS / "README.md").read_text()
    (block,) = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    cluster = parse_cluster(block, "README.md").model
    assert cluster.is_encrypted
    assert cluster.tls == ClusterTls(ca="ca.pem", certificate="me.pem", key="me.key")
