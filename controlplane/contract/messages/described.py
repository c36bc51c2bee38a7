"""What C programs are told, described for them: lane.json, of a lane, and generator.json.

The contract's models say each field once. Of them are made the descriptions here and, when the
programs are built, the C structures with the tables that read and print them
(hosts/common/described_header.py). `make schema` writes them; a test keeps them equal to the
models.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from .. import path_changes as paths
from ..disciplines import DISCIPLINES, Parameters, bounds_of, machine_parameter
from ..limit import QueuedLine
from ..link_changes import LineState, Schedule
from ..model import JsonObject, attributes_of, in_c, limits
from ..queues import POLICIES, Static
from ..target import GroupDelay
from ..units import Duration, Quantity, Share, Size
from .dataplane import ToldLane, ToldQueues
from .generator import Connection, ControlState, GeneratorConfig, ToldApplication, ToldFlow

LANE: Final[dict[str, type[BaseModel]]] = {
    "queues_config": ToldQueues,
    "line_state": LineState,
    "line_plan": Schedule,
    "path_change": paths.PathState,
    "jitter_settings": paths.JitterSettings,
    "reorder_settings": paths.ReorderSettings,
    "gilbert_settings": paths.GilbertSettings,
    "impairment_settings": paths.Impairment,
    "group_delay": GroupDelay,
    "lane_config": ToldLane,
}
"""Name in C -> model. A model that is not here, but is held by one, is `limit_config` for Limit."""
GENERATOR: Final[dict[str, type[BaseModel]]] = {
    "application": ToldApplication,
    "control_config": Connection,
    "flow_config": ToldFlow,
    "cca_state_config": ControlState,
    "config": GeneratorConfig,
}
PARTS: Final = {"return_config": QueuedLine}
"""What is read into the first fields of a lane: the bottleneck of a way back."""
CHECKED: Final = ("limit_config", "line_plan", "application")
"""Whose fields C checks against each other, for the sake of its arithmetic."""
KINDS: Final = {**DISCIPLINES, **POLICIES}
KIND_NAMES: Final[dict[type, str]] = {
    Duration: "time",
    Size: "bytes",
    Share: "probability",
    int: "number",
    float: "real",
    bool: "flag",
}
"""Type of a parameter -> enum aqm_kind (hosts/dpdk/core/aqm.h)."""
NAMES: Final = {model: name for name, model in (LANE | GENERATOR).items()}


def _name(model: type[BaseModel]) -> str:
    return NAMES.get(model) or f"{model.__name__.lower()}_config"


def _held(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    """The model's structures, itself last: C wants those first that another one holds."""
    for info in model.model_fields.values():
        if in_c(info).is_told and not in_c(info).structure:
            yield from (each for kind in _models(info.annotation) for each in _held(kind))
    yield model


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for each in get_args(annotation):
        yield from _models(each)


def descriptions() -> dict[Path, str]:
    """File -> text."""
    parts = {name: [field["name"] for field in _fields(model)] for name, model in PARTS.items()}
    own = ",\n".join(_parameters(name, kind) for name, kind in KINDS.items() if _has_own(kind))
    parameters = f',\n"parts": {json.dumps(parts)},\n"parameters": {{\n{own}\n}}'
    made = {"lane": _structures(LANE) + parameters, "generator": _structures(GENERATOR)}
    folder = Path(__file__).parent
    return {folder / f"{name}.json": f"{{{text}}}\n" for name, text in made.items()}


def _structures(models: dict[str, type[BaseModel]]) -> str:
    every = dict.fromkeys(each for model in models.values() for each in _held(model))
    structures = ",\n".join(map(_structure, every))
    checked = json.dumps([_name(each) for each in every if _name(each) in CHECKED])
    return f'"structures": {{\n{structures}\n}},\n"checked": {checked}'


def _has_own(kind: type[Parameters]) -> bool:
    return bool(kind.model_fields) and kind is not Static


def _parameters(name: str, kind: type[Parameters]) -> str:
    """Those of a discipline or a policy; it holds those of the one that it is made of."""
    held = next((each for each, base in KINDS.items() if base in kind.__mro__[1:]), "")
    fields, of = _parameter_fields(kind), _parameter_fields(KINDS[held]) if held else {}
    first = {key: {"first": fields[key]["first"]} for key in of if fields[key] != of[key]}
    lines = ",\n".join(f"  {json.dumps(fields[key])}" for key in fields if key not in of)
    start = f'"holds": {json.dumps(held)}, "first": {json.dumps(first)}'
    return f' "{name}": {{{start}, "fields": [\n{lines}\n ]}}'


def _parameter_fields(kind: type[Parameters]) -> dict[str, JsonObject]:
    said = attributes_of(kind)
    return {
        name: _parameter(name, info) | {"about": said[name].removesuffix(".")}
        for name, info in kind.model_fields.items()
    }


def _parameter(name: str, info: FieldInfo) -> JsonObject:
    """A first value below the least one stands for none."""
    kind: Any = next(k for k in _alternatives(info.annotation) if k is not type(None))
    least, most = bounds_of(kind, info)
    none = kind(0) if issubclass(kind, Quantity) else 0
    member, first = machine_parameter(name, none if info.default is None else info.default)
    bounds = {"min": least, "max": most}
    return {"name": name, "member": member, "kind": KIND_NAMES[kind], "first": first, **bounds}


def _structure(model: type[BaseModel]) -> str:
    """With a line for each field."""
    about = attributes_of(model)[""].split("\n\n")[0]
    fields = ",\n".join(f"  {json.dumps(field)}" for field in _fields(model))
    return f' "{_name(model)}": {{"about": {json.dumps(about)}, "fields": [\n{fields}\n ]}}'


def _fields(model: type[BaseModel]) -> Iterator[JsonObject]:
    said = attributes_of(model)
    for name, info in model.model_fields.items():
        if in_c(info).is_told:
            yield _field(name, info) | {"about": said.get(name, "")}


def _field(name: str, info: FieldInfo) -> JsonObject:
    kinds = [kind for kind in _alternatives(info.annotation) if kind is not type(None)]
    made = {"name": name, **_kind(kinds[0], info)}
    if member := in_c(info).member:
        made["member"] = member
    if not info.is_required():
        made["optional"] = True
    if info.default is None and made["kind"] in ("object", "number") and made.get("min", 1) > 0:
        made["unless_zero"] = True
    if isinstance(kinds[0], type) and issubclass(kinds[0], Quantity):
        made["name"] += f"_{next(iter(kinds[0].__annotations__))}"
    return made


def _alternatives(annotation: Any) -> tuple[Any, ...]:
    """Those of a union."""
    is_other = get_origin(annotation) in (None, Literal, tuple)
    return (annotation,) if is_other else get_args(annotation)


def _kind(kind: Any, info: FieldInfo) -> JsonObject:
    of_c = in_c(info)
    if of_c.structure:
        return {"kind": of_c.kind or of_c.structure, "structure": of_c.structure}
    if get_origin(kind) is Literal:
        return {"kind": "choice", "choices": list(get_args(kind))}
    if get_origin(kind) is tuple:
        least = max(getattr(each, "min_length", 0) for each in info.metadata)
        most = max(getattr(each, "max_length", 0) for each in info.metadata)
        item = FieldInfo.from_annotation(get_args(kind)[0])
        of = _kind(item.annotation, item)
        return {"kind": "list", "of": of, "min": least, "max": most}
    if issubclass(kind, BaseModel):
        return {"kind": "object", "structure": _name(kind)}
    return _plain(kind, info)


def _plain(kind: Any, info: FieldInfo) -> JsonObject:
    """A flag, a text or a number."""
    if kind is bool:
        return {"kind": "flag"}
    if kind is str:
        most = max((getattr(each, "max_length", 0) for each in info.metadata), default=0)
        return {"kind": "text", "bytes": most + 1} if most else {"kind": "string"}
    of_c = in_c(info)
    least, most = (1, kind.LARGEST) if issubclass(kind, Quantity) else (0, 2**63 - 1)
    bounds = dict(zip(("min", "max"), limits(info, least, most), strict=True))
    return {"kind": "number", **bounds, **({"is_signed": True} if of_c.is_signed else {})}


if __name__ == "__main__":
    for file, text in descriptions().items():
        file.write_text(text)
