"""What `cc evaluate` refuses before anything runs."""

from pathlib import Path

import pytest
from nashbed.controlplane.contract.errors import ConfigError, HostError
from nashbed.evaluation import evaluate


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"control": "bbbr"}, r"'bbbr' is not a known congestion control; did you mean 'bbr'\?"),
        ({"control": "nosuch.c"}, r"^nosuch.c: no such file; `nashbed cc new NAME` writes one"),
        ({"control": "cubic", "size": "quik"}, r"^size quik: did you mean 'quick'\? write one of"),
        (
            {"control": "cubic", "battery": "mine"},
            r"^mine: no such battery; there are bbr-draft, c4",
        ),
    ],
)
def test_what_there_is_not_is_refused(asked: dict[str, str], message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=message):
        evaluate(**asked, out=tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("control", ["cubic", "dctcp"])
def test_a_folder_that_cannot_be_made_for_a_control_that_can_run(
    control: str, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(HostError, match=r"file/out: cannot be made: Not a directory"):
        evaluate(control, out=tmp_path / "file" / "out")  # dctcp has the ECN that it needs
