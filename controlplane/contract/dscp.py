"""Code points of DiffServ (DSCP), as people write them: by their names or as 0 to 63."""

from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema

from .errors import did_you_mean

HIGHEST = 63
CODE_POINTS: dict[str, int] = {
    **{f"cs{n}": 8 * n for n in range(8)},
    **{f"af{n}{drop}": 8 * n + 2 * drop for n in range(1, 5) for drop in range(1, 4)},
    "le": 1,
    "va": 44,
    "ef": 46,
}
"""Name -> code point: RFC 2474 (cs), 2597 (af), 3246 (ef), 5865 (va), 8622 (le)."""
NAMES = {point: name for name, point in CODE_POINTS.items()}


def _code_point(value: Any) -> Any:
    """A name or a number as a code point."""
    if isinstance(value, str) and value.lower() in CODE_POINTS:
        return CODE_POINTS[value.lower()]
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= HIGHEST:
        return value
    hint = did_you_mean(str(value), CODE_POINTS)
    raise ValueError(
        f"{value!r} is no DSCP; {hint}write cs0 to cs7, af11 to af43, ef, va, le, or 0 to {HIGHEST}"
    )


Dscp = Annotated[
    int,
    BeforeValidator(_code_point),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "enum": list(CODE_POINTS)},
                {"type": "integer", "minimum": 0, "maximum": HIGHEST},
            ]
        }
    ),
]
"""A code point, written as `ef` or as 46."""


def dscp_text(point: int) -> str:
    """A code point's name, or its number where it has none."""
    return NAMES.get(point, str(point))
