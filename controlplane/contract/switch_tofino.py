"""The `switch` section of a testbed whose bottleneck is a Tofino."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from .model import Model

DevicePort = Annotated[int, Field(strict=True, ge=0, le=511)]


class SwitchPorts(Model):
    """The switch's ports by their D_P numbers.

    Attributes:
        senders: Cabled to the data plane's `switch` port.
        receivers: Cabled to the receivers.
        telemetry: Where postcards leave.
    """

    senders: DevicePort
    receivers: DevicePort
    telemetry: DevicePort


class SwitchTofino(Model):
    """How the switch is reached; it runs whether we do or not.

    Attributes:
        grpc: Address of its BfRt gRPC server, host:port.
        device: Number of the device at that server.
        program: Name under which its P4 program is loaded.
        chip: Which generation.
        ports: Its ports.
    """

    grpc: Annotated[str, Field(pattern=r"^\S+:[0-9]{1,5}$")]
    device: Annotated[int, Field(strict=True, ge=0)] = 0
    program: Annotated[str, Field(min_length=1)] = "bottleneck"
    chip: Literal["tofino1", "tofino2"] = "tofino1"
    ports: SwitchPorts

    @property
    def local_program(self) -> str | None:
        """What must be on this machine, and runs on it: nothing."""
        return None
