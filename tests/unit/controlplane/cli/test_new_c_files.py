"""`nashbed cc new` and `nashbed aqm new`: a file of one's own begins as one that works."""

import json
from pathlib import Path

import pytest
from nashbed.controlplane.cli.main import run
from nashbed.controlplane.machine.paths import AQM_TEMPLATE, CCA_TEMPLATE

each_command = pytest.mark.parametrize(
    ("command", "template"), [("cc", CCA_TEMPLATE), ("aqm", AQM_TEMPLATE)]
)
Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@each_command
def test_the_template_is_written_once(
    folder: Path, capsys: Capture, command: str, template: Path
) -> None:
    assert run([command, "new", "mine"]) == 0
    assert (folder / "mine.c").read_text() == template.read_text()
    header = template.parent / "cc.h" if command == "cc" else "core/aqm.h"
    said = capsys.readouterr().out
    assert f"{header}; try: nashbed {command} check mine.c" in said
    (folder / "mine.c").write_text("changed")
    assert run([command, "new", "mine.c"]) == 2
    assert "mine.c: exists already" in capsys.readouterr().err
    assert (folder / "mine.c").read_text() == "changed"


@pytest.mark.parametrize(
    ("command", "name", "said"),
    [
        ("cc", "MyCC", "MyCC.c: a congestion control has the name of its file, at most 15"),
        ("cc", "reno", "reno: the kernel has a congestion control of this name"),
        ("cc", "../mine", "../mine.c: write a name without a folder"),
        ("aqm", "Mine", "Mine.c: a discipline has the name of its file, at most 15"),
        ("aqm", "codel", "codel.c: nashbed has a codel of its own; rename the file"),
        ("aqm", "../mine", "../mine.c: write a name without a folder"),
    ],
)
def test_names_that_are_refused(
    folder: Path, capsys: Capture, command: str, name: str, said: str
) -> None:
    assert run([command, "new", name]) == 2
    assert said in capsys.readouterr().err
    assert list(folder.rglob("*.c")) == []


@each_command
def test_a_file_that_is_not_there(capsys: Capture, command: str, template: Path) -> None:
    assert run([command, "check", "none.c", "--json"]) == 2
    answer = json.loads(capsys.readouterr().out)
    assert answer["exit_code"] == 2
    assert f"none.c: no such file; `nashbed {command} new NAME` writes one" in json.dumps(answer)
