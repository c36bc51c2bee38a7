"""`nashbed cc` as a person calls it: all the way for a file that is right, else one message."""

import json
from pathlib import Path

import pytest
from nashbed.controlplane.cli.main import run
from nashbed.controlplane.config import load_scenario
from nashbed.controlplane.machine.c_files import cc_check as check_module
from nashbed.controlplane.machine.paths import CCA_SIMULATOR, CCA_TEMPLATE

needs_simulator = pytest.mark.skipif(
    not CCA_SIMULATOR.is_file(), reason="needs nashbed-cc-sim: run `make build`"
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, a cache of its own, and a kernel that is asked nothing."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(check_module, "kernel_problems", lambda: ["this is a test"])
    return tmp_path


@pytest.mark.slow
@needs_simulator
def test_the_template_does_what_reno_does(capsys: pytest.CaptureFixture[str]) -> None:
    """It fills a short path, loses most of a long one under loss, and leaves CUBIC the rest."""
    run(["cc", "new", "mycc"])
    capsys.readouterr()
    assert run(["cc", "check", "mycc.c", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["name"], data["loads"]) == ("mycc", None)
    by_path = {(p["rate_bps"], p["base_rtt_ns"]): p for p in data["paths"]}
    short, long = by_path[10**7, 5_000_000], by_path[2 * 10**8, 100_000_000]
    assert short["link_share"] > 0.95
    assert short["pair_ratio"] > 0.8
    # Mathis: 1.22 MSS / (RTT sqrt(p)) is 1.8 Mbit/s at 1 % and 100 ms.
    assert long["under_loss"]["10000"] * long["link_share"] * 2e8 < 4e6
    assert long["share_against_cubic"] < 0.2


@pytest.mark.slow
@needs_simulator
def test_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    run(["cc", "new", "mycc"])
    assert run(["cc", "check", "mycc.c"]) == 0
    out = capsys.readouterr().out
    assert "what mycc does" in out
    assert out.count("mbit") == 9


@pytest.mark.slow
@needs_simulator
@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("mycc.c", "mine_init", "mine init", "mycc.c: does not compile"),
        ("mycc.c", "if (!mine)", "cc_need_pacing(sk); cc_set_rate(sk, 1);\n\tif (1)",
         "mycc: never sends: on no simulated path"),
        ("reno.c", "struct", "struct", "reno.c: the kernel has 'reno' of its own; rename"),
    ],
)  # fmt: skip
def test_files_that_are_wrong_are_one_message(
    folder: Path, capsys: pytest.CaptureFixture[str], file: str, old: str, new: str, said: str
) -> None:
    (folder / file).write_text(CCA_TEMPLATE.read_text().replace(old, new))
    assert run(["cc", "check", file]) == 2
    assert said in capsys.readouterr().err


def test_a_scenario_asks_whether_it_is_fair(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["cc", "new", "mycc"])
    assert run(["init", "fair", "mycc.c"]) == 0
    assert "wrote fair.yaml; try: nashbed run fair.yaml" in capsys.readouterr().out
    assert load_scenario(folder / "fair.yaml").model.strategies == ("cubic", "reno", "mycc")
    assert run(["init", "fair", "mycc.c"]) == 2
    assert "fair.yaml: exists already" in capsys.readouterr().err
    (folder / "other.c").write_text("int x;\n")
    assert run(["init", "fair", "other.c"]) == 2
    assert "other.c: is no congestion control" in capsys.readouterr().err


def test_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["cc", "list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["controls"]
    assert run(["cc", "list"]) == 0
    out = capsys.readouterr().out
    assert all(cca["name"] in out for cca in listed)
    assert "strategies: [cubic, ./mycc.c]" in out
