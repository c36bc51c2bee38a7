"""Windows and RTTs of programs by the qlog of three stacks, as they wrote it here."""

from __future__ import annotations

from pathlib import Path

import pytest
from nashbed.controlplane.contract.errors import HostError
from nashbed.controlplane.run.program_samples import NO_RTT_US, UNLIMITED, columns, metrics

NGTCP2 = (
    '\x1e{"qlog_format":"JSON-SEQ","qlog_version":"0.3","trace":{}}\n'
    '\x1e{"time":0,"name":"recovery:metrics_updated","data":{"smoothed_rtt":333,"latest_rtt":0,'
    '"rtt_variance":166,"pto_count":0,"congestion_window":14520,"bytes_in_flight":0}}\n'
    '\x1e{"time":2,"name":"transport:packet_sent","data":{"raw":{"length":166}}}\n'
    '\x1e{"time":5,"name":"transport:packet_sent","data":{"raw":{"length":662}}}\n'
    '\x1e{"time":42,"name":"recovery:metrics_updated","data":{"min_rtt":40,"smoothed_rtt":41,'
    '"congestion_window":115333,"bytes_in_flight":3561,"ssthresh":95067}}\n'
    '\x1e{"time":43,"name":"recovery:metri'
)
QUINN = (
    '\x1e{"qlog_version":"0.3","qlog_format":"JSON-SEQ","trace":{}}\n'
    '\x1e{"time":510.5,"name":"transport:packet_sent","data":{"header":{"length":145}}}\n'
    '\x1e{"time":550.5,"name":"recovery:metrics_updated","data":{"smoothed_rtt":0.0415,'
    '"congestion_window":12000,"ssthresh":18446744073709551615}}\n'
)
AIOQUIC = (
    '{"qlog_format": "JSON", "traces": [{"events": [{"data": {}, "name": "transport:packet_sent", '
    '"time": 1795948487917.5}, {"data": {"cwnd": 93619, "bytes_in_flight": 93619}, "name": '
    '"recovery:metrics_updated", "time": 1795948487957.5}]}]}\n'
)


def written(folder: Path, text: str) -> Path:
    path = folder / "a.sqlog"
    path.write_text(text)
    return path


def test_what_is_not_told_again_holds(tmp_path: Path) -> None:
    at_ns, states = metrics(written(tmp_path, NGTCP2))
    assert at_ns.tolist() == [-2_000_000, 40_000_000]
    found = {name: values.tolist() for name, values in columns(states, 1452).items()}
    assert found == {
        "cwnd_pkts": [10, 79],
        "ssthresh_pkts": [2**31 - 1, 65],
        "inflight_bytes": [0, 3561],
        "unacked": [0, 3],
        "backoff": [0, 0],
        "srtt_us": [0, 41_000],
        "rttvar_us": [0, 0],
        "min_rtt_us": [NO_RTT_US, 40_000],
        "pacing_rate_bps": [UNLIMITED, UNLIMITED],
    }


def test_rtts_in_seconds_and_no_threshold_yet(tmp_path: Path) -> None:
    at_ns, states = metrics(written(tmp_path, QUINN), "s")
    assert at_ns.tolist() == [40_000_000]
    found = columns(states, 1200)
    assert (found["srtt_us"][0], found["ssthresh_pkts"][0]) == (41_500, 2**31 - 1)


def test_one_document_is_read_as_well(tmp_path: Path) -> None:
    at_ns, states = metrics(written(tmp_path, AIOQUIC))
    assert at_ns.tolist() == [40_000_000]
    found = columns(states, 1200)
    # A control that never tells a threshold, as BBR, is never in slow start.
    assert (found["cwnd_pkts"].tolist(), found["ssthresh_pkts"].tolist()) == ([78], [0])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has no metrics_updated or no packet_sent"),
        (NGTCP2.replace("packet_sent", "packet_lost"), "no packet_sent"),
        (NGTCP2.replace('"time":42', '"time":'), "is no qlog that can be read"),
        (AIOQUIC.replace("events", "event"), "is no qlog that can be read: 'events'"),
    ],
)
def test_what_is_no_qlog_is_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(HostError, match=said):
        metrics(written(tmp_path, text))
