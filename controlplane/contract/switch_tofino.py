"""The `switch` section of a testbed whose bottleneck is a Tofino."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from .model import ContractModel
from .units import Rate, Size

ChipName = Literal["tofino1", "tofino2"]
DevicePort = Annotated[int, Field(strict=True, ge=0, le=511)]
LEAST_BURST_BYTES = 4096


class SwitchPort(ContractModel):
    """A port of the switch.

    Attributes:
        port: Its D_P number (`ucli: pm show` on the switch).
        speed: Its speed.
        fec: Forward error correction; both ends of a cable must agree.
        auto_negotiation: Whether speed and FEC are negotiated.
    """

    port: DevicePort
    speed: Rate
    fec: Literal["none", "fc", "rs"] = "none"
    auto_negotiation: Literal["default", "on", "off"] = "default"


class SwitchPorts(ContractModel):
    """The switch's ports.

    Attributes:
        senders: Cabled to the data plane's `switch` port.
        receivers: Cabled to the receivers: the bottleneck's queues are here.
        telemetry: Where postcards leave; in the same pipe as `receivers`.
    """

    senders: SwitchPort
    receivers: SwitchPort
    telemetry: SwitchPort

    @property
    def numbers(self) -> tuple[int, int, int]:
        """D_P numbers of the three."""
        return self.senders.port, self.receivers.port, self.telemetry.port


class SwitchTofino(ContractModel):
    """How the switch is reached; it is running already.

    Attributes:
        grpc: Address of its BfRt gRPC server, host:port.
        device: Device number at that server.
        chip: Generation of the chip.
        program: Name under which its P4 program is loaded; by default as p4c names it.
        ports: Its ports.
        shaper_overhead: Bytes that its shapers count for each packet in addition to the frame:
            Ethernet's gap, preamble and FCS (24) and the headers that it carries inside the
            chip (26). `nashbed calibrate` detects a wrong value.
        burst: Bytes that a shaper may send at once after an idle time.
    """

    grpc: Annotated[str, Field(pattern=r"^\S+:[0-9]{1,5}$")]
    device: Annotated[int, Field(strict=True, ge=0)] = 0
    chip: ChipName = "tofino1"
    program: str = ""
    ports: SwitchPorts
    shaper_overhead: Size = Size(50)
    burst: Size = Size(LEAST_BURST_BYTES)

    @model_validator(mode="after")
    def _check(self) -> SwitchTofino:
        if len(set(self.ports.numbers)) < 3:
            raise ValueError("ports: senders, receivers and telemetry must be three ports")
        if self.ports.receivers.port >> 7 != self.ports.telemetry.port >> 7:
            raise ValueError(
                "ports.telemetry: must be in the pipe of ports.receivers (D_P numbers from a "
                "multiple of 128 on), or dropped packets cannot be reported"
            )
        if self.burst.bytes < LEAST_BURST_BYTES:
            raise ValueError(
                f"burst: {self.burst} is too small for the shapers' resolution; write at least "
                f"{LEAST_BURST_BYTES}B"
            )
        return self

    @property
    def p4_name(self) -> str:
        """Name under which the P4 program is loaded."""
        return self.program or f"bottleneck_{self.chip}"

    @property
    def local_program(self) -> str | None:
        """The program that must be installed on this machine: none."""
        return None
