"""JSON schemas for editors, generated from the contract models."""

from __future__ import annotations

import json
from pathlib import Path

from ..contract.cluster import Cluster
from ..contract.model import ContractModel
from ..contract.scenario import Scenario
from ..contract.testbed import Testbed

SCHEMAS: dict[str, type[ContractModel]] = {
    "scenario.schema.json": Scenario,
    "testbed.schema.json": Testbed,
    "cluster.schema.json": Cluster,
}


def render(model: type[ContractModel]) -> str:
    """The schema of a model as text, the same on every run."""
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    schema |= model.model_json_schema()
    return json.dumps(schema, indent=2, sort_keys=True) + "\n"


def write_schemas(folder: Path) -> list[Path]:
    """Write every schema into a folder; returns the files."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, model in SCHEMAS.items():
        path = folder / name
        path.write_text(render(model), encoding="utf-8")
        written.append(path)
    return written
