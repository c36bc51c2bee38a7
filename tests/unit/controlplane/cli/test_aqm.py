"""`nashbed aqm` as a person calls it: all the way for a file that is right, else one message."""

import json
import shutil
from pathlib import Path

import pytest
from nashbed.controlplane.cli.main import run
from nashbed.controlplane.contract.disciplines import DISCIPLINES
from nashbed.controlplane.contract.queues import POLICIES
from nashbed.controlplane.machine.c_files import aqm_tool as tool
from nashbed.controlplane.machine.paths import AQM_TEMPLATE, AQM_TOOL, MEMORY_TEMPLATE

needs_tool = pytest.mark.skipif(
    not AQM_TOOL.is_file() or shutil.which("cc") is None,
    reason="needs nashbed-aqm (run `make build`) and a C compiler",
)
Capture = pytest.CaptureFixture[str]
TAKE = "while (aqm_pop(&s->packets, packet)) {"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, and a cache of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def write(old: str = "", new: str = "") -> str:
    """The template with something in another's place, as mine.c."""
    text = AQM_TEMPLATE.read_text()
    assert old in text
    Path("mine.c").write_text(text.replace(old, new))
    return "mine.c"


def test_the_list_has_every_discipline_with_its_defaults(capsys: Capture) -> None:
    assert run(["aqm", "list", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    listed = {each["name"]: each for each in found["disciplines"]}
    assert list(listed) == list(DISCIPLINES)
    assert listed["codel"]["parameters"] == [
        {"name": "target", "default": "5ms"},
        {"name": "interval", "default": "100ms"},
        {"name": "ce_threshold", "default": None},
        {"name": "ecn", "default": "false"},
    ]
    assert [each["name"] for each in found["memory"]] == list(POLICIES)
    assert found["memory"][3]["parameters"] == [{"name": "alpha", "default": "1"}]
    assert run(["aqm", "list"]) == 0
    text = capsys.readouterr().out
    assert "discipline: {codel: {target: 1ms}}" in text
    assert "shared_buffer: {dynamic_threshold: {alpha: 1}}" in text


@pytest.mark.slow
@needs_tool
def test_the_template_of_a_memory_policy_is_one(folder: Path, capsys: Capture) -> None:
    """It is tried with four queues: the line stays busy, and it drops what exceeds a threshold."""
    assert run(["aqm", "new", "mine", "--memory"]) == 0
    assert (folder / "mine.c").read_text() == MEMORY_TEMPLATE.read_text()
    assert "core/memory.h; try: nashbed aqm check mine.c" in capsys.readouterr().out
    assert run(["aqm", "check", "mine.c", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["ok"], data["parameters"]) == (True, [{"name": "alpha", "default": "1"}])
    fares = {each["load"]: each["dropped"] for each in data["loads"]}
    assert fares["half of the line"] == 0 < fares["a third too much"]


@needs_tool
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("MEMORY_ABI", "MEMORY_ABI + 1", "mine: is of another version of memory.h; compile it"),
        (".threshold = threshold,", "", "mine: has no name, params or threshold in its struct"),
        ("MEMORY_EXPORT(ops)", "int one", "mine: exports no discipline: end it with AQM_EXPORT"),
    ],
)
def test_what_is_no_policy(capsys: Capture, old: str, new: str, said: str) -> None:
    text = MEMORY_TEMPLATE.read_text().replace("static uint64_t\nthreshold", "uint64_t\nthreshold")
    text = text.replace(
        "static const struct memory_ops",
        "extern const struct memory_ops ops;\nconst struct memory_ops",
    )
    assert old in text
    Path("mine.c").write_text(text.replace(old, new, 1))
    assert run(["aqm", "check", "mine.c"]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.slow
@needs_tool
def test_the_template_is_a_queue(capsys: Capture) -> None:
    assert run(["aqm", "check", write(), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["ok"], data["name"]) == (True, "mine")
    assert data["parameters"] == [
        {"name": "patience", "default": "10ms"},
        {"name": "chance", "default": "5%"},
    ]
    assert all(each["departed"] + each["dropped"] == 4000 for each in data["loads"])
    by_load = {each["load"]: each for each in data["loads"]}
    assert by_load["half of the line"]["dropped"] == 0
    assert by_load["all of it, half ECN"]["marked"] > 0


@pytest.mark.slow
@needs_tool
def test_the_table(capsys: Capture) -> None:
    assert run(["aqm", "check", write()]) == 0
    out = capsys.readouterr().out
    assert "what mine does" in out
    assert out.count(" ok ") == 6
    assert "chance: how often one that has waited longer is marked or dropped (5%; 0% to" in out


@pytest.mark.slow
@needs_tool
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("line->drop(line, packet, DROP_EARLY, now_ns);", ";", "packets never came out"),
        (
            TAKE,
            "while (s->packets.count > 0) {"
            " *packet = *(struct queue_packet *)fifo_at(&s->packets, --s->packets.count);",
            "packets overtook their own flow's",
        ),
        (TAKE, "while (s->packets.count > 3 && aqm_pop(&s->packets, packet)) {", "was idle with"),
        (
            "s->draws = seed;",
            "s->draws = (uint64_t)(uintptr_t)&seed;",
            "the same packets fared otherwise",
        ),
    ],
)
def test_what_is_no_queue(capsys: Capture, old: str, new: str, said: str) -> None:
    assert run(["aqm", "check", write(old, new)]) == 2
    assert said in capsys.readouterr().out


@pytest.mark.slow
@needs_tool
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("return false;", "retrun false;", "mine.c: does not compile"),
        ("AQM_EXPORT(ops);", "", "mine: exports no discipline: end it with AQM_EXPORT(ops);"),
        (".abi = AQM_ABI", ".abi = 0", "mine: is of another version of aqm.h"),
        ("10e6, 1e3, 10e9", "20e9, 1e3, 10e9", "mine: has a parameter outside"),
        (TAKE, f"{TAKE} *(volatile int *)0 = 1;", "mine: crashes by SIGSEGV"),
        (TAKE, f"{TAKE} for (;;) ;", "mine: does not end within 2 s; an endless loop?"),
        (TAKE, f"{TAKE} packet->handle = (void *)-1;", "mine: what comes out are no packets"),
        ("return 0;", "return -1;", "mine: does not begin: the rate, the limit, or its own init"),
    ],
)
def test_what_cannot_be_tried(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, old: str, new: str, said: str
) -> None:
    monkeypatch.setattr(tool, "TIMEOUT_S", 2.0)
    assert run(["aqm", "check", write(old, new)]) == 2
    assert said in capsys.readouterr().err
