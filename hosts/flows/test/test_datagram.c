/* SPDX-License-Identifier: Apache-2.0 */
#include "application.h"
#include "common/check.h"
#include "common/clock.h"
#include "datagram.h"

/* 1 Mbit/s every 20 ms: 2,500 bytes, twelve packets of 200 and one of 100. */
static void
a_frame_is_full_packets_and_the_rest(void)
{
	const struct application media = {
		.rate_bps = 1000000, .packet_bytes = 200, .every_ns = 20 * MILLISECOND_NS};
	struct pacing pacing = {&media, 1000, 0, 0};

	for (int64_t frame = 0; frame < 3; frame++) {
		CHECK(pacing_next_ns(&pacing) == 1000 + frame * 20 * MILLISECOND_NS);
		pacing_begin_frame(&pacing);
		for (int i = 0; i < 12; i++)
			CHECK(pacing_take(&pacing) == 200);
		CHECK(pacing_take(&pacing) == 100);
		CHECK(pacing_take(&pacing) == 0);
	}
}

/* 200.5 kbit/s every 8 ms: 200 bytes and a half; what is less than a header waits. */
static void
nothing_of_a_rate_is_lost(void)
{
	const struct application media = {
		.rate_bps = 200500, .packet_bytes = 200, .every_ns = 8 * MILLISECOND_NS};
	struct pacing pacing = {&media, 0, 0, 0};
	uint64_t sum = 0;
	uint32_t bytes;

	for (int frame = 0; frame < 1000; frame++) {
		pacing_begin_frame(&pacing);
		while ((bytes = pacing_take(&pacing)) > 0) {
			CHECK(bytes >= DATAGRAM_BYTES_MIN && bytes <= 200);
			sum += bytes;
		}
	}
	CHECK(sum <= 200500 && sum > 200500 - DATAGRAM_BYTES_MIN);
}

static void
an_interval_alone_has_one_packet(void)
{
	const struct application media = {.packet_bytes = 160, .every_ns = 20 * MILLISECOND_NS};
	struct pacing pacing = {&media, 0, 0, 0};

	pacing_begin_frame(&pacing);
	CHECK(pacing_take(&pacing) == 160 && pacing_take(&pacing) == 0);
	CHECK(pacing_next_ns(&pacing) == 20 * MILLISECOND_NS);
}

/* 1,200 bytes at 3 Mbit/s: every 3.2 ms; at 7 Mbit/s every 1.371428571... ms, without drift. */
static void
a_rate_alone_spaces_packets(void)
{
	struct application media = {.rate_bps = 3000000, .packet_bytes = 1200};
	struct pacing pacing = {&media, 5, 0, 0};

	pacing_begin_frame(&pacing);
	CHECK(pacing_take(&pacing) == 1200 && pacing_take(&pacing) == 0);
	CHECK(pacing_next_ns(&pacing) == 5 + 3200000);
	media.rate_bps = 7000000;
	pacing.frames = 7000;
	CHECK(pacing_next_ns(&pacing) == 5 + INT64_C(9600000000));
	pacing.frames = 1;
	CHECK(pacing_next_ns(&pacing) == 5 + 1371428);
}

static void
a_header_is_read_as_it_was_written(void)
{
	const struct datagram_header header = {.seq = 0x01020304, .sent_ns = 0x1112131415161718};
	uint8_t bytes[DATAGRAM_BYTES_MIN];
	struct datagram_header again;

	datagram_encode(&header, bytes);
	again = datagram_decode(bytes);
	CHECK(bytes[0] == 1 && bytes[3] == 4 && bytes[4] == 0x11 && bytes[11] == 0x18);
	CHECK(again.seq == header.seq && again.sent_ns == header.sent_ns);
}

int
main(void)
{
	a_frame_is_full_packets_and_the_rest();
	nothing_of_a_rate_is_lost();
	an_interval_alone_has_one_packet();
	a_rate_alone_spaces_packets();
	a_header_is_read_as_it_was_written();
	return 0;
}
