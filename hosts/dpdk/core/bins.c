/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "bins.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Postcards carry the lowest 48 bits of times on the switch clock, which wrap after 78 hours. */
#define SWITCH_CLOCK_WRAP_NS (UINT64_C(1) << CLOCK_BITS)

/* One flow's share of one bin. A packet that is in the queue over many
 * bins adds to the first and last of them by its exact time there, and to those
 * between through a running sum: `entering` and `leaving` are the bytes that
 * start and stop filling whole bins here.
 */
struct cell {
	struct bin_record record;
	uint64_t entering;
	uint64_t leaving;
};

struct bins {
	uint64_t bin_ns;
	uint64_t overtaken; /* bins for which a packet may stay after later ones have left */
	uint32_t first_flow;
	uint32_t n_flows;
	uint32_t capacity;  /* bins in the ring, a power of two */
	uint64_t first_bin; /* the oldest open bin */
	uint64_t end_bin;   /* one past the newest open bin */
	uint64_t latest_ns; /* the last time seen; wrapped ones are near it */
	struct cell *cells; /* ring of capacity x n_flows */
	uint64_t *standing; /* per flow: bytes that fill the oldest open bin whole */
};

#define FIRST_CAPACITY 64u

struct bins *
bins_create(uint64_t bin_ns, uint64_t start_ns, uint64_t overtaken_ns, uint32_t first_flow,
	    uint32_t n_flows)
{
	struct bins *bins = calloc(1, sizeof(*bins));

	if (bins == NULL)
		return NULL;
	*bins = (struct bins){
		.bin_ns = bin_ns,
		.overtaken = (overtaken_ns + bin_ns - 1) / bin_ns,
		.first_flow = first_flow,
		.n_flows = n_flows,
		.capacity = FIRST_CAPACITY,
		.first_bin = start_ns / bin_ns,
		.end_bin = start_ns / bin_ns,
		.latest_ns = start_ns,
	};
	bins->cells = calloc((size_t)bins->capacity * n_flows, sizeof(*bins->cells));
	bins->standing = calloc(n_flows, sizeof(*bins->standing));
	if (bins->cells == NULL || bins->standing == NULL) {
		bins_destroy(bins);
		return NULL;
	}
	return bins;
}

void
bins_destroy(struct bins *bins)
{
	free(bins->cells);
	free(bins->standing);
	free(bins);
}

static struct cell *
row_of(const struct bins *bins, uint64_t bin)
{
	return bins->cells + (bin & (bins->capacity - 1)) * bins->n_flows;
}

static int
grow(struct bins *bins)
{
	struct bins larger = *bins;
	size_t row_bytes = bins->n_flows * sizeof(struct cell);

	larger.capacity = 2 * bins->capacity;
	larger.cells = calloc((size_t)larger.capacity * bins->n_flows, sizeof(struct cell));
	if (larger.cells == NULL)
		return -ENOMEM;
	for (uint64_t bin = bins->first_bin; bin < bins->end_bin; bin++)
		memcpy(row_of(&larger, bin), row_of(bins, bin), row_bytes);
	free(bins->cells);
	*bins = larger;
	return 0;
}

/* Open bins up to and including this one. */
static int
reach(struct bins *bins, uint64_t bin)
{
	while (bins->end_bin <= bin) {
		if (bins->end_bin - bins->first_bin == bins->capacity && grow(bins) < 0)
			return -ENOMEM;
		memset(row_of(bins, bins->end_bin), 0, bins->n_flows * sizeof(struct cell));
		bins->end_bin++;
	}
	return 0;
}

static int
is_not_empty(const struct bin_record *r)
{
	return r->departed_packets || r->dropped_packets || r->occupancy_byte_ns;
}

static int
close_first(struct bins *bins, bins_emit_t emit, void *context)
{
	struct cell *row = row_of(bins, bins->first_bin);

	for (uint32_t i = 0; i < bins->n_flows; i++) {
		struct bin_record *r = &row[i].record;
		int error;

		bins->standing[i] += row[i].entering;
		bins->standing[i] -= row[i].leaving;
		r->occupancy_byte_ns += bins->standing[i] * bins->bin_ns;
		r->bin = (uint32_t)bins->first_bin;
		r->flow = bins->first_flow + i;
		if (!is_not_empty(r))
			continue;
		error = emit(context, r);
		if (error)
			return error;
	}
	bins->first_bin++;
	return 0;
}

static int
close_before(struct bins *bins, uint64_t bin, bins_emit_t emit, void *context)
{
	while (bins->first_bin < bin && bins->first_bin < bins->end_bin) {
		int error = close_first(bins, emit, context);

		if (error)
			return error;
	}
	/* The queue is empty past the last open bin: skip the idle bins. */
	if (bins->first_bin < bin)
		bins->first_bin = bins->end_bin = bin;
	return 0;
}

/* The time with these lowest bits that is nearest to another: at most 39 hours from it. Never
 * below 0, the beginning of the clock: what would be is 78 hours later.
 */
static uint64_t
unwrap(uint64_t wrapped_ns, uint64_t near_ns)
{
	uint64_t ahead_ns = (wrapped_ns - near_ns) & (SWITCH_CLOCK_WRAP_NS - 1);
	uint64_t back_ns = SWITCH_CLOCK_WRAP_NS - ahead_ns;

	return ahead_ns < SWITCH_CLOCK_WRAP_NS / 2 || back_ns > near_ns ? near_ns + ahead_ns :
									  near_ns - back_ns;
}

/* A packet's stay on the clock that does not wrap. */
struct stay {
	uint64_t enqueue_ns;
	uint64_t dequeue_ns;
};

static struct stay
stay_of(const struct bins *bins, const struct postcard *p)
{
	return (struct stay){
		.enqueue_ns = unwrap(p->enqueue_ns, bins->latest_ns),
		.dequeue_ns = unwrap(p->dequeue_ns, bins->latest_ns),
	};
}

static void
add_sojourn(struct bins *bins, uint32_t flow, uint32_t bytes, const struct stay *p)
{
	uint64_t first = p->enqueue_ns / bins->bin_ns;
	uint64_t last = p->dequeue_ns / bins->bin_ns;
	struct cell *first_cell = &row_of(bins, first)[flow];
	struct cell *last_cell = &row_of(bins, last)[flow];

	if (first == last) {
		first_cell->record.occupancy_byte_ns += bytes * (p->dequeue_ns - p->enqueue_ns);
		return;
	}
	first_cell->record.occupancy_byte_ns +=
		bytes * ((first + 1) * bins->bin_ns - p->enqueue_ns);
	last_cell->record.occupancy_byte_ns += bytes * (p->dequeue_ns - last * bins->bin_ns);
	row_of(bins, first + 1)[flow].entering += bytes;
	last_cell->leaving += bytes;
}

int
bins_add(struct bins *bins, const struct postcard *p, bins_emit_t emit, void *context)
{
	uint32_t flow = p->flow - bins->first_flow;
	struct stay stay = stay_of(bins, p);
	uint64_t arrived_in = stay.enqueue_ns / bins->bin_ns;
	struct bin_record *r;
	int error;

	if (flow >= bins->n_flows || arrived_in < bins->first_bin ||
	    stay.dequeue_ns < stay.enqueue_ns)
		return -ERANGE;
	bins->latest_ns = stay.dequeue_ns;
	/* Before new bins are opened, so that no idle time takes memory. A drop
	 * closes no bin: packets that arrived before it may still be in the queue.
	 */
	if (p->kind != POSTCARD_DROPPED && arrived_in > bins->overtaken) {
		error = close_before(bins, arrived_in - bins->overtaken, emit, context);
		if (error)
			return error;
	}
	error = reach(bins, stay.dequeue_ns / bins->bin_ns);
	if (error)
		return error;
	add_sojourn(bins, flow, p->packet_bytes, &stay);
	r = &row_of(bins, stay.dequeue_ns / bins->bin_ns)[flow].record;
	if (p->kind == POSTCARD_DROPPED) {
		r->dropped_packets++;
		r->dropped_bytes += p->packet_bytes;
		return 0;
	}
	r->departed_packets++;
	r->departed_bytes += p->packet_bytes;
	r->qdelay_sum_ns += stay.dequeue_ns - stay.enqueue_ns;
	r->marked_packets += (p->marks & MARK_CE) != 0;
	r->capable_packets += (p->marks & MARK_CAPABLE) != 0;
	return 0;
}

int
bins_finish(struct bins *bins, bins_emit_t emit, void *context)
{
	return close_before(bins, bins->end_bin, emit, context);
}
