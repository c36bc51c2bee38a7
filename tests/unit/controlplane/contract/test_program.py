"""Programs as strategies: how a scenario names them, what their files say, and what is refused."""

import pickle
from pathlib import Path

import pytest
from nashbed.controlplane.config import load_scenario, parse_scenario
from nashbed.controlplane.config.programs import SHIPPED, find_program, program_names, read_program
from nashbed.controlplane.contract.applications import TCP_PROTOCOL, UDP_PROTOCOL
from nashbed.controlplane.contract.errors import ConfigError, PrerequisiteError
from nashbed.controlplane.contract.program import filled
from nashbed.controlplane.contract.scenario import Scenario
from nashbed.controlplane.contract.testbed import Testbed
from nashbed.controlplane.machine.process.flow_programs import require_programs, which
from nashbed.controlplane.plan.attempt import Attempt, make_attempt
from nashbed.controlplane.targets.dpdk import dpdk_capabilities
from tests.unit.controlplane.conftest import SCENARIO, plan_of

FILE = """\
title: A program of a test
transport: udp
sender: client
server: [/bin/cat, "{port}"]
client: [/bin/cat, "{client_port}", "{cc}"]
ccs: [cubic, reno]
"""
NAMED = SCENARIO.replace("[cubic, bbr]", "[cubic, {program: mine-reno.yaml}]")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mine.yaml").write_text(FILE)
    return tmp_path


def scenario_in(folder: Path, text: str = NAMED) -> Scenario:
    (folder / "s.yaml").write_text(text)
    return load_scenario(folder / "s.yaml").model


def test_a_program_has_the_name_of_its_file(folder: Path) -> None:
    scenario = scenario_in(folder)
    assert scenario.strategies == ("cubic", "mine-reno")
    assert scenario.kernel_ccas == ("cubic",)
    strategy = pickle.loads(pickle.dumps(scenario.programs["mine-reno"]))
    assert strategy.written == {"program": "mine-reno.yaml"}
    assert strategy.program == read_program(folder / "mine.yaml")


def test_every_shipped_program_is_found_and_read() -> None:
    names = program_names()
    assert {"ngtcp2-bbr2.yaml", "iperf3-cubic.yaml"} <= {*names}
    assert all(read_program(find_program(name, Path("/nowhere"))).ccs for name in names)
    assert "certificate" in read_program(SHIPPED / "ngtcp2.yaml").server[-1]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("mine-reno.yaml", "mine-bbr.yaml", "name it with one of mine-cubic.yaml, mine-reno.yaml"),
        ("mine-reno.yaml", "ngtcp-cubic.yaml", "did you mean 'ngtcp2-cubic.yaml'"),
        ("program: mine-reno.yaml", "program: mine.c", "write {program: FILE.yaml}"),
        ("duration: 400ms", "duration: {until: settled, at_least: 200s, at_most: 400s}",
         "programs send for a fixed time"),
        ("base_rtt: 10ms}", "base_rtt: 10ms, size: 1MB}", "programs send bulk data"),
        ("start_jitter: 50ms", "start: iperf3", "is that of our own generator"),
        ("start_jitter: 50ms", "hosts: {cpu: {per_datagram: 2s}}", "2s is out of range"),
        ("start_jitter: 50ms", "telemetry: {capture: true}", "is read as the kernel's TCP"),
    ],
)  # fmt: skip
def test_what_does_not_go_is_refused(folder: Path, old: str, new: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said.replace("{", r"\{")):
        scenario_in(folder, NAMED.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("{port}", "{prot}", "there is no {prot}; did you mean 'port'"),
        ("ccs: [cubic, reno]\n", "", "goes with {cc} in a command"),
        ("sender: client", "sender: both", "mine.yaml:3: sender"),
        ("{cc}", "{cc} {flows}", None),
        ("sender: client", "sender: server\nversion: ['{flows}']", None),
    ],
)
def test_a_wrong_file_is_refused_with_its_place(
    folder: Path, old: str, new: str, said: str | None
) -> None:
    (folder / "mine.yaml").write_text(FILE.replace(old, new))
    if said is None:
        assert scenario_in(folder).programs
        return
    with pytest.raises(ConfigError) as refused:
        scenario_in(folder)
    assert said in refused.value.message


def test_a_server_that_sends_has_one_flow_in_a_process(folder: Path) -> None:
    text = FILE.replace("sender: client", "sender: server").replace("{cc}", "{cc} {flows}")
    (folder / "mine.yaml").write_text(text)
    with pytest.raises(ConfigError, match="only the client can send"):
        scenario_in(folder)


def test_where_lanes_share_hosts_trials_are_run_one_at_a_time(
    folder: Path, testbed: Testbed
) -> None:
    assert plan_of(parse_scenario(SCENARIO, "s.yaml").model, testbed).lanes == 2
    assert plan_of(scenario_in(folder), testbed).lanes == 1
    guests = dpdk_capabilities(testbed.dataplane).model_copy(update={"isolated": True})
    assert plan_of(scenario_in(folder), testbed, guests).lanes > 1


def test_qlog_is_that_of_one_flow(folder: Path) -> None:
    (folder / "mine.yaml").write_text(FILE.replace("{cc}", "{cc} {flows}") + "qlog: '*.sqlog'\n")
    with pytest.raises(ConfigError, match="qlog: is that of one flow"):
        scenario_in(folder)


def test_places_with_a_value_are_filled_in() -> None:
    values = {"port": "7", "cc": "x"}
    assert filled(("a", "-p{port}{log}", "{cc}/{cc}"), values) == ["a", "-p7{log}", "x/x"]


def attempt_of(folder: Path, testbed: Testbed, file: str = FILE) -> Attempt:
    (folder / "mine.yaml").write_text(file)
    scenario = scenario_in(folder)
    trial = next(t for t in plan_of(scenario, testbed).trials if t.key == "b2bdp-k03-r0")
    return make_attempt(scenario, trial, 0, 0, Path("/nowhere"))


def test_a_flow_has_one_port_at_both_ends(folder: Path, testbed: Testbed) -> None:
    attempt = attempt_of(folder, testbed)
    ports = [(entry.sport, entry.dport, entry.proto) for entry in attempt.program().flows]
    assert ports == [(port, port, UDP_PROTOCOL) for port in (10000, 10001, 10002)]
    assert sorted(len(flows) for flows in attempt.program_flows) == [1, 1, 1]
    assert attempt.roles == ()


def test_the_flows_of_one_process_have_one_port_to_send_to(folder: Path, testbed: Testbed) -> None:
    file = FILE.replace("udp", "tcp").replace("{cc}", "{cc} {flows}")
    attempt = attempt_of(folder, testbed, file)
    ports = [(entry.sport, entry.dport, entry.proto) for entry in attempt.program().flows]
    assert ports == [(port, 10000, TCP_PROTOCOL) for port in (10000, 10001, 10002)]
    assert [len(flows) for flows in attempt.program_flows] == [3]


def test_what_this_machine_lacks_is_said_by_name(folder: Path) -> None:
    (folder / "mine.yaml").write_text(FILE.replace("/bin/cat", "no-such-program"))
    scenario = scenario_in(folder)
    with pytest.raises(
        PrerequisiteError, match="strategies: mine-reno: no-such-program: not found"
    ):
        require_programs(scenario, "s.yaml")
    assert which("cat").name == "cat"


def test_a_program_that_cannot_say_its_version_cannot_run(folder: Path) -> None:
    said = "version: ['{python}', -c, 'import no_such_stack']\n"
    (folder / "mine.yaml").write_text(FILE + said)
    with pytest.raises(PrerequisiteError, match="No module named 'no_such_stack'"):
        require_programs(scenario_in(folder), "s.yaml")


def test_bins_are_refused(folder: Path) -> None:
    scenario = scenario_in(folder, NAMED + "telemetry: {postcards: {bins: 10ms}}\n")
    with pytest.raises(ConfigError, match="postcards: write all"):
        require_programs(scenario, "s.yaml")


def test_without_programs_nothing_is_asked() -> None:
    require_programs(parse_scenario(SCENARIO, "s.yaml").model, "s.yaml")


def test_processor_time_has_a_price_in_virtual_time_alone(folder: Path, testbed: Testbed) -> None:
    scenario = scenario_in(folder, f"{NAMED}hosts: {{cpu: {{per_datagram: 5us}}}}\n")
    can = dpdk_capabilities(testbed.dataplane)
    plan_of(scenario, testbed, can.model_copy(update={"virtual_time": True}))
    with pytest.raises(ConfigError, match=r"hosts\.cpu: .* in virtual time alone; remove it"):
        plan_of(scenario, testbed, can)


def test_processor_time_is_that_of_programs(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"hosts\.cpu: is that of programs"):
        scenario_in(tmp_path, f"{SCENARIO}hosts: {{cpu: {{per_datagram: 5us}}}}\n")
