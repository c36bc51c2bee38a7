"""What several commands share: options, and how they answer."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from pydantic_core import to_jsonable_python

from ..contract.errors import EXIT_OK

if TYPE_CHECKING:
    from ..contract.model import ContractModel, JsonObject

ScenarioFile = Annotated[
    str, typer.Argument(help="Scenario file, or the name of one in configs/scenarios/.")
]
OptionalTestbed = Annotated[
    str | None,
    typer.Option(
        "--testbed",
        help="Testbed file, or the name of one in configs/testbeds/.",
        show_default="virtual",
    ),
]
TestbedName = Annotated[
    str, typer.Option("--testbed", help="Testbed file, or the name of one in configs/testbeds/.")
]
RunFolder = Annotated[Path, typer.Argument(metavar="RUN_DIR", help="Run directory (results/...).")]
On = Annotated[
    str | None,
    typer.Option(
        "--on",
        metavar="WHERE",
        help="Run the trials on a Dask cluster: local:N, tcp://HOST:PORT, tls://HOST:PORT, "
        "ssh:HOSTS.txt, or a cluster file (configs/clusters).",
    ),
]
PrivateNetwork = Annotated[
    bool,
    typer.Option(
        "--private-network",
        help="Use a cluster on a network of private addresses without TLS. Whoever reaches it can "
        "run programs as you.",
    ),
]
Changes = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Have another value for a key of the scenario: bottleneck.rate=50mbit; repeatable.",
    ),
]
Wait = Annotated[
    bool, typer.Option("--wait", help="Wait for another run on this machine, instead of failing.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Answer in JSON on standard output.")]


def new_app(name: str | None = None, **settings: Any) -> typer.Typer:
    """Commands without colour codes in their help, and with our own messages for errors."""
    return typer.Typer(name=name, rich_markup_mode=None, pretty_exceptions_enable=False, **settings)


app = new_app()
"""The commands that are in no group."""


class Answer(NamedTuple):
    """What a command says, to a script and to a person.

    Attributes:
        data: The answer to a script; plain data gets the number of its format.
        text: What a person reads, or what makes it.
        code: The exit code.
    """

    data: ContractModel | Sequence[JsonObject] | JsonObject
    text: str | Callable[[], str]
    code: int = EXIT_OK

    def write(self, as_json: bool) -> int:
        """Write it on standard output; returns the exit code."""
        if as_json:
            from ..contract.model import JsonAnswer  # noqa: PLC0415 - slow to import

            plain = (
                JsonAnswer().model_dump() | self.data if isinstance(self.data, dict) else self.data
            )
            text = json.dumps(to_jsonable_python(plain), indent=1)
        else:
            text = self.text if isinstance(self.text, str) else self.text()
        sys.stdout.write(text.rstrip("\n") + "\n")
        return self.code
