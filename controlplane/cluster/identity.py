"""tmp"""

from __future__ import annotations

from collections.abc import Sequence

from ..contract.model import ContractModel
from ..contract.testbed import Testbed
from ..machine.kernels import find_kernel


class Identity(ContractModel):
    kernels: dict[str, str]


def identity_here(testbed: Testbed, kernel_names: Sequence[str]) -> Identity:
    return Identity(
        kernels={n: find_kernel(n or testbed.virtual.kernel).binary_digest for n in kernel_names}
    )


def differences(client: Identity, worker: Identity) -> list[str]:
    return [] if client == worker else [f"{client} {worker}"]
