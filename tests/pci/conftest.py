"""Machines with emulated NICs: one of each kind, one at a time."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.pci.machine import Machine, why_not

KINDS = {
    "e1000e": ("e1000e", "e1000e", "e1000e", "e1000e"),
    "vmxnet3": ("vmxnet3", "virtio-net-pci", "vmxnet3", "virtio-net-pci"),
    # An e1000e counts the runts that it receives.
    "virtio": ("virtio-net-pci", "virtio-net-pci", "virtio-net-pci", "e1000e"),
}
"""Name -> the NICs of `Machine`."""
MORE = {
    # vfio needs an IOMMU.
    "e1000e": (("-device", "intel-iommu,intremap=on"), "intel_iommu=on iommu=pt"),
    # A NIC that takes no longer frames than 1500 bytes allow.
    "virtio": (("-device", "virtio-net-pci,host_mtu=1500,addr=0x14,romfile="), ""),
}


@pytest.fixture(scope="session", params=KINDS)
def machine(request: pytest.FixtureRequest) -> Iterator[Machine]:
    """A machine of each kind, for all tests that use it."""
    reason = why_not()
    if reason:
        pytest.skip(reason)
    more, line = MORE.get(request.param, ((), ""))
    # A socket's path is short, which pytest's are not.
    with (
        tempfile.TemporaryDirectory(prefix="nashbed-pci-") as folder,
        Machine(KINDS[request.param], Path(folder), more, line) as made,
    ):
        made.kind = request.param
        yield made
