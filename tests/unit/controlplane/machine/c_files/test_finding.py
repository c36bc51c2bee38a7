"""CCAs: where they come from, and which a kernel has."""

from pathlib import Path

import pytest
from nashbed.controlplane.config import Loaded, parse_scenario, parse_testbed
from nashbed.controlplane.contract.errors import ConfigError, HostError
from nashbed.controlplane.contract.scenario import Scenario
from nashbed.controlplane.contract.testbed import Testbed
from nashbed.controlplane.machine.c_files import finding
from nashbed.controlplane.machine.c_files.finding import check_strategies, find_ccas
from nashbed.controlplane.machine.c_files.kernel_support import configured_ccas
from nashbed.controlplane.machine.paths import CCA_FOLDER, GUEST_CONFIGURATION
from tests.unit.controlplane.conftest import SCENARIO, TESTBED

KERNELS = ("reno", "cubic", "bbr")


@pytest.fixture(autouse=True)
def kernels(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The CCAs that the hosts' kernel is said to have."""
    have = list(KERNELS)
    monkeypatch.setattr(finding, "kernels_own", lambda _: have)
    return have


def scenario(folder: Path, strategies: str, more: str = "") -> Loaded[Scenario]:
    """SCENARIO with other strategies and a file mycc.c beside it."""
    (folder / "mycc.c").write_text("int mine;\n")
    text = SCENARIO.replace("[cubic, bbr]", strategies) + more
    return parse_scenario(text, str(folder / "s.yaml"))


def bed_of(folder: Path, ccas: str = "") -> Loaded[Testbed]:
    more = f"controls: {ccas}\n" if ccas else ""
    return parse_testbed(TESTBED + more, str(folder / "t.yaml"))


def test_a_path_is_a_name_from_there_on(tmp_path: Path) -> None:
    bound = "acceptance: [{metric: crossing, expect: 1, tolerance: 1}]\n"
    loaded = scenario(tmp_path, "[cubic, ./mycc.c]", bound)
    assert loaded.model.strategies == ("cubic", "mycc")
    (cca,) = find_ccas(loaded, bed_of(tmp_path))
    assert (cca.name, cca.source) == ("mycc", tmp_path / "mycc.c")


def test_mixes_and_bounds_use_the_name(tmp_path: Path) -> None:
    more = (
        "acceptance:\n  - {metric: throughput_share, strategy: mycc, mix: {cubic: 1, mycc: 2}, "
        "max: 90%}\n"
    )
    assert scenario(tmp_path, "[cubic, ./mycc.c]", more).model.acceptance[0].metric
    with pytest.raises(ConfigError, match=r"'other' is not among the strategies \(cubic, mycc\)"):
        scenario(tmp_path, "[cubic, ./mycc.c]", more.replace("mycc", "other"))


def test_the_kernels_own_is_the_kernels(tmp_path: Path, kernels: list[str]) -> None:
    loaded = scenario(tmp_path, "[cubic, bbr3]")
    (cca,) = find_ccas(loaded, bed_of(tmp_path))
    assert cca.source == CCA_FOLDER / "bbr3.c"
    kernels.append("bbr3")
    assert find_ccas(loaded, bed_of(tmp_path)) == ()


def test_a_name_of_nobodys_is_left_to_others(tmp_path: Path) -> None:
    assert find_ccas(scenario(tmp_path, "[cubic, bbrr]"), bed_of(tmp_path)) == ()


def test_the_testbeds_folder(tmp_path: Path) -> None:
    (tmp_path / "ours").mkdir()
    (tmp_path / "ours" / "other.c").write_text("int other;\n")
    (tmp_path / "ours" / "bbr3.c").write_text("int other;\n")
    bed = bed_of(tmp_path, "ours")
    (cca,) = find_ccas(scenario(tmp_path, "[cubic, other]"), bed)
    assert cca.source == tmp_path / "ours" / "other.c"
    with pytest.raises(ConfigError, match=r"ours/bbr3\.c: nashbed ships 'bbr3' as well; rename"):
        find_ccas(scenario(tmp_path, "[cubic, bbr3]"), bed)
    with pytest.raises(ConfigError, match=r"t\.yaml: controls: .*/none: no such folder"):
        find_ccas(scenario(tmp_path, "[cubic, other]"), bed_of(tmp_path, "none"))


def test_a_taken_name_and_a_missing_file_are_a_line_each(tmp_path: Path) -> None:
    loaded = scenario(tmp_path, "[./bbr.c, ./none.c]")
    with pytest.raises(ConfigError) as caught:
        find_ccas(loaded, bed_of(tmp_path))
    first, second = caught.value.message.splitlines()
    assert first == (
        f"{tmp_path}/s.yaml: strategies: {tmp_path}/bbr.c: the kernel has 'bbr' of its own; "
        "rename the file"
    )
    assert second.startswith(f"{tmp_path}/s.yaml: strategies: {tmp_path}/none.c: no such file")


@pytest.mark.parametrize(
    ("strategies", "said"),
    [
        (
            "[cubic, ./MyCC.c]",
            "./MyCC.c: a congestion control has the name of its file, at most 15 of",
        ),
        ("[mycc, ./mycc.c]", "a congestion control is listed twice"),
        ("[./a/x.c, ./b/x.c]", "a congestion control is listed twice"),
        ("[cubic, ./mycc.o]", "'./mycc.o' is not allowed"),
    ],
)
def test_what_cannot_be_a_strategy(tmp_path: Path, strategies: str, said: str) -> None:
    with pytest.raises(ConfigError, match=r"s\.yaml:6: strategies") as caught:
        scenario(tmp_path, strategies)
    assert said in caught.value.message


def test_a_configuration_says_which_ccas_are_built_in(tmp_path: Path) -> None:
    path = tmp_path / "kernel.config"
    path.write_text(
        "CONFIG_TCP_CONG_ADVANCED=y\nCONFIG_TCP_CONG_BBR=y  # paced by TCP\n"
        "CONFIG_TCP_CONG_HSTCP=y\nCONFIG_TCP_CONG_CDG=m\n# CONFIG_TCP_CONG_NV is not set\n"
        "CONFIG_DEFAULT_CUBIC=y\nCONFIG_TCP_CONG_CUBIC=y\n"
    )
    built_in = configured_ccas(path)
    assert built_in == ("bbr", "cubic", "highspeed", "reno")
    check_strategies(("bbr", "reno"), "s", built_in, loadable=False)
    with pytest.raises(ConfigError, match=r"^s: strategies: the guests' kernel has no 'cdg' \(av"):
        check_strategies(("bbr", "cdg"), "s", built_in, loadable=False)
    with pytest.raises(ConfigError, match=r"did you mean 'bbr'\?"):
        check_strategies(("bbrr",), "s", built_in, loadable=False)
    with pytest.raises(HostError, match="nowhere: cannot be read"):
        configured_ccas(tmp_path / "nowhere")


def test_guests_have_every_cca_of_the_kernel_that_makes_sense() -> None:
    assert set(configured_ccas(GUEST_CONFIGURATION)) >= {
        "bbr", "bic", "cdg", "cubic", "dctcp", "htcp", "hybla", "illinois", "lp", "nv", "reno",
        "scalable", "vegas", "veno", "westwood", "yeah",
    }  # fmt: skip
