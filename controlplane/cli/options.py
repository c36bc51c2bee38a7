"""What several commands share: options, and how they answer."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic_core import to_jsonable_python

from ..contract.model import ContractModel, JsonAnswer, JsonObject

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
Results = Annotated[Path, typer.Option("--out", help="Folder that run directories go into.")]
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
        help="Use a cluster on a network of private addresses without TLS.",
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


def answer(
    data: ContractModel | Sequence[JsonObject] | JsonObject, as_json: bool, text: str
) -> None:
    """Write the answer on standard output: for a script, or for a person.

    Args:
        data: The answer; plain data, where the analysis makes it, gets the number of its format.
        as_json: Whether it is for a script.
        text: What a person reads.
    """
    if as_json:
        plain = JsonAnswer().model_dump() | data if isinstance(data, dict) else data
        text = json.dumps(to_jsonable_python(plain), indent=1)
    sys.stdout.write(text.rstrip("\n") + "\n")
