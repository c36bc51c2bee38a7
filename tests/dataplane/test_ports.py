"""Every kind of port and loop: an echo comes back, and no sooner than the base RTT."""

import statistics
import subprocess
from pathlib import Path

import pytest
from tests.support.live import Bed, bed

pytestmark = [pytest.mark.live, pytest.mark.root, pytest.mark.dataplane]

MS = 1_000_000
FORWARD_MS, REVERSE_MS = 15, 5
SLACK_MS = 20
"""Above the base RTT, on a machine busy with other things; below it nothing may come."""


def check_base_rtt(made: Bed) -> None:
    """Pings are never faster than the base RTT, and the quickest is not much slower."""
    assert min(made.ping()) < SLACK_MS  # no delay is set yet
    with made.client() as client:
        client.call(
            "delay", lane=0, group=0, forward_ns=FORWARD_MS * MS, reverse_ns=REVERSE_MS * MS
        )
        times = made.ping(10)
        base = FORWARD_MS + REVERSE_MS
        # Both delays are whole; ping's clock has microseconds.
        assert min(times) >= base - 0.001
        assert min(times) < base + SLACK_MS
        client.call("delay", lane=0, group=0, forward_ns=0, reverse_ns=0)
    assert statistics.median(made.ping()) < base + SLACK_MS


def check_counts(made: Bed) -> None:
    """The 20 echoes went as unknown traffic, and back as reverse traffic; none was lost."""
    with made.client() as client:
        stats = client.call("stats")
    assert stats["unshaped"]["unknown_packets"] >= 20
    assert stats["unshaped"]["reverse_packets"] >= 20
    assert stats["unshaped"]["malformed_packets"] == 0
    assert set(stats["rings"].values()) == {0}
    for port in stats["ports"].values():
        assert (port["rx_no_mbuf"], port["tx_dropped"]) == (0, 0)


@pytest.mark.parametrize("driver", ["af_packet", "af_xdp", "tap"])
def test_a_sleeping_data_plane_forwards(tmp_path: Path, driver: str) -> None:
    with bed(tmp_path, driver) as made:
        check_base_rtt(made)
        check_counts(made)
        assert made.stop() == 0
        # Libraries say what this machine lacks (bpffs, a qdisc); nothing of ours complained.
        assert "nashbed-dataplane:" not in made.log.read_text()


@pytest.mark.parametrize(
    ("driver", "stamps"), [("af_packet", "none"), ("af_xdp", "kernel"), ("tap", "none")]
)
def test_which_ports_stamp_arrivals(tmp_path: Path, driver: str, stamps: str) -> None:
    with bed(tmp_path, driver) as made:
        made.ping(20)
        assert {port["stamps"] for port in made.hello()["ports"].values()} == {stamps}
        with made.client() as client:
            ports = client.call("stats")["ports"].values()
        # Every frame had a sound stamp, where there are any.
        assert [port["rx_unstamped"] for port in ports] == [0, 0]
        assert all(port["rx_packets"] >= 20 for port in ports)


@pytest.mark.parametrize("driver", ["af_packet", "af_xdp"])
def test_a_polling_data_plane_forwards(tmp_path: Path, driver: str) -> None:
    with bed(tmp_path, driver, loop="poll") as made:
        made.ping(3)
        with made.client() as client:
            client.call("delay", lane=0, group=0, forward_ns=5 * MS, reverse_ns=5 * MS)
        assert min(made.ping(3)) >= 10 - 0.001
        assert made.stop() == 0


def test_sigterm_ends_it_in_good_order(tmp_path: Path) -> None:
    with bed(tmp_path) as made:
        pid = made.hello()["pid"]
        subprocess.run(["kill", "-TERM", str(pid)], check=True)
        assert made.process is not None
        assert made.process.wait(timeout=20) == 0
        assert not made.socket.exists()


def test_a_missing_interface_is_named(tmp_path: Path) -> None:
    with bed(tmp_path) as made:
        made.stop()
        config = made.config()
        config["ports"]["senders"]["iface"] = "nosuch0"
        with pytest.raises(AssertionError, match="did not start"):
            made.start(ports=config["ports"])
        assert made.process is not None
        assert made.process.wait(timeout=20) == 4
        assert "nosuch0" in made.log.read_text()


def test_a_socket_that_exists_is_named(tmp_path: Path) -> None:
    with bed(tmp_path) as made:
        made.stop()
        made.socket.touch()
        with pytest.raises(AssertionError, match="did not start"):
            made.start()
        assert made.process is not None
        assert made.process.wait(timeout=20) == 4
        assert "remove it or name another path" in made.log.read_text()
