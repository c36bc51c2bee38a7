"""Who may be talked to without TLS, and what certificates must be."""

from __future__ import annotations

from pathlib import Path

import dask.config
import pytest
from nashbed.controlplane.cluster.security import (
    certificates,
    check_address,
    check_host,
    dask_security,
)
from nashbed.controlplane.contract.cluster import ClusterTls
from nashbed.controlplane.contract.errors import ConfigError, HostError
from tests.support.certificates import make_certificates

PUBLIC = "93.184.215.14"


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.1", "::1", "localhost"])
@pytest.mark.parametrize("private_network", [False, True])
def test_this_machine_may_always_be_used(host: str, private_network: bool) -> None:
    assert check_host(host, private_network)


@pytest.mark.parametrize("host", ["10.1.2.3", "172.16.0.1", "192.168.1.1", "fd00::1"])
def test_a_private_network_only_if_asked_for(host: str) -> None:
    assert check_host(host, private_network=True) == [host]
    with pytest.raises(ConfigError, match=r"is not this machine; use TLS .*--private-network"):
        check_host(host, private_network=False)


@pytest.mark.parametrize("host", [PUBLIC, "2606:4700::1", "172.32.0.1"])
@pytest.mark.parametrize("private_network", [False, True])
def test_a_public_address_never(host: str, private_network: bool) -> None:
    with pytest.raises(ConfigError, match="is a public address, and without TLS everybody could"):
        check_host(host, private_network)


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_every_network_never(host: str) -> None:
    """Python counts 0.0.0.0 as private, but whoever listens there listens to everybody."""
    with pytest.raises(ConfigError, match="means every network of this machine; name one"):
        check_host(host, private_network=True)


def test_with_tls_any_address_may_be_used() -> None:
    check_address(f"tls://{PUBLIC}:8786", private_network=False)
    with pytest.raises(ConfigError):
        check_address(f"tcp://{PUBLIC}:8786", private_network=False)


def test_a_host_that_does_not_exist() -> None:
    with pytest.raises(HostError, match=r"nonesuch.invalid: there is no host of that name"):
        check_host("nonesuch.invalid", private_network=True)


def test_dask_encrypts_and_asks_for_certificates(tmp_path: Path) -> None:
    tls = make_certificates(tmp_path / "lab")
    security = dask_security(certificates(tls, "client"))
    assert security is not None
    assert security.require_encryption
    for role in ("client", "scheduler", "worker"):
        config = security.get_tls_config_for_role(role)
        assert (config["ca_file"], config["cert"], config["key"]) == (
            tls.ca,
            tls.certificate,
            tls.key,
        )
    assert dask_security(None) is None


def test_certificates_of_dasks_own_configuration(tmp_path: Path) -> None:
    tls = make_certificates(tmp_path / "lab")
    with pytest.raises(ConfigError, match="tls:// needs certificates, and there is no ca and no"):
        certificates(None, "client")
    keys = {"ca-file": tls.ca, "client": {"cert": tls.certificate, "key": tls.key}}
    with dask.config.set({"distributed.comm.tls": keys}):
        assert certificates(None, "client") == tls
        with pytest.raises(ConfigError, match="there is no certificate and no key"):
            certificates(None, "worker")


def test_files_that_are_no_certificates(tmp_path: Path) -> None:
    tls, other = make_certificates(tmp_path / "lab"), make_certificates(tmp_path / "other")
    text = tmp_path / "text"
    text.write_text("hello\n")
    wrong = {
        "tls.key: .*nonesuch: cannot be read": {"key": str(tmp_path / "nonesuch")},
        "tls.ca: .*text: is not a certificate": {"ca": str(text)},
        "me.pem|certificate.pem and .*text are not a certificate and its own": {"key": str(text)},
        "are not a certificate and its own key": {"key": other.key},
    }
    for line, change in wrong.items():
        with pytest.raises(ConfigError, match=line) as caught:
            certificates(ClusterTls(**(tls.model_dump() | change)), "client")
        assert "\n" not in caught.value.message
