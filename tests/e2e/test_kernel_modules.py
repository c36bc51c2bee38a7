"""Ordinary modules of the kernel as strategies: by the file's name, and where one crashes."""

import json
from pathlib import Path

import pytest
from nashbed.analysis.measures import measure_run
from tests.e2e.conftest import Nashbed, records

pytestmark = [pytest.mark.virtual, pytest.mark.slow, pytest.mark.usefixtures("guests_place")]

MODULE = """\
#define pr_fmt(fmt) "own: " fmt
#include <linux/module.h>
#include <net/tcp.h>

static u32 own_ssthresh(struct sock *sk)
{
	return max(%s, 2U);
}

static struct tcp_congestion_ops own __read_mostly = {
	.ssthresh = own_ssthresh, .undo_cwnd = tcp_reno_undo_cwnd, .cong_avoid = tcp_reno_cong_avoid,
	.owner = THIS_MODULE, .name = "cubic",
};

static int __init own_init(void)
{
	return tcp_register_congestion_control(&own);
}

static void __exit own_exit(void)
{
	tcp_unregister_congestion_control(&own);
}

module_init(own_init);
module_exit(own_exit);
MODULE_LICENSE("GPL");
"""


def scenario(tool: Nashbed, strategy: str) -> Path:
    path = tool.scenario(attempts=1)
    path.write_text(path.read_text().replace("bbr]", f"{strategy}]"))
    return path


def test_one_of_two_files_that_registers_a_taken_name_runs_as_its_folder(nashbed: Nashbed) -> None:
    """A copy of the kernel's CUBIC keeps its name in the source."""
    folder = nashbed.folder / "tcp_own"
    folder.mkdir()
    (folder / "own.h").write_text("u32 own_keeps(struct sock *sk);\n")
    (folder / "keeps.c").write_text(
        '#include <linux/module.h>\n#include <net/tcp.h>\n#include "own.h"\n'
        "static int beta = 717;\nmodule_param(beta, int, 0444);\n"
        "u32 own_keeps(struct sock *sk) { return tcp_sk(sk)->snd_cwnd * beta / 1024; }\n"
    )
    text = MODULE.replace("#include <net/tcp.h>\n", '#include <net/tcp.h>\n#include "own.h"\n')
    (folder / "main.c").write_text(text % "own_keeps(sk)")
    swept = scenario(nashbed, "{file: ./tcp_own/, params: {beta: 512}}")
    changed = swept.read_text().replace(
        "mixes: [1]", "mixes: [1], params: {tcp_own.beta: [512, 950]}"
    )
    swept.write_text(changed)
    run_dir = nashbed.run(swept, "virtual")
    assert all(record["valid"] for record in records(run_dir).values())
    half, most = measure_run(run_dir).trials
    assert half.trial.setting.label == "tcp_own.beta512-b2bdp"
    metric = "per_flow_throughput"
    assert most.value(metric, "tcp_own") > 1.1 * half.value(metric, "tcp_own")
    kept = run_dir / "controls" / "tcp_own"
    assert sorted(path.name for path in kept.iterdir()) == ["keeps.c", "main.c", "own.h"]
    facts = json.loads((run_dir / "manifest.json").read_text())["controls"]["tcp_own"]
    assert facts["source"] == "controls/tcp_own"


def test_a_crash_names_the_line(nashbed: Nashbed) -> None:
    (nashbed.folder / "own.c").write_text(MODULE % "*(volatile u32 *)16")
    said = nashbed.call("run", str(scenario(nashbed, "./own.c")), "--testbed", "virtual", "--out",
                        str(nashbed.results), "--no-report", code=3)  # fmt: skip
    assert "Segfault with no mm, in own_ssthresh (own.c:7); the guest's log has the trace" in said
    (run_dir,) = nashbed.run_dirs()
    log = "".join(path.read_text() for path in run_dir.glob("guest*.log"))
    assert "RIP: own_ssthresh+0x0/" in log
    assert "tcp_ack+" in log
