"""The hosts of an ssh cluster, from its list or its hosts file."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ..contract.cluster import MAX_WORKERS, SshHosts
from ..contract.errors import ConfigError

_LINE = re.compile(r"^([A-Za-z0-9_.:-]+)(?:\s+cores=([0-9]+))?$")
FORM = "write a name or an address, and maybe its cores: `node1` or `node1 cores=16`"


@dataclass(frozen=True)
class SshHost:
    """A host of an ssh cluster.

    Attributes:
        name: Its name or address.
        cores: Its workers, a core each.
    """

    name: str
    cores: int


def ssh_hosts(ssh: SshHosts) -> list[SshHost]:
    """The hosts of an ssh cluster in their order; the first one runs the scheduler.

    Args:
        ssh: Its list of hosts, or the absolute path of its hosts file.

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
        raise ConfigError(f"{path}: names no host; {FORM}, one on each line")
    return hosts


def _hosts(places: Iterable[tuple[str, str]], cores: int) -> list[SshHost]:
    hosts: list[SshHost] = []
    for place, text in places:
        match = _LINE.match(text.strip())
        if match is None:
            raise ConfigError(f"{place}: {text.strip()!r} is no host; {FORM}")
        count = cores if match[2] is None else int(match[2])
        if not 1 <= count <= MAX_WORKERS:
            raise ConfigError(f"{place}: cores={count} must be 1 to {MAX_WORKERS}")
        if match[1] in {host.name for host in hosts}:
            raise ConfigError(f"{place}: {match[1]} is named twice; remove one of them")
        hosts.append(SshHost(match[1], count))
    return hosts
