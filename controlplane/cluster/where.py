"""Where trials run: what `--on` and a testbed's `cluster` say -> a cluster, and its ssh hosts."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ..config import Loaded, load_cluster
from ..contract.cluster import MAX_WORKERS, SCHEMES, Cluster, SshHosts, scheduler_address
from ..contract.errors import ConfigError
from ..contract.testbed import Testbed
from ..machine.paths import CONFIGS

CLUSTERS = CONFIGS / "clusters"
FORMS = (
    "local:N, tcp://HOST:PORT, tls://HOST:PORT, ssh:HOSTS.txt, a cluster file, "
    "or the name of one in configs/clusters/"
)
_NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
_LINE = re.compile(r"^([A-Za-z0-9_.:-]+)(?:\s+cores=([0-9]+))?$")
HOST_FORM = "write a name or an address, and maybe its cores: `node1` or `node1 cores=16`"


def parse_where(text: str, folder: Path = Path(), private_network: bool = False) -> Cluster:
    """Read where trials run.

    Args:
        text: `local:2`, `tcp://HOST:PORT`, `tls://HOST:PORT`, `ssh:hosts.txt`, a cluster file, or
            the name of one in configs/clusters.
        folder: What relative paths in `text` are relative to.
        private_network: Whether a private network may be used without TLS, whatever a file says.

    Returns:
        The cluster; its paths are absolute.

    Raises:
        ConfigError: It is none of these, or the file is wrong; one line for each mistake.
    """
    cluster = _read(text.strip(), folder)
    if private_network and not cluster.private_network:
        cluster = cluster.model_copy(update={"private_network": True})
    if cluster.ssh is not None:
        ssh_hosts(cluster.ssh)
    return cluster


def testbed_cluster(testbed: Loaded[Testbed]) -> Cluster | None:
    """The cluster that a testbed file names; None: it names none.

    Raises:
        ConfigError: What it names is no cluster; the message names the testbed file.
    """
    if testbed.model.cluster is None:
        return None
    try:
        return parse_where(testbed.model.cluster, Path(testbed.name).parent)
    except ConfigError as error:
        raise ConfigError(
            f"{testbed.name}: cluster: {error.message}; or say where by --on"
        ) from error


testbed_cluster.__test__ = False  # type: ignore[attr-defined]


def _read(text: str, folder: Path) -> Cluster:
    form, colon, rest = text.partition(":")
    if rest.startswith("//"):
        return _scheduler(text, form)
    if colon and form == "local":
        return _local(text, rest)
    if colon and form == "ssh":
        return _ssh(rest, folder)
    if "/" in text or text.endswith((".yaml", ".yml")):
        return _file(folder / text)
    return _shipped(text)


def _scheduler(text: str, scheme: str) -> Cluster:
    if scheme not in SCHEMES:
        raise ConfigError(f"{text!r}: nashbed speaks no {scheme}://; write one of {FORMS}")
    try:
        return _cluster("scheduler", scheduler=scheduler_address(text))
    except ValueError as error:
        raise ConfigError(str(error)) from error


def _local(text: str, number: str) -> Cluster:
    if not number.isascii() or not number.isdigit() or not 1 <= int(number) <= MAX_WORKERS:
        raise ConfigError(
            f"{text!r}: say how many workers this machine is to have, 1 to {MAX_WORKERS}, "
            "e.g. local:2"
        )
    return _cluster("local", local={"workers": int(number)})


def _ssh(file: str, folder: Path) -> Cluster:
    if not file:
        raise ConfigError("'ssh:' names no file; write ssh:HOSTS.txt, a file with a host per line")
    return _cluster("ssh", ssh={"hosts": str((folder / file).resolve())})


def _file(path: Path) -> Cluster:
    loaded = load_cluster(path)
    return loaded.model.with_paths(lambda written: str((path.parent / written).resolve()))


def _shipped(text: str) -> Cluster:
    path = CLUSTERS / f"{text}.yaml"
    if _NAME.match(text) and path.is_file() and not is_manifest(path):
        return _file(path)
    known = ", ".join(p.stem for p in sorted(CLUSTERS.glob("*.yaml")) if not is_manifest(p))
    raise ConfigError(f"{text!r} is no cluster; write {FORMS} ({known})")


def is_manifest(path: Path) -> bool:
    """Whether a file beside cluster files is one of Kubernetes', by its name."""
    return path.stem.endswith("-daskcluster")


def _cluster(name: str, **keys: Any) -> Cluster:
    try:
        return Cluster.model_validate({"name": name, **keys})
    except ValidationError as error:  # the values were checked one by one
        raise ConfigError(str(error.errors()[0]["msg"])) from error


@dataclass(frozen=True)
class SshHost:
    """A host of an ssh cluster."""

    name: str
    cores: int


def ssh_hosts(ssh: SshHosts) -> list[SshHost]:
    """The hosts of an ssh cluster in their order; the first one runs the scheduler.

    Raises:
        ConfigError: The file cannot be read, or a line is no host.
    """
    if isinstance(ssh.hosts, str):
        return _of_file(Path(ssh.hosts), ssh.cores)
    places = ((f"ssh.hosts[{i}]", text) for i, text in enumerate(ssh.hosts))
    return _hosts(places, ssh.cores)


def _of_file(path: Path, cores: int) -> list[SshHost]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise ConfigError(
            f"{path}: cannot be read as a hosts file ({reason}); it has a host on each line"
        ) from error
    places = ((f"{path}:{i}", line.partition("#")[0]) for i, line in enumerate(lines, start=1))
    hosts = _hosts(((place, text) for place, text in places if text.strip()), cores)
    if not hosts:
        raise ConfigError(f"{path}: names no host; {HOST_FORM}, one on each line")
    return hosts


def _hosts(places: Iterable[tuple[str, str]], cores: int) -> list[SshHost]:
    hosts: list[SshHost] = []
    for place, text in places:
        match = _LINE.match(text.strip())
        if match is None:
            raise ConfigError(f"{place}: {text.strip()!r} is no host; {HOST_FORM}")
        count = cores if match[2] is None else int(match[2])
        if not 1 <= count <= MAX_WORKERS:
            raise ConfigError(f"{place}: cores={count} must be 1 to {MAX_WORKERS}")
        if match[1] in {host.name for host in hosts}:
            raise ConfigError(f"{place}: {match[1]} is named twice; remove one of them")
        hosts.append(SshHost(match[1], count))
    return hosts
