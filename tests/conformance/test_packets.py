# SPDX-License-Identifier: Apache-2.0
"""Patched frames are those that Scapy builds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.inet import IP
from tests.conformance.packets import TCP_HEADERS, tcp


@pytest.mark.slow
@given(
    flow=st.integers(0, 2000),
    size=st.integers(TCP_HEADERS, 1514),
    seq=st.integers(0, 2**32 - 1),
    tos=st.integers(0, 255),
)
def test_a_patched_frame_is_scapys(flow: int, size: int, seq: int, tos: int) -> None:
    scapys = tcp(flow, size, seq=seq, ip={"tos": tos, "version": 4})  # a version is not patched
    assert tcp(flow, size, seq=seq, ip={"tos": tos}) == scapys
    assert IP(scapys[14:]).tos == tos
