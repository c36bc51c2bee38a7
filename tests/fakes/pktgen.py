"""Pktgen-DPDK's Lua shell, as version 23.03.0 answers on DPDK 22.11 (AF_PACKET on veth).

Seen there: its answers to our script are `nashbed: 1 ok Pktgen 23.03.0` and
`nashbed: 2 error attempt to call a nil value`; nothing else comes through the socket, neither an
echo nor the value of an expression nor a syntax error. `linkState` is `<UP-10000-FD>`. `portStats`
of a port that it does not have is an empty table. A second client is connected and hears nothing.
"""

import re
import socket
import threading
from typing import Any

import pytest

lupa = pytest.importorskip("lupa", reason="needs lupa: `make venv`")
LINK_MBIT = 10000
VERSION = "Pktgen 23.03.0"


class FakePktgen:
    """The `pktgen` table, as Pktgen 23.03.0 answers on DPDK 22.11; counts what would be sent."""

    def __init__(self) -> None:
        self.settings: dict[str, Any] = {}
        self.sent: list[tuple[int, int, float]] = []
        self.polls = 0
        self.older = False

    def table(self, lua: Any) -> Any:
        names = ("set", "set_type", "set_proto", "set_mac", "set_ipaddr", "screen", "start",
                 "stop", "delay", "isSending", "linkState", "portStats")  # fmt: skip
        functions = {name: getattr(self, f"do_{name}") for name in names}
        self._lua = lua
        return lua.table_from({**functions, "info": lua.table_from({"Pktgen_Version": VERSION})})

    def do_set(self, port: str, what: str, value: float) -> None:
        assert port == "0"
        # A rate of 0 would be 0.01; every other is taken as it is, to whole packets per second.
        ranges = {"count": (1, 2**32), "size": (64, 1518), "rate": (1e-9, 100), "burst": (1, 1),
                  "sport": (1, 65535), "dport": (1, 65535)}  # fmt: skip
        low, high = ranges[what]
        assert low <= value <= high, (what, value)
        self.settings[what] = value

    def do_set_type(self, port: str, kind: str) -> None:
        assert (port, kind) == ("0", "ipv4")

    def do_set_proto(self, port: str, kind: str) -> None:
        assert (port, kind) == ("0", "udp")

    def do_set_mac(self, port: str, which: str, mac: str) -> None:
        assert port == "0"
        assert re.fullmatch("(?:[0-9a-f]{2}:){5}[0-9a-f]{2}", mac)
        self.settings[f"{which} mac"] = mac

    def do_set_ipaddr(self, port: str, which: str, address: str) -> None:
        # A source needs its prefix, a destination must have none.
        assert port == "0"
        assert ("/" in address) == (which == "src")
        self.settings[f"{which} ip"] = address

    def do_screen(self, state: str) -> None:
        assert state in ("on", "off")

    def do_start(self, port: str) -> None:
        got = self.settings
        self.sent.append((int(got["size"]), int(got["count"]), float(got["rate"])))
        self.polls = 2

    def do_stop(self, port: str) -> None:
        assert port == "0"

    def do_delay(self, ms: int) -> None:
        assert ms >= 1

    def do_isSending(self, port: str) -> Any:  # noqa: N802 - Pktgen's name
        self.polls -= 1
        return self._lua.table_from({0: "y" if self.polls > 0 else "n", "n": 1})

    def do_linkState(self, port: str) -> Any:  # noqa: N802 - Pktgen's name
        return self._lua.table_from({0: f"<UP-{LINK_MBIT}-FD>", "n": 1})

    def do_portStats(self, port: str, kind: str | None = None) -> Any:  # noqa: N802 - as above
        if self.older != (kind is not None):
            raise ValueError("portStats, wrong number of arguments")
        packets = self._lua.table_from({"opackets": sum(count for _, count, _ in self.sent)})
        stats = packets if self.older else self._lua.table_from({"curr": packets})
        return self._lua.table_from({int(port): stats, "n": 1} if port == "0" else {"n": 0})


class LuaServer:
    """Pktgen's Lua shell: statements in, whatever they write out; one client at a time."""

    def __init__(self, pktgen: FakePktgen) -> None:
        self.lua = lupa.LuaRuntime(unpack_returned_tuples=True)
        self.said: list[str] = []
        self.statements: list[str] = []
        self.other_lines: list[str] = []
        out = self.lua.table_from({"write": self._write, "flush": lambda: None})
        self.lua.globals().io = out
        self.lua.globals().pktgen = pktgen.table(self.lua)
        self._server = socket.create_server(("127.0.0.1", 0))
        self.address: tuple[str, int] = self._server.getsockname()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _write(self, *words: str) -> None:
        self.said.append("".join(str(word) for word in words))

    def _serve(self) -> None:
        connection, _ = self._server.accept()
        with connection, connection.makefile("r") as lines:
            statement = ""
            for line in lines:
                statement += line
                if not self._complete(statement):
                    continue
                self._run(statement)
                self.statements.append(statement)
                statement = ""
                # Other output of Pktgen's may stand between the answers.
                connection.sendall("".join([*self.other_lines, *self.said]).encode())
                self.said.clear()

    def _complete(self, statement: str) -> bool:
        """As the shell decides: a syntax error at the end of the input wants another line."""
        try:
            self.lua.compile(statement)
        except lupa.LuaSyntaxError as error:
            return "<eof>" not in str(error)
        return True

    def _run(self, statement: str) -> None:
        try:
            self.lua.execute(statement)
        except lupa.LuaError as error:
            self.said.append(f"lua: {error}\n")

    def close(self) -> None:
        self._server.close()
        self._thread.join(5)
