"""A program as a strategy: a server's and a client's command, of which one sends to the other."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Final, Literal

from pydantic import Field, model_validator

from .applications import TCP_PROTOCOL, UDP_PROTOCOL
from .course import StrategyName
from .errors import did_you_mean
from .model import ContractModel

PLACES: Final[Mapping[str, str]] = {
    "address": "the server's address",
    "port": "the port that it listens on",
    "client_address": "the client's address",
    "client_port": "the port of the client's (first) flow; left out: it has it all the same",
    "seconds": "how long to send, in whole seconds; the command then ends by itself",
    "bytes": "more bytes than the link carries in a trial",
    "flows": "flows of its strategy and group, which one process makes then",
    "cc": "the congestion control that the strategy's name ends in",
    "log": "a folder for what it writes",
    "key": "a private key in PEM",
    "certificate": "the certificate that goes with it, in PEM, of the name nashbed",
    "python": "the Python that nashbed runs on, with its packages",
    "programs": "the folder configs/programs",
}
"""What stands in braces in a command -> what is there when it is run."""
_PLACE = re.compile(r"\{([a-z_]+)\}")
Command = Annotated[tuple[str, ...], Field(min_length=1)]


class FlowProgram(ContractModel):
    """A program whose flows compete: the file that `{program: FILE}` names.

    A word of a command may have places in braces; see `PLACES`. The first word is a program on the
    PATH, or its absolute path. Without `{seconds}` in either command, the sender gets SIGTERM at
    the trial's end.

    Attributes:
        title: What it is, in a line.
        transport: What it sends over; P4 knows its flows by that and by both ends' addresses and
            ports.
        sender: Which of the two sends the data.
        server: The server's command; it is ready when its port is open.
        client: The client's command.
        ccs: What `{cc}` may be; `NAME-CC.yaml` in a scenario is the file NAME.yaml with one of it.
        version: A command that prints its version, which is recorded; where it fails, the program
            cannot run.
        goodput: Where the bytes come from that the receiver was given: `payload`, that of the
            packets that left the bottleneck, retransmissions included; or `iperf3`, what its server
            reports as JSON on its standard output.
        round_trips: Round trips from the client's start until its data may begin, which no flow
            needs: it is started so much earlier.
        qlog: Which files of `{log}` are the sender's qlog, `*.sqlog`; its windows and RTTs are kept
            as those of the kernel's TCP are.
        qlog_rtt: The unit of its RTTs; qlog says ms.
    """

    title: Annotated[str, Field(min_length=1, max_length=120)]
    transport: Literal["tcp", "udp"]
    sender: Literal["server", "client"]
    server: Command
    client: Command
    ccs: tuple[StrategyName, ...] = ()
    version: tuple[str, ...] = ()
    goodput: Literal["payload", "iperf3"] = "payload"
    round_trips: Annotated[int, Field(ge=0, le=100)] = 0
    qlog: str = ""
    qlog_rtt: Literal["ms", "s"] = "ms"

    @property
    def protocol(self) -> int:
        """The IP protocol of its flows."""
        return UDP_PROTOCOL if self.transport == "udp" else TCP_PROTOCOL

    @property
    def ends_itself(self) -> bool:
        """Whether it is told how long to send."""
        return self.has("seconds")

    def has(self, place: str) -> bool:
        """Whether a place is in one of its commands."""
        return any(f"{{{place}}}" in word for word in (*self.server, *self.client))

    @model_validator(mode="after")
    def _check(self) -> FlowProgram:
        for key in ("server", "client"):
            for word in getattr(self, key):
                for place in _PLACE.findall(word):
                    if place not in PLACES:
                        hint = did_you_mean(place, PLACES)
                        raise ValueError(
                            f"{key}: there is no {{{place}}}; {hint}write one of "
                            + ", ".join(f"{{{each}}}" for each in PLACES)
                        )
        if self.has("cc") != bool(self.ccs):
            raise ValueError("ccs: goes with {cc} in a command; write both, or neither")
        if self.has("flows") and self.sender == "server":
            raise ValueError("sender: with {flows} only the client can send: each has a port")
        if self.has("flows") and self.qlog:
            raise ValueError("qlog: is that of one flow, and goes not with {flows}")
        return self


def filled(command: tuple[str, ...], values: Mapping[str, str]) -> list[str]:
    """A command with the places that have a value replaced by it."""
    return [_PLACE.sub(lambda found: values.get(found[1], found[0]), word) for word in command]
