"""Sockets as Linux 6.1 lists them, of both versions of IP."""

from nashbed.controlplane.machine.host.sockets import ANY, local_ends

UDP = """\
   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
  123: 0100007F:2711 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 1 2 0
"""
UDP6 = """\
  sl  local_address                         remote_address                        st tx_queue
  456: 00000000000000000000000000000000:2711 00000000000000000000000000000000:0000 07 0:0
  457: 0000000000000000FFFF00000100400A:2712 00000000000000000000000000000000:0000 07 0:0
"""


def test_local_ends_are_read_as_people_write_them() -> None:
    assert local_ends(UDP) == [("127.0.0.1", 10001)]
    assert local_ends(UDP + UDP6)[1:] == [(ANY, 10001), ("10.64.0.1", 10002)]
