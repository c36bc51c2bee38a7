-- SPDX-License-Identifier: Apache-2.0
-- P4.org's Telemetry Report Format 2.0 (INT 2.1) over UDP, for Wireshark and tshark:
--   wireshark -X lua_script:telemetry_report.lua FILE
-- The collector's port is a preference of the protocol.

local report = Proto("p4_report", "P4 Telemetry Report 2.0")

local REPORT_TYPES = { [0] = "Inner Only", [1] = "INT", [2] = "IOAM" }
local INNER_TYPES = {
	[0] = "None", [1] = "TLV", [2] = "Domain Specific Extension Data",
	[3] = "Ethernet", [4] = "IPv4", [5] = "IPv6",
}
local INNER_DISSECTORS = { [3] = "eth_withoutfcs", [4] = "ip", [5] = "ipv6" }
local DROP_REASONS = { [71] = "traffic manager", [72] = "meter", [73] = "WRED", [80] = "ACL deny" }
local WHOLE = 0xFF

local f = {
	version = ProtoField.uint8("p4_report.version", "Version"),
	hw_id = ProtoField.uint8("p4_report.hw_id", "Hardware ID"),
	sequence = ProtoField.uint32("p4_report.sequence", "Sequence Number"),
	node_id = ProtoField.uint32("p4_report.node_id", "Node ID"),
	rep_type = ProtoField.uint8("p4_report.rep_type", "Report Type", base.DEC, REPORT_TYPES, 0xF0),
	in_type = ProtoField.uint8("p4_report.in_type", "Inner Type", base.DEC, INNER_TYPES, 0x0F),
	length = ProtoField.uint8("p4_report.length", "Report Length (words)"),
	md_length = ProtoField.uint8("p4_report.md_length", "Metadata Length (words)"),
	dropped = ProtoField.bool("p4_report.dropped", "Dropped", 8, nil, 0x80),
	congested = ProtoField.bool("p4_report.congested", "Congested Queue", 8, nil, 0x40),
	tracked = ProtoField.bool("p4_report.tracked", "Tracked Flow", 8, nil, 0x20),
	intermediate = ProtoField.bool("p4_report.intermediate", "Intermediate Report", 8, nil, 0x10),
	md_bits = ProtoField.uint16("p4_report.md_bits", "Report Metadata Bits", base.HEX),
	domain = ProtoField.uint16("p4_report.domain", "Domain Specific ID", base.HEX),
	ds_bits = ProtoField.uint16("p4_report.ds_md_bits", "Domain Specific Metadata Bits", base.HEX),
	ds_status = ProtoField.uint16("p4_report.ds_md_status", "Domain Specific Metadata Status", base.HEX),
	level1_ingress = ProtoField.uint16("p4_report.level1_ingress", "Level 1 Ingress Interface ID"),
	level1_egress = ProtoField.uint16("p4_report.level1_egress", "Level 1 Egress Interface ID"),
	latency = ProtoField.uint32("p4_report.hop_latency", "Hop Latency"),
	queue_id = ProtoField.uint8("p4_report.queue_id", "Queue ID"),
	occupancy = ProtoField.uint24("p4_report.queue_occupancy", "Queue Occupancy"),
	ingress = ProtoField.uint64("p4_report.ingress_ns", "Ingress Timestamp"),
	egress = ProtoField.uint64("p4_report.egress_ns", "Egress Timestamp"),
	level2_ingress = ProtoField.uint32("p4_report.level2_ingress", "Level 2 Ingress Interface ID"),
	level2_egress = ProtoField.uint32("p4_report.level2_egress", "Level 2 Egress Interface ID"),
	utilization = ProtoField.uint32("p4_report.tx_utilization", "Egress Port TX Utilization"),
	buffer_id = ProtoField.uint8("p4_report.buffer_id", "Buffer ID"),
	buffer = ProtoField.uint24("p4_report.buffer_occupancy", "Buffer Occupancy"),
	drop_queue = ProtoField.uint8("p4_report.drop_queue_id", "Queue ID"),
	reason = ProtoField.uint8("p4_report.drop_reason", "Drop Reason", base.DEC, DROP_REASONS),
	unknown = ProtoField.bytes("p4_report.unknown_metadata", "Reserved Metadata"),
	domain_data = ProtoField.bytes("p4_report.domain_metadata", "Domain Specific Metadata"),
	inner = ProtoField.bytes("p4_report.inner", "Inner Contents"),
}
report.fields = f

local too_short = ProtoExpert.new("p4_report.too_short", "Report is longer than what carries it",
	expert.group.MALFORMED, expert.severity.ERROR)
report.experts = { too_short }

-- Bit of the metadata, MSB first -> its fields, each with its bytes. Others are reserved: 4 bytes.
local METADATA = {
	[1] = { { f.level1_ingress, 2 }, { f.level1_egress, 2 } },
	[2] = { { f.latency, 4 } },
	[3] = { { f.queue_id, 1 }, { f.occupancy, 3 } },
	[4] = { { f.ingress, 8 } },
	[5] = { { f.egress, 8 } },
	[6] = { { f.level2_ingress, 4 }, { f.level2_egress, 4 } },
	[7] = { { f.utilization, 4 } },
	[8] = { { f.buffer_id, 1 }, { f.buffer, 3 } },
	[15] = { { f.drop_queue, 1 }, { f.reason, 1 }, { nil, 2 } },
}

report.prefs.port = Pref.uint("UDP port", 32766, "Where the collector listens")

local function add_metadata(buffer, tree, bits)
	local at = 0
	for bit = 0, 15 do
		if bits:bitfield(bit, 1) == 1 then
			for _, part in ipairs(METADATA[bit] or { { f.unknown, 4 } }) do
				if at + part[2] > buffer:len() then
					tree:add_proto_expert_info(too_short)
					return
				end
				if part[1] then tree:add(part[1], buffer(at, part[2])) end
				at = at + part[2]
			end
		end
	end
	if at < buffer:len() then tree:add(f.domain_data, buffer(at)) end
end

-- A report has only the head of its packet; dissectors are given the length that IPv4 states.
local function whole(buffer, name)
	local length = name == "ip" and buffer:len() >= 4 and buffer(2, 2):uint() or 0
	if length <= buffer:len() then
		return buffer:tvb()
	end
	local bytes = buffer:bytes()
	bytes:set_size(length)
	return bytes:tvb("Packet, zeros behind its head")
end

local function add_inner(buffer, pinfo, tree, kind)
	if buffer:len() == 0 then return end
	local name = INNER_DISSECTORS[kind]
	if not name then
		tree:add(f.inner, buffer)
		return
	end
	Dissector.get(name):call(whole(buffer, name), pinfo, tree)
end

-- One individual report; returns the bytes that it has, or nothing where it is cut off.
local function add_report(buffer, pinfo, tree)
	local words = buffer(1, 1):uint()
	local bytes = words == WHOLE and buffer:len() or 4 + 4 * words
	local branch = tree:add(report, buffer(0, math.min(bytes, buffer:len())), "Individual Report")
	branch:add(f.rep_type, buffer(0, 1))
	branch:add(f.in_type, buffer(0, 1))
	branch:add(f.length, buffer(1, 1))
	branch:add(f.md_length, buffer(2, 1))
	for _, flag in ipairs({ f.dropped, f.congested, f.tracked, f.intermediate }) do
		branch:add(flag, buffer(3, 1))
	end
	local at, md_bytes = 4, 4 * buffer(2, 1):uint()
	local is_int = buffer(0, 1):bitfield(0, 4) == 1
	if bytes > buffer:len() or (is_int and 12 + md_bytes > bytes) then
		branch:add_proto_expert_info(too_short)
		return nil
	end
	if is_int then
		for n, field in ipairs({ f.md_bits, f.domain, f.ds_bits, f.ds_status }) do
			branch:add(field, buffer(2 + 2 * n, 2))
		end
		if md_bytes > 0 then add_metadata(buffer(12, md_bytes), branch, buffer(4, 2)) end
		at = 12 + md_bytes
	end
	if at < bytes then
		add_inner(buffer(at, bytes - at), pinfo, branch, buffer(0, 1):bitfield(4, 4))
	end
	return bytes
end

function report.dissector(buffer, pinfo, root)
	if buffer:len() < 12 or buffer(0, 1):bitfield(0, 4) ~= 2 then return 0 end
	local tree = root:add(report, buffer())
	tree:add(f.version, buffer(0, 1), buffer(0, 1):bitfield(0, 4))
	tree:add(f.hw_id, buffer(0, 2), buffer(0, 2):bitfield(4, 6))
	tree:add(f.sequence, buffer(0, 4), buffer(0, 4):bitfield(10, 22))
	tree:add(f.node_id, buffer(4, 4))
	local at = 8
	while at + 4 <= buffer:len() do
		local bytes = add_report(buffer(at), pinfo, tree)
		if not bytes then break end
		at = at + bytes
	end
	-- In place of what the inner packet's dissectors said.
	pinfo.cols.protocol = "P4 Report"
	pinfo.cols.info = "Telemetry Report of: " .. tostring(pinfo.cols.info)
	return buffer:len()
end

local port = report.prefs.port
DissectorTable.get("udp.port"):add(port, report)

function report.prefs_changed()
	if port == report.prefs.port then return end
	DissectorTable.get("udp.port"):remove(port, report)
	port = report.prefs.port
	DissectorTable.get("udp.port"):add(port, report)
end
