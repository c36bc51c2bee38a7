"""The load generators of DPDK, against stand-ins, and which one is chosen."""

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
from nashbed.controlplane.calibrate import dpdk_loads as choose_module
from nashbed.controlplane.calibrate.dpdk_loads import (
    PKTGEN_PACE,
    PKTGEN_STEP_S,
    TIMEOUT_S,
    LuaShell,
    PktgenLoad,
    TestpmdLoad,
    arguments,
    choose_load,
    commands,
)
from nashbed.controlplane.calibrate.load import Burst, BurstStep
from nashbed.controlplane.calibrate.probe import Socket
from nashbed.controlplane.contract.errors import ConfigError, HostError
from nashbed.controlplane.contract.testbed import Testbed
from nashbed.controlplane.machine.host.session import PathEnds
from nashbed.controlplane.machine.paths import PKTGEN_SCRIPT
from nashbed.controlplane.machine.process.command import Completed
from tests.fakes.pktgen import VERSION, FakePktgen, LuaServer
from tests.fakes.session import FakeSession

ENDS = PathEnds("nbs0", "02:6e:62:00:00:01", "02:6e:62:00:00:02")
BURST = Burst(
    Socket("10.64.0.1", 10000, "10.65.0.1", 5001),
    (BurstStep(1514, 7), BurstStep(60), BurstStep(999, 2)),
    20000,
)
Talk = Callable[[socket.socket], None]


def show(sent: int) -> str:
    """What `stop`, then `show port stats 0` print."""
    return f"""\
testpmd> show port stats 0
  ---------------------- Forward statistics for port 0  ----------------------
  RX-packets: 3              RX-dropped: 0             RX-total: 3
  TX-packets: 2              TX-dropped: 0             TX-total: 2
  ----------------------------------------------------------------------------

Done.

  ######################## NIC statistics for port 0  ########################
  RX-packets: 3          RX-missed: 0          RX-bytes:  270
  RX-errors: 0
  RX-nombuf:  0         
  TX-packets: {sent}         TX-errors: 0          TX-bytes:  1174610

  Throughput (since last show)
  Rx-pps:            0          Rx-bps:            0
  Tx-pps:            0          Tx-bps:            0
  ############################################################################
"""  # noqa: W291 - as it prints


class TestpmdSession(FakeSession):
    """Answers as testpmd did."""

    __test__ = False

    def __init__(self, code: int, out: str, err: str = "") -> None:
        super().__init__()
        self._done = (code, out, err)
        self.typed = ""
        self.args: tuple[str, ...] = ()

    def run_beside_senders(
        self, args: Sequence[str], text: str | None, timeout_s: float
    ) -> Completed:
        self.args, self.typed = tuple(args), text or ""
        assert timeout_s > BURST.seconds
        return Completed(self.args, *self._done)


def test_a_burst_is_typed_step_by_step() -> None:
    session = TestpmdSession(0, show(10))
    load = TestpmdLoad(session)
    assert load.send(BURST) == 10
    assert (
        session.typed
        == commands(BURST)
        == (
            "set txpkts 1514\nstart tx_first 7\nstop\n"
            "set txpkts 60\nstart tx_first 1\nstop\n"
            "set txpkts 999\nstart tx_first 2\nstop\n"
            "show port stats 0\nquit\n"
        )
    )
    assert list(session.args) == arguments(BURST, "nbs0", "02:6e:62:00:00:02")
    load.close()


def test_the_flow_is_on_the_command_line() -> None:
    args = arguments(BURST, "nbs0", "02:6e:62:00:00:02")
    assert "--no-telemetry" in args  # a socket that answers
    assert "--tx-ip=10.64.0.1,10.65.0.1" in args
    assert "--tx-udp=10000,5001" in args
    assert "--eth-peer=0,02:6e:62:00:00:02" in args
    assert "--burst=1" in args


def test_what_it_could_not_send_is_not_counted() -> None:
    assert TestpmdLoad(TestpmdSession(0, show(6))).send(BURST) == 6


def test_no_count_is_a_failure() -> None:
    with pytest.raises(HostError, match="does not report how many packets it sent"):
        TestpmdLoad(TestpmdSession(0, "testpmd> quit\n")).send(BURST)


def test_its_failure_is_one_line() -> None:
    err = "EAL: Detected CPU lcores: 2\nEAL: Option --legacy-mem is not compatible with x\nmore\n"
    with pytest.raises(HostError, match="dpdk-testpmd: EAL: Option --legacy-mem is not compatible"):
        TestpmdLoad(TestpmdSession(1, "", err)).send(BURST)


def test_it_is_asked_for_only_where_it_is(
    testbed: Testbed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choose_module.shutil, "which", lambda name: None)
    with pytest.raises(HostError, match="not installed; run `apt install dpdk-dev`"):
        choose_load("testpmd", testbed)


@pytest.mark.parametrize("asked", ["testpmd", "pktgen", "pktgen:loadhost"])
def test_no_generator_but_our_own_reaches_a_guest(
    monkeypatch: pytest.MonkeyPatch, asked: str
) -> None:
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    virtual = Testbed(name="virtual", target="virtual")
    with pytest.raises(ConfigError, match="cannot send into the machines of target virtual"):
        choose_load(asked, virtual)
    assert choose_load("auto", virtual) is choose_load("own", virtual)


@pytest.fixture
def fake() -> FakePktgen:
    return FakePktgen()


@pytest.fixture
def server(fake: FakePktgen) -> Iterator[LuaServer]:
    made = LuaServer(fake)
    yield made
    made.close()


@pytest.mark.parametrize("older", [False, True])
def test_a_burst_is_sent_step_by_step(fake: FakePktgen, server: LuaServer, older: bool) -> None:
    fake.older = older
    load = PktgenLoad(server.address, ENDS)
    assert load.describe() == {"generator": "pktgen", "version": VERSION, "pace": PKTGEN_PACE}
    assert load.send(BURST) == 10
    # Pktgen's sizes count the FCS.
    assert [(size, count) for size, count, _ in fake.sent] == [(1518, 7), (64, 1), (1003, 2)]
    # 20,000 frames of 1514 + 24 bytes a second are 246.08 of 10,000 Mbit/s.
    assert fake.sent[0][2] == pytest.approx(2.4608)
    expected = {"src mac": ENDS.source_mac, "dst mac": ENDS.destination_mac, "sport": 10000,
                "src ip": "10.64.0.1/32", "dst ip": "10.65.0.1", "dport": 5001}  # fmt: skip
    assert expected.items() <= fake.settings.items()
    load.close()
    load.close()


def test_the_socket_sees_the_script_and_then_one_call_per_line(
    fake: FakePktgen, server: LuaServer
) -> None:
    load = PktgenLoad(server.address, ENDS)
    load.send(BURST)
    load.close()
    server.close()
    script = PKTGEN_SCRIPT.read_text()
    calls = [s for s in server.statements if s.startswith("nashbed.call(")]
    assert "".join(server.statements) == script + "".join(calls)
    assert calls[0] == 'nashbed.call(1, "hello")\n'
    assert calls[2] == 'nashbed.call(3, "send", 1514, 7, 20000)\n'
    assert calls[-2:] == ['nashbed.call(6, "sent")\n', 'nashbed.call(7, "stop")\n']


def test_other_output_is_passed_over(server: LuaServer) -> None:
    server.other_lines.append("Pktgen: some other line\n")
    load = PktgenLoad(server.address, ENDS)
    assert load.send(BURST) == 10
    load.close()


def test_a_low_rate_is_asked_for_as_it_is(fake: FakePktgen, server: LuaServer) -> None:
    load = PktgenLoad(server.address, ENDS)
    load.send(replace(BURST, pps=50))
    # 50 frames of 1514 + 24 bytes a second, of 10,000 Mbit/s: Pktgen 23.03.0 sent 49 a second.
    assert fake.sent[0][2] == pytest.approx(0.006152)
    load.close()


def test_each_size_has_a_deadline_of_its_own(
    fake: FakePktgen, server: LuaServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    deadlines: list[float] = []
    call = LuaShell.call

    def noted(shell: LuaShell, name: str, *words: str | int, timeout_s: float = 0.0) -> str:
        if name == "send":
            deadlines.append(timeout_s)
        return call(shell, name, *words)

    monkeypatch.setattr(LuaShell, "call", noted)
    load = PktgenLoad(server.address, ENDS)
    load.send(replace(BURST, steps=(BurstStep(1514, 200), BurstStep(60)), pps=10))
    assert deadlines == [20 + PKTGEN_STEP_S + TIMEOUT_S, 0.1 + PKTGEN_STEP_S + TIMEOUT_S]
    load.close()


def test_a_port_that_is_none_is_told(fake: FakePktgen, server: LuaServer) -> None:
    load = PktgenLoad(server.address, ENDS, pktgen_port=9)
    with pytest.raises(HostError, match=r"pktgen at .*: flow: .*it has no port 9"):
        load.send(BURST)
    load.close()


def test_a_second_client_learns_that_only_one_is_served(
    server: LuaServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = PktgenLoad(server.address, ENDS)
    monkeypatch.setattr(choose_module, "TIMEOUT_S", 0.1)
    told = r"no answer in time: Pktgen serves one client at a time; end the other one .*ss -tnp"
    with pytest.raises(HostError, match=told):
        PktgenLoad(server.address, ENDS)
    assert first.send(BURST) == 10
    first.close()


def test_two_bursts_count_each_their_own(fake: FakePktgen, server: LuaServer) -> None:
    load = PktgenLoad(server.address, ENDS)
    assert [load.send(BURST), load.send(BURST)] == [10, 10]
    load.close()


def test_an_error_in_pktgen_is_one_line(fake: FakePktgen, server: LuaServer) -> None:
    load = PktgenLoad(server.address, ENDS)
    fake.do_linkState = lambda port: fake._lua.table_from({0: "<--Down-->"})  # type: ignore[method-assign]
    server.lua.globals().pktgen = fake.table(server.lua)
    with pytest.raises(HostError, match=r"pktgen at .*: send: .*port 0 has no link: <--Down-->"):
        load.send(BURST)
    load.close()


def test_no_pktgen_says_what_to_do() -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        address = unused.getsockname()
    with pytest.raises(HostError, match=r"cannot connect .* start it with -G"):
        PktgenLoad(address, ENDS)


@pytest.fixture
def talker() -> Iterator[Callable[[Talk], tuple[str, int]]]:
    """A server that does something else than answer."""
    servers: list[socket.socket] = []

    def start(talk: Talk) -> tuple[str, int]:
        server = socket.create_server(("127.0.0.1", 0))
        servers.append(server)

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(1 << 20)
                talk(connection)

        threading.Thread(target=serve, daemon=True).start()
        return server.getsockname()  # type: ignore[no-any-return]

    yield start
    for server in servers:
        server.close()


def test_a_socket_that_closes_is_one_line(talker: Any) -> None:
    with pytest.raises(HostError, match=r"pktgen at .*: "):
        PktgenLoad(talker(lambda connection: None), ENDS)


def test_a_line_without_end_is_refused(talker: Any) -> None:
    def talk(connection: socket.socket) -> None:
        connection.sendall(b"x" * 400_000)
        # Left unread, it would make our close a reset; the client may well answer with one.
        with contextlib.suppress(ConnectionResetError):
            while connection.recv(1 << 16):
                pass

    with pytest.raises(HostError, match="a line without end"):
        PktgenLoad(talker(talk), ENDS)


def test_a_wrong_answer_is_refused(fake: FakePktgen, server: LuaServer) -> None:
    load = PktgenLoad(server.address, ENDS)
    server.lua.execute("old = nashbed.call; nashbed = {call = function(n, f) "
                       "if f == 'sent' then io.write('nashbed: ', n, ' ok many\\n') "
                       "else old(n, 'hello') end end}")  # fmt: skip
    with pytest.raises(HostError, match="'many' is not a number of frames"):
        load.send(BURST)
    load.close()


def test_what_is_no_plain_word_is_never_sent(server: LuaServer) -> None:
    load = PktgenLoad(server.address, PathEnds("nbs0", 'x") os.exit()', "y"))
    with pytest.raises(HostError, match="cannot be sent"):
        load.send(BURST)
    load.close()


@pytest.mark.parametrize("asked", ["iperf", "own:host", "pktgen:host:0", "pktgen:host:many"])
def test_a_generator_that_is_none_is_refused(asked: str, testbed: Testbed) -> None:
    with pytest.raises(ConfigError, match="--load"):
        choose_load(asked, testbed)
