"""Hosts of an ssh cluster."""

from __future__ import annotations

from pathlib import Path

import pytest
from nashbed.controlplane.cluster.hosts import SshHost, ssh_hosts
from nashbed.controlplane.contract.cluster import SshHosts
from nashbed.controlplane.contract.errors import ConfigError


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
