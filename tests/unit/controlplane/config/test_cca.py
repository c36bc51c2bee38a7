"""CCAs: where they come from, and which a kernel has."""

from __future__ import annotations

from pathlib import Path

import pytest
from nashbed.controlplane.cli.main import run
from nashbed.controlplane.config import (
    Loaded,
    check_strategies,
    check_utility,
    configured_ccas,
    find_ccas,
    parse_scenario,
    parse_testbed,
)
from nashbed.controlplane.contract.errors import ConfigError, HostError
from nashbed.controlplane.contract.scenario import Scenario
from nashbed.controlplane.contract.sweep import DelayUtility, UserUtility
from nashbed.controlplane.contract.testbed import Testbed
from nashbed.controlplane.machine.paths import GUEST_CONFIGURATION
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


def bed_of(folder: Path, ccas: str = "") -> Loaded[Testbed]:
    more = f"controls: {ccas}\n" if ccas else ""
    return parse_testbed(TESTBED + more, str(folder / "t.yaml"))


def test_a_path_is_a_name_from_there_on(tmp_path: Path, shipped: Path) -> None:
    bound = "acceptance: [{metric: crossing, expect: 1, tolerance: 1}]\n"
    loaded = scenario(tmp_path, "[cubic, ./mycc.c]", bound)
    assert loaded.model.strategies == ("cubic", "mycc")
    (cca,) = find_ccas(loaded, bed_of(tmp_path), KERNELS, shipped)
    assert (cca.name, cca.source) == ("mycc", tmp_path / "mycc.c")


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
    assert find_ccas(loaded, bed_of(tmp_path), (*KERNELS, "bbr3"), shipped) == ()
    (cca,) = find_ccas(loaded, bed_of(tmp_path), KERNELS, shipped)
    assert cca.source == shipped / "bbr3.c"


def test_a_name_of_nobodys_is_left_to_others(tmp_path: Path, shipped: Path) -> None:
    assert find_ccas(scenario(tmp_path, "[cubic, bbrr]"), bed_of(tmp_path), KERNELS, shipped
                         ) == ()  # fmt: skip


def test_the_testbeds_folder(tmp_path: Path, shipped: Path) -> None:
    (tmp_path / "ours").mkdir()
    (tmp_path / "ours" / "other.c").write_text("int other;\n")
    (tmp_path / "ours" / "bbr3.c").write_text("int other;\n")
    bed = bed_of(tmp_path, "ours")
    (cca,) = find_ccas(scenario(tmp_path, "[cubic, other]"), bed, KERNELS, shipped)
    assert cca.source == tmp_path / "ours" / "other.c"
    with pytest.raises(ConfigError, match=r"ours/bbr3\.c: nashbed ships 'bbr3' as well; rename"):
        find_ccas(scenario(tmp_path, "[cubic, bbr3]"), bed, KERNELS, shipped)
    with pytest.raises(ConfigError, match=r"t\.yaml: controls: .*/none: no such folder"):
        find_ccas(scenario(tmp_path, "[cubic, other]"), bed_of(tmp_path, "none"), KERNELS, shipped)


def test_a_taken_name_and_a_missing_file_are_a_line_each(tmp_path: Path, shipped: Path) -> None:
    loaded = scenario(tmp_path, "[./bbr.c, ./none.c]")
    with pytest.raises(ConfigError) as caught:
        find_ccas(loaded, bed_of(tmp_path), KERNELS, shipped)
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


def scenario_with(utility: str) -> str:
    return f"{SCENARIO.rstrip()}\nequilibrium: {{utility: {utility}}}\n"


def utility_of(text: str) -> object:
    return parse_scenario(scenario_with(text), "s.yaml").model.equilibrium.utility


def test_what_can_be_written() -> None:
    assert utility_of("throughput") == "throughput"
    delay = utility_of("{delay_cost: 100kbit}")
    assert isinstance(delay, DelayUtility)
    assert delay.delay_cost.bps == 100_000
    own = utility_of('{function: "a.b:c"}')
    assert isinstance(own, UserUtility)
    assert own.function == "a.b:c"


@pytest.mark.parametrize(
    "text", ["thruput", "{delay_cost: 3}", '{function: "import os"}', '{function: "lambda x: x"}',
             "{delay: 100kbit}", '{function: "a:b()"}'],
)  # fmt: skip
def test_anything_else_is_refused_with_its_line(text: str) -> None:
    line = len(SCENARIO.rstrip().splitlines()) + 1
    with pytest.raises(ConfigError, match=rf"s.yaml:{line}: equilibrium.utility"):
        utility_of(text)


def test_a_function_is_tried_while_validating(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(scenario_with('{function: "no_such_module_here:f"}'))
    assert run(["validate", str(path)]) == 2
    err = capsys.readouterr().err
    assert f"{path}: equilibrium.utility.function: no_such_module_here:f: no module" in err


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


def test_a_good_function_passes() -> None:
    check_utility(parse_scenario(scenario_with('{function: "math:sqrt"}'), "s.yaml").model, "s")
    check_utility(parse_scenario(SCENARIO, "s.yaml").model, "s")
