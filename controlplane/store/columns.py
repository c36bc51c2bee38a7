"""What the rows and columns of a trial's tables are; layouts are beside their writers."""

ROWS = {
    "postcards": "packet that left the queue or was dropped at it (not where bins are kept)",
    "bins": "flow and time bin with any content (instead of postcards)",
    "flow_samples": "sample of TCP_INFO of an active flow, or of a program's qlog",
    "goodput": "flow and interval",
    "flows": "flow",
    "counters": "flow: the registers of P4 after the drain",
    "disturbances": "100 ms with any frame of the lane",
    "pauses": "pause of 0.5 ms or more of the data plane's loop",
    "transfers": "transfer that was to come (only where flow groups have `arrivals`)",
    "segments": "segment that a video player asked for; only where a group has a video",
    "datagrams": "datagram that was sent; only where a group sends datagrams",
    "return_queue": (
        "10 ms in which a packet came to the queue of the way back or left it (only where "
        "`bottleneck.return` is written)"
    ),
}
"""Table -> what it has one row for each of."""

_FLOW = "the flow's number in its trial, from 0"
MEANINGS = {
    "postcards": {
        "kind": "0: left; 1: dropped",
        "flow": _FLOW,
        "packet_bytes": "frame without FCS",
        "payload_bytes": "payload of TCP or UDP",
        "tcp_seq": "TCP sequence number, 32 bits; 0 for UDP",
        "tcp_flags": "TCP flags; 0 for UDP",
        "queue_bytes": (
            "bytes that waited or were being sent when the packet arrived, whatever the "
            "limit counts"
        ),
        "enqueue_ns": "arrival at the queue",
        "dequeue_ns": "when the last bit left; of a dropped packet, when it was dropped",
        "seq": "number of the postcard; a gap is a lost one",
        "marks": (
            "128: CE was set here; 64: the packet was ECN-capable when it arrived; the lowest "
            "four bits: why it was dropped (0: the limit). Only where packets can be marked"
        ),
        "queue": "index of the packet's own queue; only where there are several",
        "own_queue_bytes": (
            "bytes in that queue when the packet arrived, as the limit counts them; likewise"
        ),
    },
    "bins": {
        "bin_start_ns": "beginning of the bin",
        "flow": _FLOW,
        "departed_bytes": "bytes of packets that left",
        "departed_packets": "packets that left",
        "dropped_packets": "packets that were dropped",
        "dropped_bytes": "their bytes",
        "occupancy_bytes_mean": "mean bytes of the flow in the queue",
        "qdelay_mean_ns": "mean queueing delay of the packets that left; null if none did",
        "marked_packets": "of these, those that were marked; only where packets can be",
        "capable_packets": "likewise, those that were ECN-capable when they arrived",
    },
    "flow_samples": {
        "t_ns": "when the flow was read, at its tick or just after",
        "flow": _FLOW,
        "ca_state": "0 open, 1 disorder, 2 CWR, 3 recovery, 4 loss",
        "app_limited": "1 if the latest delivery-rate sample was application-limited",
        "has_bbr": (
            "1 if the `bbr_` columns are valid (they are null otherwise): the congestion "
            "control is the kernel's BBR, or one of `hosts/cc`"
        ),
        "backoff": "RTO back-off exponent",
        "cwnd_pkts": "congestion window, packets",
        "ssthresh_pkts": (
            "slow-start threshold, packets; 2147483647 = none yet, 0 = a program's qlog never "
            "tells it"
        ),
        "mss": "bytes of payload in a full segment",
        "srtt_us": "smoothed RTT, microseconds",
        "rttvar_us": "RTT variation, microseconds",
        "min_rtt_us": "kernel's windowed minimum RTT, microseconds; 4294967295 = none yet",
        "unacked": "packets sent and not cumulatively acknowledged",
        "sacked": "of these, selectively acknowledged",
        "lost": "of these, presumed lost",
        "retrans": "retransmitted and not yet acknowledged",
        "total_retrans": "segments retransmitted since the socket opened, a SYN included",
        "reordering": "reordering degree, packets",
        "delivered_pkts": "segments delivered since the socket opened, retransmissions included",
        "delivered_ce": "of these, acknowledged with ECE",
        "notsent_bytes": "written by the sender, not yet sent once",
        "inflight_bytes": "`max(0, unacked - sacked - lost + retrans) * mss`",
        "bytes_acked": "cumulative payload bytes acknowledged (the kernel's count less the SYN)",
        "bytes_sent": (
            "cumulative payload bytes handed to IP, including retransmissions (and drops in "
            "the sender's own interface)"
        ),
        "bytes_retrans": "cumulative payload bytes retransmitted",
        "delivery_rate_bps": "latest delivery rate, bits per second",
        "pacing_rate_bps": "pacing rate, bits per second; 18446744073709551615 = unlimited",
        "bbr_bw_bps": "BBR's bandwidth estimate, bits per second",
        "bbr_min_rtt_us": "BBR's minimum RTT, microseconds",
        "bbr_pacing_gain": "BBR's pacing gain",
        "bbr_cwnd_gain": "BBR's window gain",
        "bbr_mode": (
            "the state of a congestion control of `hosts/cc`, by its own numbers; null where "
            "it is not told, as by the kernel's BBR"
        ),
        "snd_wnd_bytes": "window advertised by the sink; 0 if the kernel does not report it",
        "rto_us": "retransmission timeout, microseconds",
        "tick": "k of the tick; equal for all flows of one tick, gaps are missed ticks",
        "busy_time_us": "time with unacknowledged or unsent data",
        "rwnd_limited_us": "time limited by the receive window",
        "sndbuf_limited_us": "time limited by the send buffer",
    },
    "goodput": {
        "t_ns": "end of the interval",
        "flow": _FLOW,
        "bytes": "payload that the sink read in it",
    },
    "flows": {
        "flow": _FLOW,
        "group": "number of its flow group, from 0",
        "group_name": "the group's name",
        "cc": "the congestion control that was requested; `udp`: datagrams, which have none",
        "cc_applied": "what the socket read back; of datagrams `udp`",
        "base_rtt_ns": "base RTT",
        "start_ns": "first write of the sender",
        "end_ns": "when the sender stopped writing",
        "sink_bytes": "payload that the sink read",
        "bytes_sent": "payload handed to IP, retransmissions included",
        "bytes_retrans": "payload retransmitted; 0 for datagrams, as the next",
        "total_retrans": "segments retransmitted",
        "first_byte_ns": "first payload at the sink; null if none came",
        "last_byte_ns": "last payload at the sink; null if none came",
    },
    "counters": {
        "flow": _FLOW,
        "arrived_packets": "packets that reached the bottleneck",
        "arrived_bytes": "their bytes",
        "departed_packets": "packets that left",
        "departed_bytes": "their bytes",
        "dropped_packets": "packets that were dropped",
        "dropped_bytes": "their bytes",
        "in_queue_bytes": "bytes still in the queue: 0 after the drain",
        "peak_queue_bytes": "most bytes that the flow had in the queue",
        "marked_packets": "packets that left with CE set here; only where packets can be marked",
        "marked_bytes": "their bytes",
    },
    "disturbances": {
        "t_ns": "beginning of the 100 ms",
        "departures": "frames that left towards the receivers",
        "returns": "frames that left towards the senders",
        "late_sum_ns": "sum of the departures' lateness: actual less scheduled time",
        "late_max_ns": "the largest lateness",
        "error_sum_ns": "sum of the excess of the returns' round trips",
        "error_max_ns": "the largest excess",
        "response_sum_ns": (
            "sum of the receivers' response times, since the departure that they answer"
        ),
        "response_max_ns": "the longest response time",
        "responses": "ACKs that no timer delayed",
    },
    "pauses": {
        "t_ns": "beginning of the pause",
        "length_ns": "its length",
    },
    "transfers": {
        "transfer": "the transfer's number, from 0, by arrival",
        "flow": "the flow whose connection carried it, or was to",
        "group": "number of its flow group",
        "arrival_ns": "when it was planned to come",
        "start_ns": "its first write, or the SYN where it opened a connection; null: it never came",
        "size_bytes": "payload that it was to bring",
        "first_byte_ns": "its first payload at the sink; null if none came",
        "completed_ns": "its last payload at the sink; null: it was not complete by the end",
        "acked_ns": "when the sender knew that all of it had arrived; null likewise",
    },
    "segments": {
        "flow": _FLOW,
        "segment": "its number, from 0",
        "bitrate_bps": "the rung of the ladder",
        "size_bytes": "bitrate times length",
        "requested_ns": "first write of the sender, which is when the request would be there",
        "completed_ns": "all of it acknowledged; null if it never was",
        "buffer_ns": "video in the player's buffer then; null likewise",
        "stalled_ns": (
            "for how long the picture stood still before it was there; of one that never came, "
            "until the flow's end"
        ),
    },
    "datagrams": {
        "flow": _FLOW,
        "seq": "its number in the flow, from 0",
        "bytes": "payload",
        "sent_ns": "when its frame was produced",
        "arrived_ns": "when the receiving kernel took it; null if it was lost",
    },
    "return_queue": {
        "t_ns": "beginning of the 10 ms",
        "arrived_packets": "packets that came, dropped or not",
        "dropped_packets": "packets that were dropped",
        "departed_packets": "packets that left",
        "departed_bytes": "their bytes",
        "queue_bytes_max": "the most bytes that waited or were being sent",
        "qdelay_sum_ns": "sum of the delays of the packets that left, each until its last bit",
        "qdelay_max_ns": "the longest of these delays",
    },
}
"""Table -> column -> what it is; times are after t0, bytes those of frames, or payload."""
