"""What `--on` and a testbed's `cluster` take."""

from pathlib import Path

import pytest
from nashbed.controlplane.cluster.where import SshHost, parse_where, ssh_hosts, testbed_cluster
from nashbed.controlplane.config import load_testbed
from nashbed.controlplane.contract.cluster import SshHosts
from nashbed.controlplane.contract.errors import ConfigError

VIRTUAL = "name: v\ntarget: virtual\n"


def test_workers_of_this_machine() -> None:
    local = parse_where("local:2").local
    assert local is not None
    assert local.workers == 2


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:8786", "tls://lab.example.org:1"])
def test_a_scheduler(address: str) -> None:
    cluster = parse_where(address)
    assert cluster.scheduler == address
    assert cluster.is_encrypted == address.startswith("tls")


def test_hosts_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "hosts.txt").write_text("node1\n")
    ssh = parse_where("ssh:hosts.txt", tmp_path).ssh
    assert ssh is not None
    assert ssh.hosts == str(tmp_path / "hosts.txt")


def test_a_file_says_paths_relative_to_itself(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "lab.yaml").write_text(
        "name: lab\nscheduler: tls://lab:1\ntls: {ca: a, certificate: ../b, key: /c}\n"
    )
    tls = parse_where("sub/lab.yaml", tmp_path).tls
    assert tls is not None
    assert (tls.ca, tls.certificate) == (str(tmp_path / "sub" / "a"), str(tmp_path / "b"))
    assert tls.key == "/c"


@pytest.mark.parametrize(
    ("name", "kind"), [("slurm", "jobqueue"), ("local", "local"), ("ssh", "ssh")]
)
def test_a_bare_name_is_a_shipped_one(name: str, kind: str) -> None:
    assert parse_where(name).kind == kind


def test_a_private_network_is_allowed_on_the_command_line() -> None:
    assert not parse_where("tcp://10.0.0.1:8786").private_network
    assert parse_where("tcp://10.0.0.1:8786", private_network=True).private_network


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "'' is no cluster; write local:N, tcp://HOST:PORT"),
        ("local:0", "'local:0': say how many workers this machine is to have, 1 to 4096"),
        ("local:two", "'local:two': say how many workers"),
        ("local:", "'local:': say how many workers"),
        ("ssh:", "'ssh:' names no file; write ssh:HOSTS.txt"),
        ("ssh:nonesuch.txt", "nonesuch.txt: cannot be read as a hosts file"),
        ("http://lab:80", "'http://lab:80': nashbed speaks no http://; write one of local:N"),
        ("tcp://lab", "'tcp://lab' is not a scheduler's address; write tcp://HOST:PORT"),
        ("tcp://:8786", "'tcp://:8786' is not a scheduler's address"),
        ("lab:8786", "'lab:8786' is no cluster; write local:N"),
        ("nonesuch", r"'nonesuch' is no cluster; .*\(kubernetes, local, slurm, ssh\)"),
        ("kubernetes-daskcluster", "'kubernetes-daskcluster' is no cluster"),
        ("../slurm", "slurm: no such cluster file; see configs/clusters/"),
        ("./nonesuch.yaml", "nonesuch.yaml: no such cluster file; see configs/clusters/"),
    ],
)
def test_a_mistake_is_one_line_that_says_what_to_do(text: str, line: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=line) as caught:
        parse_where(text, tmp_path)
    assert "\n" not in caught.value.message


def test_a_testbed_names_one_relative_to_itself(tmp_path: Path) -> None:
    (tmp_path / "lab.yaml").write_text("name: lab\nlocal: {workers: 2}\n")
    bed = tmp_path / "bed.yaml"
    bed.write_text(VIRTUAL + "cluster: ./lab.yaml\n")
    cluster = testbed_cluster(load_testbed(bed))
    assert cluster is not None
    assert cluster.name == "lab"


def test_a_testbed_need_not_name_one(tmp_path: Path) -> None:
    bed = tmp_path / "bed.yaml"
    bed.write_text(VIRTUAL)
    assert testbed_cluster(load_testbed(bed)) is None


def test_a_testbeds_mistake_names_the_testbed(tmp_path: Path) -> None:
    bed = tmp_path / "bed.yaml"
    bed.write_text(VIRTUAL + "cluster: local:none\n")
    with pytest.raises(ConfigError, match=r"bed.yaml: cluster: 'local:none': say how many"):
        testbed_cluster(load_testbed(bed))


def of_file(path: Path, text: str) -> list[SshHost]:
    path.write_text(text)
    return ssh_hosts(SshHosts(hosts=str(path), cores=2))


def test_a_list_or_a_file(tmp_path: Path) -> None:
    hosts = [SshHost("node1", 2), SshHost("10.0.0.2", 16)]
    assert ssh_hosts(SshHosts(hosts=("node1", "10.0.0.2 cores=16"), cores=2)) == hosts
    assert of_file(tmp_path / "h", "# lab\nnode1\n\n10.0.0.2 cores=16 # big\n") == hosts


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", ": names no host; write a name or an address"),
        ("# none\n", ": names no host"),
        ("a\na b\n", ":2: 'a b' is no host; write a name or an address, and maybe its cores"),
        ("a slots=4\n", ":1: 'a slots=4' is no host"),
        ("me@a\n", ":1: 'me@a' is no host"),
        ("a cores=0\n", ":1: cores=0 must be 1 to 4096"),
        ("a\nb\na cores=3\n", ":3: a is named twice; remove one of them"),
    ],
)
def test_a_mistake_is_one_line_with_its_place(text: str, line: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        of_file(tmp_path / "h", text)
    assert caught.value.message.startswith(f"{tmp_path / 'h'}{line}")
