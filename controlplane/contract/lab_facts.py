"""What a session and its loaded target say about themselves."""

from __future__ import annotations

from typing import Any

from .messages import Hello
from .model import ContractModel


class LabFacts(ContractModel):
    """What trials run on.

    Attributes:
        hello: What the target says about itself.
        sysctls: Sysctl -> value, as applied in the hosts' namespaces.
        ports: Port -> driver, interface and MAC address, as far as the session knows.
    """

    hello: Hello
    sysctls: dict[str, str]
    ports: dict[str, dict[str, Any]]
