/* SPDX-License-Identifier: Apache-2.0 */
#include "datagram.h"

#include "application.h"
#include "common/big_endian.h"
#include "common/clock.h"

#define SEQ_BYTES 4

__extension__ typedef unsigned __int128 wide;

int64_t
pacing_next_ns(const struct pacing *pacing)
{
	const struct application *application = pacing->application;
	wide bits = (wide)pacing->frames * application->packet_bytes * 8;

	if (application->every_ns > 0)
		return pacing->start_ns + (int64_t)pacing->frames * application->every_ns;
	return pacing->start_ns + (int64_t)(bits * SECOND_NS / application->rate_bps);
}

void
pacing_begin_frame(struct pacing *pacing)
{
	pacing->frames++;
}

/* All that was due so far. */
static uint64_t
due_bytes(const struct pacing *pacing)
{
	const struct application *application = pacing->application;

	if (application->every_ns == 0 || application->rate_bps == 0)
		return pacing->frames * application->packet_bytes;
	return application_bytes(application->rate_bps, pacing->frames, application->every_ns);
}

uint32_t
pacing_take(struct pacing *pacing)
{
	uint64_t left = due_bytes(pacing) - pacing->sent_bytes;
	uint32_t most = pacing->application->packet_bytes;
	uint32_t bytes = left < most ? (uint32_t)left : most;

	if (bytes < DATAGRAM_BYTES_MIN)
		return 0;
	pacing->sent_bytes += bytes;
	return bytes;
}

void
datagram_encode(const struct datagram_header *header, uint8_t *bytes)
{
	put_be(bytes, SEQ_BYTES, header->seq);
	put_be(bytes + SEQ_BYTES, sizeof(header->sent_ns), (uint64_t)header->sent_ns);
}

struct datagram_header
datagram_decode(const uint8_t *bytes)
{
	return (struct datagram_header){
		.seq = (uint32_t)get_be(bytes, SEQ_BYTES),
		.sent_ns = (int64_t)get_be(bytes + SEQ_BYTES, sizeof(int64_t)),
	};
}
