"""JSON documents: read as they were written, replaced as a whole, refused in one line."""

import errno
import json
from pathlib import Path

import pytest
from nashbed.controlplane.contract.certificate import Certificate
from nashbed.controlplane.contract.plan import Plan
from nashbed.controlplane.contract.testbed import ASSUMED_CAPACITY
from nashbed.controlplane.store.documents import read_document, write_document
from nashbed.controlplane.store.errors import DiskFullError, RunError

REMEDY = "make it again"
PLAN = Plan(
    scenario="s", trials=(), expected_trials=0, flows_per_trial=1, trial_ns=1, lanes=1,
    estimated_seconds=1.5, estimated_disk_bytes=1, capacity=ASSUMED_CAPACITY,
)  # fmt: skip


def problem(path: Path) -> str:
    with pytest.raises(RunError) as caught:
        read_document(path, Plan, REMEDY)
    assert "\n" not in caught.value.message
    return caught.value.message


def test_a_document_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text("an old one")
    write_document(path, PLAN)
    assert read_document(path, Plan, REMEDY) == PLAN
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{", "is damaged (Expecting property name"),
        ("[]", "is damaged (it is not a JSON object); make it again"),
        ('{"format": 2}', "is damaged (scenario: Field required); make it again"),
        ("{}", "has no format number, this version reads 2; use the version that wrote it, or"),
        ('{"format": 1}', "has format 1, this version reads 2; use the version that wrote it, or"),
    ],
)
def test_damaged_documents(tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / "plan.json"
    path.write_text(text)
    assert problem(path).startswith(f"{path}: {expected}")
    assert problem(path).endswith(REMEDY)


def test_missing_and_unreadable_documents(tmp_path: Path) -> None:
    assert problem(tmp_path / "none.json") == f"{tmp_path}/none.json: is missing; make it again"
    assert "cannot be read (Is a directory)" in problem(tmp_path)
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    assert "is damaged ('utf-8' codec" in problem(tmp_path / "binary")


def test_an_unknown_key_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    write_document(path, PLAN)
    raw = json.loads(path.read_text())
    del raw["sha256"]
    path.write_text(json.dumps(raw | {"extra": 1}))
    assert "is damaged (extra: Extra inputs are not permitted)" in problem(path)


def test_a_full_disk_leaves_the_old_document(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "plan.json"
    path.write_text("an old one")

    def full(*_: object, **__: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(DiskFullError, match="the disk is full"):
        write_document(path, PLAN)
    assert path.read_text() == "an old one"


def test_every_document_names_its_format() -> None:
    assert [model.model_fields["format"].default for model in (Plan, Certificate)] == [2, 1]
