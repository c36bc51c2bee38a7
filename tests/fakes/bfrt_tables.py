"""The chip's fixed tables as a BfRt server describes them: those that the adapter uses.

Names, numbers, widths and choices are the public driver's (SDE 9.13).
"""

import json
from typing import Any

U8, U16, U32, U64 = "uint8", "uint16", "uint32", "uint64"
BOOL, TEXT = "bool", "string"
SPEEDS = ("1G", "10G", "25G", "40G", "50G", "100G", "200G", "400G")
POOLS = ("EG_APP_POOL_0", "EG_APP_POOL_1", "EG_APP_POOL_2", "EG_APP_POOL_3")
INGRESS_POOLS = ("IG_APP_POOL_0", "IG_APP_POOL_1", "IG_APP_POOL_2", "IG_APP_POOL_3")
BAF = ("1.5%", "3%", "6%", "11%", "20%", "33%", "50%", "66%", "80%", "DISABLE")
COALESCING = ("internal_header_length", "timeout_usec", "extract_len")
SESSION_FLAGS = ("$session_priority", "$hash_cfg_flag", "$hash_cfg_flag_p", "$icos_cfg_flag",
                 "$dod_cfg_flag", "$c2c_cfg_flag", "$mc_cfg_flag", "$epipe_cfg_flag")  # fmt: skip
SESSION = {
    "$ucast_egress_port": U32, "$ucast_egress_port_valid": BOOL, "$egress_port_queue": U32,
    "$ingress_cos": U32, "$packet_color": TEXT, "$level1_mcast_hash": U32,
    "$level2_mcast_hash": U32, "$mcast_grp_a": U16, "$mcast_grp_a_valid": BOOL,
    "$mcast_grp_b": U16, "$mcast_grp_b_valid": BOOL, "$mcast_l1_xid": U16, "$mcast_l2_xid": U16,
    "$mcast_rid": U16, "$icos_for_copy_to_cpu": U32, "$copy_to_cpu": BOOL, "$max_pkt_len": U16,
}  # fmt: skip
PRIORITIES = ("LOW", *map(str, range(8)), "HIGH")
QUEUE = {"pg_id": U8, "pg_queue": U8}
PORT = {"dev_port": U32}


def fixed_tables(chip: str) -> bytes:
    """The bf-rt.json of a chip's fixed tables."""
    prefix = "tf1" if chip == "tofino1" else "tf2"
    tables = [_port(), _mirror(chip)]
    tables += [_named(prefix, table) for table in (*_queues(), *_counters(), *_others(chip))]
    return json.dumps({"schema_version": "1.0.0", "tables": tables}).encode()


def _port() -> dict[str, Any]:
    data = [
        _data(1, "$SPEED", TEXT, tuple(f"BF_SPEED_{s}" for s in SPEEDS)),
        _data(2, "$FEC", TEXT, ("BF_FEC_TYP_NONE", "BF_FEC_TYP_FC", "BF_FEC_TYP_RS")),
        _data(4, "$PORT_ENABLE", BOOL),
        _data(5, "$AUTO_NEGOTIATION", TEXT, ("PM_AN_DEFAULT", "PM_AN_FORCE_ENABLE",
                                             "PM_AN_FORCE_DISABLE")),
        _data(25, "$PORT_UP", BOOL, read_only=True),
    ]  # fmt: skip
    return _table(4278255617, "$PORT", {"$DEV_PORT": U32}, data)


def _mirror(chip: str) -> dict[str, Any]:
    coalescing = [
        _data(1, "$internal_header", 128),
        *(_data(n, f"${name}", U32) for n, name in enumerate(COALESCING, 2)),
    ]
    flags = SESSION_FLAGS if chip == "tofino2" else ()
    if chip == "tofino2":
        coalescing.append(_data(5, "$session_coal_mode", BOOL))
    first = len(coalescing) + 1
    fields: list[tuple[str, Any]] = [("$session_enable", BOOL), *((f, BOOL) for f in flags)]
    data = [_data(n, name, kind) for n, (name, kind) in enumerate(fields, first)]
    data.append(_data(first + len(data), "$direction", TEXT, ("INGRESS", "EGRESS", "BOTH")))
    for name, kind in SESSION.items():
        choices = ("GREEN", "YELLOW", "RED") if kind == TEXT else ()
        data.append(_data(first + len(data), name, kind, choices))
    actions = [_action(1, "$coalescing", coalescing), _action(2, "$normal", [])]
    return _table(4278452225, "$mirror.cfg", {"$sid": U16}, data, actions)


def _queues() -> list[dict[str, Any]]:
    buffer = [
        _data(1, "guaranteed_cells", U32),
        _data(2, "hysteresis_cells", U32),
        _data(3, "tail_drop_enable", BOOL),
    ]
    shared = [
        _data(4, "pool_id", TEXT, POOLS),
        _data(5, "pool_max_cells", U32),
        _data(6, "dynamic_baf", TEXT, BAF),
    ]
    shaping = [
        _data(1, "unit", TEXT, ("PPS", "BPS")),
        _data(2, "provisioning", TEXT, ("UPPER", "LOWER", "MIN_ERROR")),
        _data(3, "min_rate", U32),
        _data(4, "min_burst_size", U32),
        _data(5, "max_rate", U32),
        _data(6, "max_burst_size", U32),
    ]
    actions = [_action(1, "shared_pool", shared), _action(2, "buffer_only", [])]
    return [
        _table(4278517796, "tm.queue.buffer", QUEUE, buffer, actions),
        _table(4278517797, "tm.queue.sched_cfg", QUEUE, _served()),
        _table(4278517798, "tm.queue.sched_shaping", QUEUE, shaping),
    ]


def _served() -> list[dict[str, Any]]:
    """How a queue is served; alike on both chips but for what no adapter needs."""
    return [
        _data(2, "min_rate_enable", BOOL),
        _data(1, "min_priority", TEXT, PRIORITIES),
        _data(5, "max_rate_enable", BOOL),
        _data(4, "max_priority", TEXT, PRIORITIES),
        _data(3, "dwrr_weight", U16),
    ]


def _counters() -> list[dict[str, Any]]:
    counted = [
        _data(1, "drop_count_packets", U64),
        _data(2, "usage_cells", U64, read_only=True),
        _data(3, "watermark_cells", U64),
    ]
    return [
        _table(4278517825, "tm.counter.ig_port", PORT, counted),
        _table(4278517827, "tm.counter.queue", QUEUE, counted),
    ]


def _others(chip: str) -> list[dict[str, Any]]:
    first = 1 if chip == "tofino1" else 2
    pipe = [] if chip == "tofino1" else [_data(1, "mirror_drop_enable", BOOL)]
    pipe += [_data(first, "mirror_drop_pg_id", U8), _data(first + 1, "mirror_drop_pg_queue", U8)]
    port = [
        _data(1, "pg_id", U8, read_only=True),
        _data(5, "egress_qid_queues", U8, read_only=True, repeated=True),
    ]
    admission = [
        _data(12, "pool_id", TEXT, INGRESS_POOLS),
        _data(13, "pool_max_cells", U32),
        _data(14, "dynamic_baf", TEXT, BAF),
    ]
    line = [
        _data(1, "unit", TEXT, ("PPS", "BPS")),
        _data(2, "provisioning", TEXT, ("UPPER", "LOWER", "MIN_ERROR")),
        _data(3, "max_rate", U32),
        _data(4, "max_burst_size", U32),
    ]
    device = [
        _data(2, "cell_size_bytes", U32, read_only=True),
        _data(3, "total_cells", U32, read_only=True),
    ]
    sku = [
        _data(1, "sku", TEXT, read_only=True),
        _data(2, "num_pipes", U32, read_only=True),
        _data(3, "num_stages", U32, read_only=True),
    ]
    return [
        _table(4278517776, "tm.port.cfg", PORT, port),
        _table(4278517781, "tm.port.dpg", PORT, admission),
        _table(4278517782, "tm.port.sched_cfg", PORT, [_data(1, "max_rate_enable", BOOL)]),
        _table(4278517783, "tm.port.sched_shaping", PORT, line),
        _table(4278517762, "tm.pool.cfg", {"pool": TEXT}, [_data(1, "size_cells", U32)]),
        _table(4278517840, "tm.pipe.cfg", {}, pipe),
        _table(4278517889, "tm.cfg", {}, device),
        _table(4278583297, "dev.device_configuration", {}, sku),
        *_generator(chip),
    ]


def _generator(chip: str) -> list[dict[str, Any]]:
    short: str | int = U16 if chip == "tofino1" else 16
    data = [
        _data(12, "app_enable", BOOL),
        _data(13, "pkt_len", short),
        _data(14, "pkt_buffer_offset", short),
        _data(15, "pipe_local_source_port", U32),
        _data(16, "increment_source_port", BOOL),
        _data(17, "batch_count_cfg", short),
        _data(18, "packets_per_batch_cfg", short),
        *(_data(n, f, U32) for n, f in enumerate(("ibg", "ibg_jitter", "ipg", "ipg_jitter"), 19)),
        *(_data(n, f"{f}_counter", U64) for n, f in enumerate(("batch", "pkt", "trigger"), 23)),
    ]
    if chip == "tofino2":
        data += [
            _data(26, "offset_len_from_recir_pkt_enable", BOOL),
            _data(27, "source_port_wrap_max", 8),
            _data(28, "assigned_chnl_id", 8),
        ]
    timer = [_data(1, "timer_nanosec", U32)]
    actions = [
        _action(1, "trigger_timer_one_shot", timer),
        _action(2, "trigger_timer_periodic", timer),
    ]
    return [
        _table(4278386689, "pktgen.port_cfg", PORT, [_data(2, "pktgen_enable", BOOL)]),
        _table(4278386690, "pktgen.app_cfg", {"app_id": U32}, data, actions),
    ]


def _named(prefix: str, table: dict[str, Any]) -> dict[str, Any]:
    return table | {"name": f"{prefix}.{table['name']}"}


def _table(
    number: int,
    name: str,
    key: dict[str, str],
    data: list[dict[str, Any]],
    actions: list[dict[str, Any]] | None = None,
) -> dict[str, Any]:
    keys = [
        {"id": i, "name": field, "match_type": "Exact", "type": _type(kind), "repeated": False}
        for i, (field, kind) in enumerate(key.items(), 1)
    ]
    return {"id": number, "name": name, "key": keys, "data": data, "action_specs": actions or []}


def _action(number: int, name: str, data: list[dict[str, Any]]) -> dict[str, Any]:
    return {"id": number, "name": name, "data": data}


def _data(
    number: int,
    name: str,
    kind: str | int,
    choices: tuple[str, ...] = (),
    read_only: bool = False,
    repeated: bool = False,
) -> dict[str, Any]:
    inner = {"id": number, "name": name, "repeated": repeated, "type": _type(kind, choices)}
    return {"mandatory": False, "read_only": read_only, "singleton": inner}


def _type(kind: str | int, choices: tuple[str, ...] = ()) -> dict[str, Any]:
    if isinstance(kind, int):
        return {"type": "bytes", "width": kind}
    return {"type": kind} | ({"choices": list(choices)} if choices else {})
