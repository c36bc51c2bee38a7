"""What the real driver does with each table, read in its source; FakeBfRt does it, too.

The source is p4lang/open-p4studio, pkgsrc/bf-drivers/src at 1f97778f (SDE 9.13.4): bf_rt_* files
are in a folder each below bf_rt, tm_* in traffic_mgr, pipe_mgr_* in pipe_mgr, bf_pm_* in bf_pm.
"file:line" is where a class or function begins. Nothing here was seen on a switch.

Operations. A table has those that its class overrides; BfRtTableObj refuses the others with "not
supported" (bf_rt_table_impl.cpp:502 add, :514 modify, :539 add or modify, :552 delete, :563 clear,
:584 set the default entry, :607 get it, :619 get). The server calls them without asking first what
the class declares (bf_rt_server_impl.cpp:3157), but for the default entry, of which it reads
nothing and says nothing where it is not declared (bf_rt_server_impl.cpp:2253).

Requests.
- A write goes on after an update that is refused (bf_rt_server_impl.cpp:3910); what was refused is
  told in the details of the status, which end with the last refused one
  (bf_rt_server_impl.hpp:603). ROLLBACK_ON_ERROR is no way out: mirror sessions are refused within
  a transaction (bf_pipe_mgr_mirror_buffer.c:60), and the traffic manager does not know of it.
- What the hardware refuses at the end of a batch is not told: the status of endBatch is dropped.
- A read answers in one message, which has what was found also when something was not (:4186).
- Notifications of ports, idle entries and learning go to those who subscribe to them
  (bf_rt_server_mgr.cpp:813); a subscription without them gets none.
- A client that has not subscribed or bound may read and write with a p4_name; the fake demands
  both, for two runs on one switch would spoil each other.

Targets. Queues, their counters and the default entries of the traffic manager want one pipe
(bf_rt_tm_table_impl.cpp:697, bf_rt_tm_table_impl_queue.cpp:1016 and :1075,
bf_rt_tm_table_impl_counters.cpp:924); tm.cfg takes any (bf_rt_tm_table_impl_cfg.cpp:187), and so
do tables of ports, whose key tells the pipe (bf_rt_tm_table_impl_port.cpp:406).

Partial data.
- $mirror.cfg: what is left out becomes 0, and the session is disabled
  (bf_rt_mirror_table_impl.cpp:136); a direction is needed to enable it
  (pipe_mgr_mirror_buffer.c:762). To add one that is there, and to modify or delete one that is not,
  is an invalid argument (:54, :96, :883), not "exists" or "not found"; only a read is "not found".
- pktgen.app_cfg: any configuration at all replaces all of it, what is left out by 0; batch_count,
  packets_per_batch and app_enable alone are none (bf_rt_pktgen_table_impl.cpp:268). The trigger of
  an application that is enabled cannot change, and a packet is at least 11 B (59 B on Tofino 2)
  (pipe_mgr_tof_pktgen.c:1300, pipe_mgr_tof2_pktgen.c:2110). One that nobody has configured is read
  with 65532 B on Tofino 1 (:2226, its register less 4) and 0 B on Tofino 2 (:3090).
- Registers: a word that is left out becomes 0 (bf_rt_p4_table_impl.cpp:7595).
- Queues, pipes, pools and ports of the traffic manager keep what is left out.
- tm.pipe.cfg wants mirror_drop_pg_id and mirror_drop_pg_queue together, of a port in that pipe
  (bf_rt_tm_table_impl_pipe.cpp:873, tm_api_queue.c:646).
- $PORT: to add wants speed and FEC (bf_rt_port_table_impl.cpp:416); to add one that is there
  modifies it, and to delete one that is not there succeeds (bf_pm_intf.c:5918 and :6430).

What is read.
- tm.queue.buffer is read as shared_pool whatever its mode is (bf_rt_tm_table_impl_queue.cpp:2626);
  buffer_only is pool_max_cells 0 (tm_api_queue.c:190). Its values are the driver's own memory
  (tm_api_read.c:1003); a shaper's are the chip's (tm_sch.c:243).
- tm.queue.sched_cfg: the priority 0 is read as LOW and 7 as 7, the first of two names each
  (bf_rt_tm_table_helper_sched.cpp:317). Queues have priority 7 and weight 1023 until something is
  set (tm_api_sch.c:64 and :322).
- Registers and counters are the driver's copy, of the last time they were read from the chip,
  unless from_hw is asked (bf_rt_p4_table_impl.cpp:7656, :6559).
- pktgen.port_cfg refuses from_hw (bf_rt_pktgen_table_impl.cpp:101).

Limits. A weight is 0 to 1023 (tm_api_sch.c:71). Pools and a port's share are at most the buffer's
cells (tm_api_pool.c:46, tm_api_ppg.c:384). The cells that queues are guaranteed are not checked,
singly or together (tm_queue.c:433): the adapter does that.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Operations:
    """What a table can do.

    Attributes:
        names: The operations.
        source: Where its class is.
    """

    names: frozenset[str]
    source: str


def _can(names: str, source: str) -> Operations:
    return Operations(frozenset(names.split()), source)


DEFAULT_ENTRY = "CLEAR SET_DEFAULT RESET_DEFAULT READ_DEFAULT"
ENTRIES = "MODIFY CLEAR READ"

OPERATIONS = {
    # bf_rt_dev
    "dev.device_configuration": _can(DEFAULT_ENTRY, "bf_rt_dev_table_impl.hpp:29"),
    "dev.warm_init": _can(DEFAULT_ENTRY, "bf_rt_dev_table_impl.hpp:83"),
    # bf_rt_mirror
    "$mirror.cfg": _can("INSERT MODIFY DELETE CLEAR READ", "bf_rt_mirror_table_impl.hpp:33"),
    # bf_rt_p4
    "MatchAction_Direct": _can(
        "INSERT MODIFY INSERT_OR_MODIFY DELETE CLEAR READ SET_DEFAULT RESET_DEFAULT READ_DEFAULT",
        "bf_rt_p4_table_impl.hpp:67",
    ),
    "Counter": _can("INSERT MODIFY CLEAR READ", "bf_rt_p4_table_impl.hpp:884"),
    "Register": _can("INSERT MODIFY CLEAR READ", "bf_rt_p4_table_impl.hpp:1269"),
    # bf_rt_pktgen
    "pktgen.port_cfg": _can(ENTRIES, "bf_rt_pktgen_table_impl.hpp:126"),
    "pktgen.app_cfg": _can(ENTRIES, "bf_rt_pktgen_table_impl.hpp:168"),
    "pktgen.port_mask": _can(ENTRIES, "bf_rt_pktgen_table_impl.hpp:257"),
    "pktgen.pkt_buffer": _can(ENTRIES, "bf_rt_pktgen_table_impl.hpp:299"),
    "pktgen.port_down_replay": _can(ENTRIES, "bf_rt_pktgen_table_impl.hpp:341"),
    # bf_rt_port
    "$PORT": _can(
        "INSERT MODIFY INSERT_OR_MODIFY DELETE CLEAR READ", "bf_rt_port_table_impl.hpp:38"
    ),
    "$PORT_STAT": _can(ENTRIES, "bf_rt_port_table_impl.hpp:184"),
    "$PORT_HDL_INFO": _can("READ", "bf_rt_port_table_impl.hpp:269"),
    "$PORT_FP_IDX_INFO": _can("READ", "bf_rt_port_table_impl.hpp:311"),
    "$PORT_STR_INFO": _can("READ", "bf_rt_port_table_impl.hpp:353"),
    # bf_rt_pre
    "$pre.mgid": _can("INSERT MODIFY DELETE READ", "bf_rt_pre_table_impl.hpp:40"),
    "$pre.node": _can("INSERT MODIFY DELETE READ", "bf_rt_pre_table_impl.hpp:223"),
    "$pre.ecmp": _can("INSERT MODIFY DELETE READ", "bf_rt_pre_table_impl.hpp:305"),
    "$pre.lag": _can("INSERT MODIFY READ", "bf_rt_pre_table_impl.hpp:410"),
    "$pre.prune": _can("INSERT MODIFY DELETE READ", "bf_rt_pre_table_impl.hpp:476"),
    "$pre.port": _can("INSERT MODIFY DELETE READ", "bf_rt_pre_table_impl.hpp:548"),
    # bf_rt_tm
    "tm.cfg": _can(DEFAULT_ENTRY, "bf_rt_tm_table_impl_cfg.hpp:28"),
    "tm.counter.ig_port": _can(ENTRIES, "bf_rt_tm_table_impl_counters.hpp:112"),
    "tm.counter.eg_port": _can(ENTRIES, "bf_rt_tm_table_impl_counters.hpp:133"),
    "tm.counter.queue": _can(ENTRIES, "bf_rt_tm_table_impl_counters.hpp:154"),
    "tm.counter.pool": _can(ENTRIES, "bf_rt_tm_table_impl_counters.hpp:230"),
    "tm.counter.pipe": _can(DEFAULT_ENTRY, "bf_rt_tm_table_impl_counters.hpp:299"),
    "tm.counter.dpg": _can(ENTRIES, "bf_rt_tm_table_impl_counters.hpp:364"),
    "tm.counter.mirror_dpg": _can(DEFAULT_ENTRY, "bf_rt_tm_table_impl_counters.hpp:433"),
    "tm.counter.ppg": _can(ENTRIES, "bf_rt_tm_table_impl_counters.hpp:476"),
    "tm.l1_node.sched_cfg": _can(ENTRIES, "bf_rt_tm_table_impl_l1_node.hpp:151"),
    "tm.l1_node.sched_shaping": _can(ENTRIES, "bf_rt_tm_table_impl_l1_node.hpp:203"),
    "tm.mirror.dpg": _can(DEFAULT_ENTRY, "bf_rt_tm_table_impl_mirror.hpp:30"),
    "tm.pipe.multicast_fifo": _can(DEFAULT_ENTRY, "bf_rt_tm_table_impl_pipe.hpp:28"),
    "tm.pipe.cfg": _can(DEFAULT_ENTRY, "bf_rt_tm_table_impl_pipe.hpp:115"),
    "tm.pipe.sched_cfg": _can(DEFAULT_ENTRY, "bf_rt_tm_table_impl_pipe.hpp:151"),
    "tm.pool.cfg": _can("MODIFY READ", "bf_rt_tm_table_impl_pool.hpp:29"),
    "tm.pool.skid": _can(DEFAULT_ENTRY, "bf_rt_tm_table_impl_pool.hpp:97"),
    "tm.pool.app": _can("MODIFY READ", "bf_rt_tm_table_impl_pool.hpp:135"),
    "tm.pool.color": _can(ENTRIES, "bf_rt_tm_table_impl_pool.hpp:197"),
    "tm.pool.app_pfc": _can(ENTRIES, "bf_rt_tm_table_impl_pool.hpp:269"),
    "tm.port.cfg": _can("READ", "bf_rt_tm_table_impl_port.hpp:128"),
    "tm.port.buffer": _can(ENTRIES, "bf_rt_tm_table_impl_port.hpp:160"),
    "tm.port.flowcontrol": _can(ENTRIES, "bf_rt_tm_table_impl_port.hpp:196"),
    "tm.port.dpg": _can(ENTRIES, "bf_rt_tm_table_impl_port.hpp:241"),
    "tm.port.sched_cfg": _can(ENTRIES, "bf_rt_tm_table_impl_port.hpp:285"),
    "tm.port.sched_shaping": _can(ENTRIES, "bf_rt_tm_table_impl_port.hpp:329"),
    "tm.port.group_cfg": _can("READ READ_DEFAULT", "bf_rt_tm_table_impl_portgroup.hpp:28"),
    "tm.port.group": _can("MODIFY CLEAR READ READ_DEFAULT", "bf_rt_tm_table_impl_portgroup.hpp:74"),
    "tm.ppg.cfg": _can("INSERT MODIFY DELETE CLEAR READ", "bf_rt_tm_table_impl_ppg.hpp:154"),
    "tm.queue.cfg": _can("MODIFY CLEAR READ READ_DEFAULT", "bf_rt_tm_table_impl_queue.hpp:156"),
    "tm.queue.map": _can("READ", "bf_rt_tm_table_impl_queue.hpp:199"),
    "tm.queue.color": _can("MODIFY CLEAR READ READ_DEFAULT", "bf_rt_tm_table_impl_queue.hpp:225"),
    "tm.queue.buffer": _can("MODIFY CLEAR READ READ_DEFAULT", "bf_rt_tm_table_impl_queue.hpp:269"),
    "tm.queue.sched_cfg": _can(ENTRIES, "bf_rt_tm_table_impl_queue.hpp:316"),
    "tm.queue.sched_shaping": _can(ENTRIES, "bf_rt_tm_table_impl_queue.hpp:368"),
}
"""By name of a fixed table without its chip, or by type of a program's table."""


def operations(table: dict[str, object], chip_prefix: str) -> Operations:
    """What a table can do, by its description."""
    name = str(table["name"]).removeprefix(f"{chip_prefix}.")
    return OPERATIONS.get(name) or OPERATIONS[str(table["table_type"])]
