"""Where the controls of a scenario come from, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from nashbed.controlplane.config import Loaded, find_controls, parse_scenario, parse_testbed
from nashbed.controlplane.contract.errors import ConfigError
from nashbed.controlplane.contract.scenario import Scenario
from nashbed.controlplane.contract.testbed import Testbed
from tests.unit.controlplane.conftest import SCENARIO, TESTBED

KERNELS = ("reno", "cubic", "bbr")


@pytest.fixture
def shipped(tmp_path: Path) -> Path:
    folder = tmp_path / "shipped"
    folder.mkdir()
    (folder / "cc.h").write_text("")
    (folder / "bbr3.c").write_text('#include "cc.h"\n')
    return folder


def scenario(folder: Path, strategies: str, more: str = "") -> Loaded[Scenario]:
    """SCENARIO with other strategies and a file mycc.c beside it."""
    (folder / "mycc.c").write_text("int mine;\n")
    text = SCENARIO.replace("[cubic, bbr]", strategies) + more
    return parse_scenario(text, str(folder / "s.yaml"))


def bed_of(folder: Path, controls: str = "") -> Loaded[Testbed]:
    more = f"controls: {controls}\n" if controls else ""
    return parse_testbed(TESTBED + more, str(folder / "t.yaml"))


def test_a_path_is_a_name_from_there_on(tmp_path: Path, shipped: Path) -> None:
    bound = "acceptance: [{metric: crossing, expect: 1, tolerance: 1}]\n"
    loaded = scenario(tmp_path, "[cubic, ./mycc.c]", bound)
    assert loaded.model.strategies == ("cubic", "mycc")
    (control,) = find_controls(loaded, bed_of(tmp_path), KERNELS, shipped)
    assert (control.name, control.source) == ("mycc", tmp_path / "mycc.c")


def test_mixes_and_bounds_use_the_name(tmp_path: Path) -> None:
    more = (
        "acceptance:\n  - {metric: throughput_share, strategy: mycc, mix: {cubic: 1, mycc: 2}, "
        "max: 90%}\n"
    )
    assert scenario(tmp_path, "[cubic, ./mycc.c]", more).model.acceptance[0].metric
    with pytest.raises(ConfigError, match=r"'other' is not among the strategies \(cubic, mycc\)"):
        scenario(tmp_path, "[cubic, ./mycc.c]", more.replace("mycc", "other"))


def test_the_kernels_own_is_the_kernels(tmp_path: Path, shipped: Path) -> None:
    loaded = scenario(tmp_path, "[cubic, bbr3]")
    assert find_controls(loaded, bed_of(tmp_path), (*KERNELS, "bbr3"), shipped) == ()
    (control,) = find_controls(loaded, bed_of(tmp_path), KERNELS, shipped)
    assert control.source == shipped / "bbr3.c"


def test_a_name_of_nobodys_is_left_to_others(tmp_path: Path, shipped: Path) -> None:
    assert find_controls(scenario(tmp_path, "[cubic, bbrr]"), bed_of(tmp_path), KERNELS, shipped
                         ) == ()  # fmt: skip


def test_the_testbeds_folder(tmp_path: Path, shipped: Path) -> None:
    (tmp_path / "ours").mkdir()
    (tmp_path / "ours" / "other.c").write_text("int other;\n")
    (tmp_path / "ours" / "bbr3.c").write_text("int other;\n")
    bed = bed_of(tmp_path, "ours")
    (control,) = find_controls(scenario(tmp_path, "[cubic, other]"), bed, KERNELS, shipped)
    assert control.source == tmp_path / "ours" / "other.c"
    with pytest.raises(ConfigError, match=r"ours/bbr3\.c: nashbed ships 'bbr3' as well; rename"):
        find_controls(scenario(tmp_path, "[cubic, bbr3]"), bed, KERNELS, shipped)
    with pytest.raises(ConfigError, match=r"t\.yaml: controls: .*/none: no such folder"):
        find_controls(
            scenario(tmp_path, "[cubic, other]"), bed_of(tmp_path, "none"), KERNELS, shipped
        )


def test_a_taken_name_and_a_missing_file_are_a_line_each(tmp_path: Path, shipped: Path) -> None:
    loaded = scenario(tmp_path, "[./bbr.c, ./none.c]")
    with pytest.raises(ConfigError) as caught:
        find_controls(loaded, bed_of(tmp_path), KERNELS, shipped)
    first, second = caught.value.message.splitlines()
    assert first == (
        f"{tmp_path}/s.yaml: strategies: {tmp_path}/bbr.c: the kernel has 'bbr' of its own; "
        "rename the file"
    )
    assert second.startswith(f"{tmp_path}/s.yaml: strategies: {tmp_path}/none.c: no such file")


@pytest.mark.parametrize(
    ("strategies", "said"),
    [
        ("[cubic, ./MyCC.c]", "./MyCC.c: a control has the name of its file, at most 15 of"),
        ("[mycc, ./mycc.c]", "a congestion control is listed twice"),
        ("[./a/x.c, ./b/x.c]", "a congestion control is listed twice"),
        ("[cubic, ./mycc.o]", "'./mycc.o' is not allowed"),
    ],
)
def test_what_cannot_be_a_strategy(tmp_path: Path, strategies: str, said: str) -> None:
    with pytest.raises(ConfigError, match=r"s\.yaml:6: strategies") as caught:
        scenario(tmp_path, strategies)
    assert said in caught.value.message
