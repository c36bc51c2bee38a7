"""Calls to simple_switch's services: what they carry, and what their failures are told as."""

import socket
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from nashbed.controlplane.contract.errors import TargetError
from nashbed.controlplane.targets.bmv2.runtime import Bindings, ThriftRuntime
from thrift.Thrift import TApplicationException, TException
from thrift.transport.TTransport import TTransportException


class InvalidTableOperation(TException):
    """As bmv2's generated types have it."""

    def __init__(self, code: int) -> None:
        super().__init__()
        self.code = code


class Client:
    """A generated client: any call is kept and answered."""

    def __init__(self, answer: Callable[[str, tuple[Any, ...]], Any]) -> None:
        self._answer = answer

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return lambda *arguments: self._answer(name, arguments)


class Rig:
    """A runtime with generated modules of our own, over a connection to nobody."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, tuple[Any, ...]]] = []
        self.answers: dict[str, Any] = {}
        codes = SimpleNamespace(_VALUES_TO_NAMES={1: "TABLE_FULL"})
        types = SimpleNamespace(
            BmMatchParam=lambda **fields: fields,
            BmMatchParamType=SimpleNamespace(EXACT=0),
            BmMatchParamExact=lambda key: key,
            BmAddEntryOptions=lambda: "options",
            TableOperationErrorCode=codes,
            MirroringSessionConfig=lambda port: {"port": port},
        )
        client = SimpleNamespace(Client=lambda protocol: Client(self._answer))
        self._ends = socket.socketpair()
        modules: Any = (client, types, client, types)
        self.runtime = ThriftRuntime(self._ends[0], Bindings(*modules))

    def _answer(self, name: str, arguments: tuple[Any, ...]) -> Any:
        self.calls.append((name, arguments))
        answer = self.answers.get(name)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def close(self) -> None:
        for end in self._ends:
            end.close()


@pytest.fixture
def rig() -> Iterator[Rig]:
    made = Rig()
    yield made
    made.close()


def test_an_entry(rig: Rig) -> None:
    rig.runtime.add_entry("t", [b"\x01"], "a", (b"\x02", b"\x03"))
    match = [{"type": 0, "exact": b"\x01"}]
    expected = (0, "t", match, "a", [b"\x02", b"\x03"], "options")
    assert rig.calls == [("bm_mt_add_entry", expected)]


def test_queues_and_clones(rig: Rig) -> None:
    rig.runtime.set_rate(1, 0, 826)
    rig.runtime.set_depths(10)
    rig.runtime.add_clone_session(1, 2)
    assert rig.calls == [
        ("set_egress_priority_queue_rate", (1, 0, 826)),
        ("set_all_egress_queue_depths", (10,)),
        ("mirroring_session_add", (1, {"port": 2})),
    ]


def test_cells_of_64_bits_go_as_signed_numbers(rig: Rig) -> None:
    rig.answers["bm_register_read_all"] = [-1, -(2**63), 5]
    assert rig.runtime.read_register("r") == [2**64 - 1, 2**63, 5]
    rig.runtime.write_register("r", 3, 2**64 - 1)
    assert rig.calls[-1] == ("bm_register_write", (0, "r", 3, -1))


def test_a_refusal_has_its_name(rig: Rig) -> None:
    rig.answers["bm_mt_add_entry"] = InvalidTableOperation(1)
    with pytest.raises(TargetError, match=r"^simple_switch: entry of t: refused: TABLE_FULL$"):
        rig.runtime.add_entry("t", [], "a", [])
    rig.answers["bm_mt_clear_entries"] = TApplicationException(6, "odd")
    with pytest.raises(TargetError, match=r"^simple_switch: table t: failed: odd$"):
        rig.runtime.clear_table("t")
    rig.answers["get_time_elapsed_us"] = 7
    assert rig.runtime.elapsed_us() == 7


@pytest.mark.parametrize(
    "error", [TTransportException(4, "TSocket read 0 bytes"), TimeoutError("slow"), EOFError()]
)
def test_after_a_lost_answer_nothing_more_is_asked(rig: Rig, error: Exception) -> None:
    rig.answers["get_time_elapsed_us"] = error
    with pytest.raises(TargetError, match=r"^simple_switch: clock: no answer \("):
        rig.runtime.elapsed_us()
    asked = len(rig.calls)
    with pytest.raises(TargetError, match="the connection is broken"):
        rig.runtime.program_md5()
    assert len(rig.calls) == asked


def test_after_close_nothing_is_asked(rig: Rig) -> None:
    rig.runtime.close()
    with pytest.raises(TargetError, match="the connection is closed"):
        rig.runtime.elapsed_us()
    assert rig.calls == []
