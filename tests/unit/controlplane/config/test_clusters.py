"""Cluster files, and those that are shipped."""

import re
from pathlib import Path
from typing import Any

import pytest
from nashbed.controlplane.cli.app import command_line
from nashbed.controlplane.cluster.where import CLUSTERS, is_manifest, parse_where, ssh_hosts
from nashbed.controlplane.config import parse_cluster, parse_testbed
from nashbed.controlplane.contract.cluster import ClusterTls
from nashbed.controlplane.contract.errors import ConfigError
from ruamel.yaml import YAML

TLS = "tls: {ca: a, certificate: b, key: c}\n"
JOBS = "jobqueue: {system: slurm, jobs: 1, cores: 2, memory: 2GB}\n"
CONDOR = (
    "private_network: true\n"
    "jobqueue: {system: htcondor, interface: lo, jobs: 1, cores: 2, memory: 2GB"
)
FILES = sorted(path for path in CLUSTERS.glob("*.yaml") if not is_manifest(path))
GUIDE = CLUSTERS.parents[1] / "docs" / "how-to" / "clusters.md"
MANIFEST = CLUSTERS / "kubernetes-daskcluster.yaml"


@pytest.mark.parametrize(
    ("text", "kind", "encrypted"),
    [
        ("scheduler: tcp://10.0.0.1:8786\n", "scheduler", False),
        (f"scheduler: tls://lab:8786\n{TLS}", "scheduler", True),
        ("scheduler: tls://[fe80::1]:8786\n", "scheduler", True),
        ("local: {workers: 3}\n", "local", False),
        (f"local: {{workers: 3}}\n{TLS}", "local", True),
        ("ssh: {hosts: [a, b cores=4]}\n", "ssh", False),
        (JOBS + TLS, "jobqueue", True),
        (CONDOR + ", disk: 2GB}\n", "jobqueue", False),
    ],
)
def test_a_cluster_has_one_kind(text: str, kind: str, encrypted: bool) -> None:
    cluster = parse_cluster("name: c\n" + text, "c").model
    assert (cluster.kind, cluster.is_encrypted) == (kind, encrypted)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "c:1: says no machines; add one of the keys scheduler, local, ssh, jobqueue"),
        ("local: {workers: 1}\nssh: {hosts: [a]}", "c:3: ssh: there is 'local' already; keep one"),
        ("local: {workers: 0}", "c:2: local.workers: 0: input should be greater than or equal"),
        ("local: {worker: 1}", "c:2: local.worker: unknown key; did you mean 'workers'?"),
        ("locale: {workers: 1}", "c:2: locale: unknown key; did you mean 'local'?"),
        ("scheduler: lab:8786", "c:2: scheduler: 'lab:8786' is not a scheduler's address; write"),
        ("scheduler: tcp://lab:99999", "c:2: scheduler: 'tcp://lab:99999' is not a scheduler's"),
        (f"scheduler: tcp://lab:1\n{TLS}", "c:2: scheduler: a tcp:// address is not encrypted;"),
        ("local: {workers: 1}\nshared: data", "c:3: shared: 'data' must be an absolute path"),
        ("local: {workers: 1}\ntls: {ca: a, key: c}", "c:3: tls: key 'certificate' is missing;"),
        ("local: {workers: 1}\nprivate_network: yes", "c:3: private_network: 'yes': input should"),
        (JOBS, "c:2: jobqueue: jobs reach this machine over the network; add the key tls, or"),
        (JOBS + "private_network: true", "c:2: jobqueue: without the key tls, name the private"),
        (
            "jobqueue: {system: lfs}",
            "c:2: jobqueue.system: 'lfs' is unknown; did you mean 'lsf'? write",
        ),
        (CONDOR + "}", "c:3: jobqueue: key 'disk' is missing; htcondor needs it, e"),
        (CONDOR + ", disk: 1GB, queue: q}", "c:3: jobqueue.queue: htcondor has none; remove it"),
        (TLS + JOBS.replace("}", ", disk: 1GB}"), "c:3: jobqueue.disk: slurm takes none; remove"),
        ("ssh: {hosts: []}", "c:2: ssh.hosts"),
        ("ssh: {hosts: [a], options: {password: b}}", "c:2: ssh.options.password: unknown key"),
    ],
)
def test_a_mistake_is_one_line_with_its_place(text: str, line: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_cluster(f"name: c\n{text}\n", "c")
    said = caught.value.message.splitlines()
    assert any(each.startswith(line) for each in said), said
    assert len(said) <= (4 if "lfs" in text else 2 if "locale" in text else 1), said


def test_paths_of_this_machine_are_made_absolute() -> None:
    text = f"name: c\nssh: {{hosts: h.txt, options: {{client_keys: [k], known_hosts: n}}}}\n{TLS}"
    cluster = parse_cluster(text, "c").model.with_paths(lambda path: f"/lab/{path}")
    assert cluster.ssh is not None
    assert cluster.ssh.hosts == "/lab/h.txt"
    assert cluster.ssh.options.client_keys == ("/lab/k",)
    assert cluster.ssh.options.known_hosts == "/lab/n"
    assert cluster.tls == ClusterTls(ca="/lab/a", certificate="/lab/b", key="/lab/c")


def test_a_list_of_hosts_stays_as_it_is() -> None:
    cluster = parse_cluster("name: c\nssh: {hosts: [a, b]}\n", "c").model
    assert cluster.with_paths(lambda path: f"/lab/{path}") == cluster


def test_a_testbed_may_name_a_cluster() -> None:
    text = "name: v\ntarget: virtual\n"
    assert parse_testbed(text, "t").model.cluster is None
    assert parse_testbed(text + "cluster: local:2\n", "t").model.cluster == "local:2"


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


def test_the_guides_cluster_file_loads() -> None:
    text = GUIDE.read_text()
    (block,) = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    cluster = parse_cluster(block, GUIDE.name).model
    assert cluster.is_encrypted
    assert cluster.tls == ClusterTls(ca="ca.pem", certificate="me.pem", key="me.key")
