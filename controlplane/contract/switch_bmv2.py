"""The `switch` section of a testbed whose bottleneck is bmv2's simple_switch."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from .model import ContractModel


class SwitchBmv2(ContractModel):
    """How simple_switch runs; each run starts it on this machine.

    Attributes:
        program: simple_switch: a name on PATH, or an absolute path.
        thrift_port: TCP port of its Thrift server, in a network namespace of the run's own.
        log_level: Its log level; anything but `off` makes it slower.
    """

    program: Annotated[str, Field(min_length=1)] = "simple_switch"
    thrift_port: Annotated[int, Field(strict=True, ge=1, le=65535)] = 9090
    log_level: Literal["off", "error", "warn", "info", "debug", "trace"] = "off"

    @property
    def local_program(self) -> str | None:
        """The program that must be installed and is started on this machine."""
        return self.program
