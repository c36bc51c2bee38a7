"""What C is told of a lane is what the models say, and what the build makes of it."""

import json
import subprocess
import sys
from pathlib import Path

from nashbed.controlplane.contract.messages.described import descriptions
from nashbed.controlplane.machine.paths import ROOT

HELD = {"kind": "object", "structure": "held"}
DESCRIBED = {
    "structures": {
        "held": {"about": "In it.", "fields": [{"name": "on", "kind": "flag", "about": "Is on."}]},
        "out": {
            "about": "Around it.",
            "fields": [
                {"name": "few", "kind": "list", "of": HELD, "min": 2, "max": 64, "about": "A."},
                {"name": "many", "kind": "list", "of": {"kind": "number", "max": 5}, "max": 65,
                 "about": "B."},
                {"name": "held", "kind": "object", "structure": "held", "about": "C."},
                {"name": "kind", "kind": "choice", "choices": ["a", "b"], "about": "D."},
                {"name": "small", "kind": "number", "max": 2**30, "optional": True, "about": "E."},
                {"name": "large", "kind": "number", "min": 1, "max": 2**30 + 1, "about": "F."},
                {"name": "when", "kind": "number", "max": 9, "is_signed": True, "about": "G."},
                {"name": "src", "kind": "sockaddr_ipv4", "structure": "sockaddr_in",
                 "member": "source", "about": "H."},
                {"name": "sport", "kind": "sockaddr_port", "structure": "sockaddr_in",
                 "member": "source", "about": "I."},
                {"name": "cc", "kind": "text", "bytes": 16, "about": "J."},
                {"name": "out", "kind": "string", "about": "K."},
            ],
        },
    },
    "parts": {"part": ["small"]},
    "checked": ["held"],
    "parameters": {
        "red": {
            "holds": "",
            "first": {},
            "fields": [
                {"name": "min", "member": "min_bytes", "kind": "bytes", "first": 5, "min": 1,
                 "max": 9, "about": "Least"},
            ],
        },
        "fred": {"holds": "red", "first": {"min": {"first": 6}}, "fields": []},
    },
}  # fmt: skip


def made(folder: Path) -> list[str]:
    """The text of the headers, without what is in front of their first line and behind the last."""
    (folder / "lane.json").write_text(json.dumps(DESCRIBED))
    headers = [folder / f"{name}.h" for name in ("structures", "tables", "parameters")]
    program = ROOT / "hosts" / "common" / "described_header.py"
    subprocess.run([sys.executable, program, folder / "lane.json", *headers], check=True)
    return [
        "\n".join(header.read_text().splitlines()[4:-1]).strip().expandtabs(2) for header in headers
    ]


def test_the_descriptions_are_the_models() -> None:
    for file, text in descriptions().items():
        assert file.read_text() == text, f"{file.name}: make schema"


def test_what_the_build_makes(tmp_path: Path) -> None:
    structures, tables, parameters = made(tmp_path)
    assert structures.endswith("""\
enum kind { KIND_A, KIND_B };

/* Around it. */
struct out {
  /* A. */
  struct held few[64];
  size_t n_few;
  /* B. */
  uint32_t *many;
  size_t n_many;
  /* C. */
  struct held held;
  /* D. */
  enum kind kind;
  /* E. */
  uint32_t small;
  /* F. */
  uint64_t large;
  /* G. */
  int64_t when;
  /* H. */
  struct sockaddr_in source;
  /* J. */
  char cc[16];
  /* K. */
  char *out;
};""")
    assert (
        """\
static const struct json_field many_item = {.kind = &as_number, .bytes = sizeof(uint32_t), .max = \
INT64_C(5)};"""
        in tables
    )
    assert tables.endswith("""\
const struct json_field out_fields[] = {
  JSON_LIST(struct out, "few", few, n_few, few_item, .min = INT64_C(2), .max = INT64_C(64)),
  JSON_LIST(struct out, "many", many, n_many, many_item, .max = INT64_C(65), .allocate = true),
  JSON_FIELD(struct out, "held", held, as_object, .fields = held_fields, .check = check_held),
  JSON_FIELD(struct out, "kind", kind, as_choice, .choices = kind_names),
  JSON_FIELD(struct out, "small", small, as_number, .max = INT64_C(1073741824), .optional = true),
  JSON_FIELD(struct out, "large", large, as_number, .min = INT64_C(1), .max = INT64_C(1073741825)),
  JSON_FIELD(struct out, "when", when, as_number, .max = INT64_C(9)),
  JSON_FIELD(struct out, "src", source, as_sockaddr_ipv4),
  JSON_FIELD(struct out, "sport", source, as_sockaddr_port),
  JSON_FIELD(struct out, "cc", cc, as_text),
  JSON_FIELD(struct out, "out", out, as_string),
  {0},
};

const struct json_field part_fields[] = {
  JSON_FIELD(struct out, "small", small, as_number, .max = INT64_C(1073741824), .optional = true),
  {0},
};""")
    assert parameters.endswith("""\
struct fred_config {
  struct red_config red;
};

static const struct aqm_param fred_params[] = {
  {"min", AQM_BYTES, offsetof(struct fred_config, red.min_bytes), 6, 1, 9,
   "Least"},
  {.name = NULL},
};""")
