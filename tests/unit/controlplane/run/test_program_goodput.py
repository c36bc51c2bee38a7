"""What an iperf3 server reports of its flows."""

import json
from pathlib import Path

import pytest
from nashbed.controlplane.contract.errors import HostError
from nashbed.controlplane.run.program_goodput import iperf3_intervals


def report(*intervals: list[dict[str, float]]) -> str:
    return json.dumps({"intervals": [{"streams": streams} for streams in intervals]})


def test_each_flow_has_its_intervals(tmp_path: Path) -> None:
    output = tmp_path / "server.txt"
    output.write_text(
        report(
            [{"end": 0.1, "bytes": 10}, {"end": 0.1, "bytes": 20}],
            [{"end": 0.2, "bytes": 30}, {"end": 0.2, "bytes": 40}],
        )
    )
    first, second = iperf3_intervals(output, 2)
    assert [part.tolist() for part in first] == [[10**8, 2 * 10**8], [10, 30]]
    assert second[1].tolist() == [20, 40]


@pytest.mark.parametrize(
    "text", ["", "iperf3: error", "{}", report([]), report([{"end": 1, "bytes": 2}])]
)
def test_what_is_no_report_is_refused(tmp_path: Path, text: str) -> None:
    output = tmp_path / "server.txt"
    output.write_text(text)
    with pytest.raises(HostError, match="is no report of iperf3 --json with 2 flows"):
        list(iperf3_intervals(output, 2))
