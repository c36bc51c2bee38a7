"""The command line: exit codes, one line for each error, JSON where a script reads."""

import json
import logging
import re
import sys
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace

import pytest
from nashbed.controlplane.cli.app import COMMANDS, LazyCommand, command_line
from nashbed.controlplane.cli.console import duration_text
from nashbed.controlplane.cli.main import run
from nashbed.controlplane.contract.errors import EXIT_CONFIG, EXIT_OK, HostError
from nashbed.controlplane.machine.host.preflight import wanted_free_bytes
from nashbed.controlplane.machine.kernels.cache import GuestKernel
from nashbed.controlplane.machine.process import command
from tests.unit.controlplane.conftest import SCENARIO, TESTBED
from typer.main import get_group

ROOT = Path(__file__).resolve().parents[4]
QUICKSTART = str(ROOT / "configs" / "scenarios" / "quickstart.yaml")
BENCH_PARTS = ("startup", "replay", "virtual", "cluster", "lanes", "analysis", "all", "table")

Capture = pytest.CaptureFixture[str]


@pytest.mark.parametrize(
    "command", [*(str(each.name) for each in COMMANDS), *(f"bench {part}" for part in BENCH_PARTS)]
)
def test_every_help_has_an_example(command: str, capsys: Capture) -> None:
    assert run([*command.split(), "--help"]) == 0
    assert re.search(rf"Examples?:\s+nashbed {command}", capsys.readouterr().out)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_the_table_has_the_first_line_of_each_commands_help(command: LazyCommand) -> None:
    loaded = command.load()
    assert loaded.name == command.name
    assert loaded.help.splitlines()[0] == command.help


def test_every_command_is_in_the_table() -> None:
    """A command that a module has and the table lacks could not be called."""
    modules = {import_module(f"nashbed.controlplane.cli.{each.module}") for each in COMMANDS}
    groups = [get_group(module.app) for module in modules]
    names = {name for group in groups if not group.name for name in group.commands}
    assert names | {group.name for group in groups if group.name} == set(command_line().commands)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_every_option_says_what_it_is(command: LazyCommand) -> None:
    """The words come from the API, where an argument may say "As `start` has it."."""
    loaded = command.load()
    for each in (loaded, *getattr(loaded, "commands", {}).values()):
        context = each.context_class(each, info_name="nashbed")
        for _, says in filter(None, (option.get_help_record(context) for option in each.params)):
            assert re.match(r"[^\[]", says), each.name
            assert not re.match("(As|See) `", says)


IMPORTED = """
import sys
from nashbed.controlplane.cli.main import run
assert run(sys.argv[1:]) == 0
ours = {"scenario"} if "nashbed.controlplane.contract.scenario" in sys.modules else set()
print("imported:", *sorted({name.partition(".")[0] for name in sys.modules} | ours))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("args", "unwanted"),
    [
        (["--help"], {"scipy", "sklearn", "matplotlib", "polars", "pyarrow", "numpy", "pydantic",
                      "grpc", "thrift", "rich"}),
        (["atlas", "--help"], {"scipy", "sklearn", "matplotlib", "polars", "pyarrow", "numpy"}),
        (["export", "--help"], {"matplotlib", "polars", "pyarrow", "numpy", "scenario"}),
        (["validate", QUICKSTART], {"scipy", "sklearn", "matplotlib", "polars", "pyarrow", "numpy",
                                    "grpc", "thrift"}),
    ],
)  # fmt: skip
def test_what_a_command_does_not_import(args: list[str], unwanted: set[str]) -> None:
    done = command.run([sys.executable, "-c", IMPORTED, *args])
    imported = set(done.out.rpartition("imported:")[2].split())
    assert "typer" in imported
    assert imported & unwanted == set()


def test_the_shell_completes_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_NASHBED_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "nashbed va")
    monkeypatch.setenv("COMP_CWORD", "1")
    done = command.run([sys.executable, "-c", "from nashbed.controlplane.cli import main; main()"])
    assert done.out.split() == ["validate"]


def test_help_shows_groups_with_whole_descriptions(capsys: Capture) -> None:
    assert run(["--help"]) == 0
    out = capsys.readouterr().out
    titles = ["Run:", "Look at results:", "Write your own:", "Ask models:", "Prepare machines:"]
    assert re.findall(r"^[A-Z].*:$", out, re.MULTILINE) == ["Options:", *titles]
    words = " ".join(out.split())
    hidden = [c.name for c in COMMANDS if f"{c.name} {c.help}" not in words]
    assert hidden == ["ne", "mixes", "schema"]


def test_the_version(capsys: Capture) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"nashbed {version('nashbed')}\n"


@pytest.mark.parametrize(
    ("what", "named"),
    [
        ("scenarios", ("mishra2022/fig01", "One CUBIC, one BBR, by buffer")),
        ("testbeds", ("virtual", "Guests of this machine, in virtual time")),
        ("ccas", ("bbr3", "BBR version 3")),
    ],
)
def test_what_can_be_named_is_listed(what: str, named: tuple[str, str], capsys: Capture) -> None:
    assert run(["list", what, "--json"]) == 0
    told = {each["name"]: each["about"] for each in json.loads(capsys.readouterr().out)[what]}
    assert told[named[0]].startswith(named[1])
    assert run(["list", what, "results/run"]) == 2
    assert capsys.readouterr().err.startswith("nashbed: RUN_DIR: `nashbed list figures RUN_DIR`")


def test_figures_of_a_run_are_listed(
    whole_run: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    figure = SimpleNamespace(name="map-b1bdp", title="A map")
    monkeypatch.setattr("nashbed.figures.of_run", lambda run: [figure] * (run.path == whole_run))
    assert run(["list", "figures", str(whole_run), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["figures"] == [{"name": "map-b1bdp", "about": "A map"}]


def test_help_tells_the_exit_codes(capsys: Capture) -> None:
    assert run(["--help"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    for code in ("0 ok", "2 configuration", "3 target", "4 host", "5 internal", "20 a complete"):
        assert code in text


def test_validate(capsys: Capture) -> None:
    assert run(["validate", QUICKSTART]) == 0
    assert capsys.readouterr().out == f"{QUICKSTART}: ok, 50 trials on virtual\n"
    assert run(["validate", QUICKSTART, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "format": 1, "ok": True, "scenario": "quickstart", "testbed": "virtual", "trials": 50,
    }  # fmt: skip


def test_a_key_is_set_on_the_command_line(capsys: Capture) -> None:
    words = ["--set", "trials=1", "--set", "sweep.buffer=[1bdp, 2bdp, 3bdp]"]
    assert run(["validate", QUICKSTART, "--json", *words]) == 0
    assert json.loads(capsys.readouterr().out)["trials"] == 15
    for wrong, says in (
        ("trials", "--set trials: write KEY=VALUE, e.g. bottleneck.rate=50mbit"),
        ("trial=1", "quickstart.trial: there is no such key; did you mean 'trials'? write name"),
        ("trials=[", "--set trials:1: not YAML"),
    ):
        assert run(["validate", QUICKSTART, "--set", wrong]) == 2
        assert capsys.readouterr().err.startswith(f"nashbed: {says}")


@pytest.mark.slow
def test_plan(capsys: Capture) -> None:
    assert run(["plan", QUICKSTART]) == 0
    text = capsys.readouterr().out
    assert "quickstart: 50 trials" in text
    assert "5bdp (250kB)" in text
    assert run(["plan", QUICKSTART, "--json"]) == 0
    planned = json.loads(capsys.readouterr().out)
    assert len(planned["trials"]) == 50
    wanted = wanted_free_bytes(planned["estimated_disk_bytes"])
    assert f"({wanted / 1e9:.2f} GB must be free)" in text
    settings = [each["setting"] for each in planned["trial_lengths"]["looked_at"]]
    assert settings == ["b1bdp", "b5bdp"]


def test_a_plan_without_the_model(capsys: Capture) -> None:
    assert run(["plan", QUICKSTART, "--no-model", "--json"]) == 0
    assert "trial_lengths" not in json.loads(capsys.readouterr().out)


def test_a_mistake_in_a_file(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(SCENARIO.replace("buffer", "bufer"))
    assert run(["validate", str(path), "--json"]) == 2
    out, err = capsys.readouterr()
    answer = json.loads(out)
    assert (answer["ok"], answer["exit_code"]) == (False, 2)
    assert err == f"nashbed: {answer['error']}\n"
    assert re.match(rf"{path}:3: bottleneck.bufer: unknown key; did you mean", answer["error"])


def test_a_strategy_that_the_kernel_lacks(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(SCENARIO.replace("bbr]", "cdg]"))
    assert run(["validate", str(path), "--testbed", "embedded"]) == 2
    assert "this kernel has no 'cdg'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("args", "line"),
    [
        (["rum"], r"nashbed: No such command 'rum'.*\(see `nashbed --help`\)"),
        (["run"], r"nashbed: Missing argument.*\(see `nashbed run --help`\)"),
        (["plan", "x", "--bogus"], r"nashbed: No such option.*\(see `nashbed plan --help`\)"),
        (["resume", "/nonexistent"], "nashbed: /nonexistent: no such run directory"),
        (["report", "/nonexistent"], "nashbed: /nonexistent"),
        (["equilibria", "/nonexistent"], "nashbed: /nonexistent"),
    ],
)
def test_wrong_arguments_are_one_line(args: list[str], line: str, capsys: Capture) -> None:
    assert run(args) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert re.match(line, err)


@pytest.mark.parametrize(
    ("args", "old", "today"),
    [
        (["ne"], "ne", "equilibria"),
        (["mixes"], "mixes", "equilibria --mixes"),
        (["model", "--against=/nonexistent"], "--against", "--measured"),
        (["calibrate", "embedded", "--rtt", "5"], "--rtt", "--base-rtt"),
        (["timestamps", "--against", "/nonexistent"], "--against", "--reference"),
    ],
)
def test_old_names_are_known_for_one_version(
    args: list[str], old: str, today: str, capsys: Capture
) -> None:
    words = args if args[0] == "calibrate" else [*args, "/nonexistent"]
    assert run(words) == 2
    note, error = capsys.readouterr().err.splitlines()
    assert note == f"nashbed: {old} is called {today} now; the next version knows only that"
    assert "No such option" not in error


def test_not_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    real = ["--testbed", "embedded", "--out", str(tmp_path)]
    assert run(["run", QUICKSTART, *real]) == 4
    error = capsys.readouterr().err
    assert "nashbed: not root" in error
    assert "`--testbed virtual`, which needs none" in error
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("user", [0, 1000])
def test_time_is_virtual_unless_a_testbed_is_named(
    user: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    def none_built(wanted: str = "") -> GuestKernel:
        raise HostError("no kernel for virtual time is built: run `make virtual`")

    monkeypatch.setattr("os.geteuid", lambda: user)
    monkeypatch.setattr("nashbed.controlplane.machine.guest.kernel.find_kernel", none_built)
    assert run(["validate", QUICKSTART]) == 0
    out, err = capsys.readouterr()
    assert (out, err) == (f"{QUICKSTART}: ok, 50 trials on virtual\n", "")
    assert run(["plan", QUICKSTART, "--testbed", "embedded"]) == 0
    out, err = capsys.readouterr()
    assert "virtual" not in out + err
    assert run(["run", QUICKSTART, "--out", str(tmp_path)]) == 4
    assert "no kernel for virtual time is built" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_testbed_is_a_path_or_a_name(capsys: Capture) -> None:
    path = str(ROOT / "configs" / "testbeds" / "virtual.yaml")
    for testbed in ("virtual", path):
        assert run(["plan", QUICKSTART, "--testbed", testbed]) == 0
        assert "virtual time: each trial about" in capsys.readouterr().out
    assert run(["validate", QUICKSTART, "--testbed", "virtuel"]) == 2
    assert "testbed 'virtuel': there is no such file" in capsys.readouterr().err


@pytest.mark.usefixtures("as_root")
def test_a_core_that_is_not_there(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "t.yaml"
    path.write_text(TESTBED + "dataplane: {cores: [1000]}\n")
    assert run(["run", QUICKSTART, "--testbed", str(path), "--out", str(tmp_path / "r")]) == 4
    assert (
        "dataplane.cores has core 1000, but this machine has cores 0 to" in capsys.readouterr().err
    )


@pytest.mark.usefixtures("as_root")
def test_too_little_disk(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nashbed.controlplane.machine.host.preflight.built", lambda path: path)
    monkeypatch.setattr("nashbed.controlplane.machine.host.preflight.SPARE_BYTES", 10**18)
    # What else this machine has or does at the moment is not the matter here.
    monkeypatch.setattr(
        "nashbed.controlplane.machine.host.preflight.require_huge_pages", lambda testbed: None
    )
    monkeypatch.setattr("nashbed.controlplane.machine.host.runs.refuse_live_runs", lambda: None)
    out = ["--testbed", "embedded", "--out", str(tmp_path / "r")]
    assert run(["run", QUICKSTART, *out]) == 4
    assert re.search(r"GB free, about .* GB needed; free some", capsys.readouterr().err)
    assert list(tmp_path.iterdir()) == []


def test_an_unexpected_error_names_a_log(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    def fail(*args: object) -> None:
        raise ZeroDivisionError("by\nzero")

    monkeypatch.setattr("nashbed.planning.plan_run", fail)
    assert run(["plan", QUICKSTART]) == 5
    err = capsys.readouterr().err
    found = re.fullmatch(
        r"nashbed: internal error: ZeroDivisionError: by; traceback in (\S+)\n", err
    )
    assert found
    log = Path(found[1])
    assert "ZeroDivisionError: by" in log.read_text()
    log.unlink()


def test_ctrl_c(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    def fail(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("nashbed.planning.plan_run", fail)
    assert run(["plan", QUICKSTART]) == 130
    assert capsys.readouterr().err == "nashbed: stopped\n"
    assert run(["plan", QUICKSTART, "--json"]) == 130
    told = json.loads(capsys.readouterr().out)
    assert told == {"format": 1, "ok": False, "error": "stopped", "exit_code": 130}


@pytest.mark.parametrize(
    "words", ["doctor", "targets", "run x.yaml", "resume x", "calibrate x", "bench all", "cc list"]
)
def test_every_command_says_that_it_was_stopped(
    words: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """Whatever it is doing: the interrupt goes through the parser's own handling of it."""

    def stop(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("typer.core.TyperCommand.invoke", stop)
    assert run(words.split()) == 130
    assert capsys.readouterr().err == "nashbed: stopped\n"


def test_a_calibration_by_pktgen_warns_of_its_socket(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture, tmp_path: Path
) -> None:
    def refuse(*args: object) -> None:
        raise HostError("held")

    monkeypatch.setattr("nashbed.testbeds.machine_for", refuse)
    bed = tmp_path / "lab.yaml"
    bed.write_text(TESTBED)
    warning = "pktgen: its Lua socket runs whatever anybody sends and listens on every address"
    assert run(["calibrate", str(bed), "--load", "pktgen:loadhost", "--no-capacity"]) == 4
    assert warning in capsys.readouterr().err
    assert run(["calibrate", str(bed), "--load", "own", "--no-capacity"]) == 4
    assert warning not in capsys.readouterr().err


def test_doctor_names_a_remedy_for_what_is_missing(capsys: Capture) -> None:
    run(["doctor", "--json"])
    answer = json.loads(capsys.readouterr().out)
    names = {check["name"] for check in answer["checks"]}
    assert {"root", "huge pages", "data plane", "p4c-dpdk", "AF_XDP", "cores"} <= names
    assert all(check["remedy"] for check in answer["checks"] if not check["ok"])
    run(["doctor"])
    assert len(capsys.readouterr().out.splitlines()) >= len(names)


def test_schema(tmp_path: Path, capsys: Capture) -> None:
    assert run(["schema", "--out", str(tmp_path)]) == 0
    assert (tmp_path / "scenario.schema.json").is_file()


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0 s"), (59, "59 s"), (61, "1 min 1 s"), (7500, "2 h 5 min")]
)
def test_durations_as_people_say_them(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text


@pytest.mark.parametrize(
    ("words", "level", "shown"),
    [(["-v"], "", "INFO"), (["-vv"], "", "DEBUG"), ([], "Debug", "DEBUG"), ([], "", None)],
)
def test_the_log_is_shown_as_asked(
    words: list[str],
    level: str,
    shown: str | None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Capture,
) -> None:
    def logs(*_: object) -> list[Path]:
        for each in (logging.DEBUG, logging.INFO):
            logging.getLogger("nashbed.here").log(each, "said")
        return []

    monkeypatch.setenv("NASHBED_LOG", level)
    monkeypatch.setattr(logging.getLogger("nashbed"), "level", logging.NOTSET)
    monkeypatch.setattr("nashbed.controlplane.cli.schema.write_schemas", logs)
    assert run([*words, "schema"]) == EXIT_OK
    lines = capsys.readouterr().err.splitlines()
    everything = ["DEBUG nashbed.here: said", "INFO nashbed.here: said"]
    assert lines == (everything if shown == "DEBUG" else everything[1:] if shown else [])


def test_a_level_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setenv("NASHBED_LOG", "loud")
    assert run(["schema"]) == EXIT_CONFIG
    assert "NASHBED_LOG: 'loud' is no level; write debug" in capsys.readouterr().err
