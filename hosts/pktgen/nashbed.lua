-- SPDX-License-Identifier: Apache-2.0
-- What nashbed needs of Pktgen-DPDK, for its Lua socket (port 22022): one table of functions.
-- controlplane/calibrate/dpdk_loads.py sends this file and then calls them, one line each; every
-- answer is one line, "nashbed: NUMBER ok TEXT" or "nashbed: NUMBER error TEXT".
--
-- One statement from here to the end: the socket runs each statement as a chunk of its own.
nashbed = (function()
	local FCS_BYTES = 4 -- Pktgen's sizes count it, nashbed's frames do not
	local WIRE_BYTES = 24 -- preamble, gap and FCS: the link's rate counts them
	local MOST_PERCENT = 100
	local POLL_MS = 1
	local SETTLE_MS = 3000

	local port = "0"
	local before, asked = 0, 0
	local functions = {}

	-- Frames sent so far. Older versions take a second argument and have no `curr`.
	local function sent()
		local ok, stats = pcall(pktgen.portStats, port)
		if not ok then
			stats = pktgen.portStats(port, "port")
		end
		local of_port = stats[tonumber(port)]
		if not of_port then
			error("it has no port " .. port)
		end
		return (of_port.curr or of_port).opackets
	end

	local function is_sending()
		return pktgen.isSending(port)[tonumber(port)] == "y"
	end

	local function link_mbit()
		local state = pktgen.linkState(port)[tonumber(port)]
		local mbit = tonumber(string.match(state, "UP%-(%d+)"))
		if not mbit then
			error("port " .. port .. " has no link: " .. state)
		end
		return mbit
	end

	local function percent_of_link(frame_bytes, pps)
		local percent = pps * (frame_bytes + WIRE_BYTES) * 8 / (link_mbit() * 1e6) * 100
		return math.min(MOST_PERCENT, percent)
	end

	-- The counters are read now and then only: wait until they have caught up.
	local function await_sent(expected)
		local waited = 0
		while sent() < expected and waited < SETTLE_MS do
			pktgen.delay(POLL_MS)
			waited = waited + POLL_MS
		end
	end

	function functions.hello()
		return pktgen.info.Pktgen_Version
	end

	-- Choose the port and the flow of the next burst.
	function functions.flow(number, source_mac, destination_mac, source, destination, sport, dport)
		port = tostring(number)
		before, asked = sent(), 0
		pktgen.screen("off")
		pktgen.set_type(port, "ipv4")
		pktgen.set_proto(port, "udp")
		pktgen.set_mac(port, "src", source_mac)
		pktgen.set_mac(port, "dst", destination_mac)
		pktgen.set_ipaddr(port, "src", source .. "/32")
		pktgen.set_ipaddr(port, "dst", destination)
		pktgen.set(port, "sport", sport)
		pktgen.set(port, "dport", dport)
		pktgen.set(port, "burst", 1)
		return "flow"
	end

	-- Send frames of one size. A start writes every packet buffer anew before the first frame, and
	-- the frames that were due meanwhile then leave back to back.
	function functions.send(frame_bytes, count, pps)
		pktgen.set(port, "size", frame_bytes + FCS_BYTES)
		pktgen.set(port, "rate", percent_of_link(frame_bytes, pps))
		pktgen.set(port, "count", count)
		pktgen.start(port)
		repeat
			pktgen.delay(POLL_MS)
		until not is_sending()
		asked = asked + count
		return asked
	end

	-- The number of frames of the burst that left.
	function functions.sent()
		await_sent(before + asked)
		return sent() - before
	end

	function functions.stop()
		pktgen.stop(port)
		pktgen.screen("on")
		return "stopped"
	end

	-- Call one of them and tell the result in one line, whatever happens.
	local function call(number, name, ...)
		local ok, result = pcall(functions[name], ...)
		local text = string.gsub(tostring(result), "%s+", " ")
		io.write(string.format("nashbed: %d %s %s\n", number, ok and "ok" or "error", text))
		io.flush()
	end

	return { call = call }
end)()
