"""Sockets as Linux 6.1 lists them, of both versions of IP."""

from nashbed.controlplane.machine.host.sockets import ANY_IPV6, local_ends

UDP = """\
   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
  123: 0100007F:2711 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 1 2 0
"""
UDP6 = """\
  sl  local_address                         remote_address                        st tx_queue
  456: 00000000000000000000000000000000:2711 00000000000000000000000000000000:0000 07 0:0
  457: 0000000000000000FFFF00000100400A:2712 00000000000000000000000000000000:0000 07 0:0
"""
TCP = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100400A:2711 0100410A:2711 06 00000000:00000000 03:000016C1 00000000     0        0 0 3 0
   1: 0100410A:2712 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 7 1 0
"""


def test_local_ends_are_read_as_people_write_them() -> None:
    assert local_ends(UDP) == [("127.0.0.1", 10001)]
    assert local_ends(UDP + UDP6)[1:] == [(ANY_IPV6, 10001), ("10.64.0.1", 10002)]


def test_what_is_left_of_an_earlier_connection_is_no_end() -> None:
    assert local_ends(TCP) == [("10.65.0.1", 10002)]
