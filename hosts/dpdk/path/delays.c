/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "delays.h"

#define DIRECTIONS 2u

/* Paths: out and back for each group of each lane, then one for each direction
 * for what is not of the address plan.
 */
static uint32_t
groups(const struct delays *d)
{
	return d->n_lanes * GROUPS_PER_LANE;
}

static uint32_t
path_of_group(const struct delays *d, bool from_senders, uint32_t lane, uint32_t group)
{
	uint32_t direction = from_senders ? 0 : 1;

	return direction * groups(d) + lane * GROUPS_PER_LANE + group;
}

static uint32_t
path_of_frame(const struct delays *d, bool from_senders, const struct rte_mbuf *mbuf)
{
	uint32_t lane, group;

	if (addresses_group(rte_pktmbuf_mtod(mbuf, const uint8_t *), mbuf->pkt_len, from_senders,
			    d->n_lanes, &lane, &group))
		return path_of_group(d, from_senders, lane, group);
	return DIRECTIONS * groups(d) + (from_senders ? 0 : 1);
}

static uint32_t
direction_of(const struct delays *d, uint32_t path)
{
	return path < DIRECTIONS * groups(d) ? path / groups(d) : path - DIRECTIONS * groups(d);
}

int
delays_init(struct delays *d, uint32_t n_lanes, struct hold_ups *hold_ups)
{
	int error;

	*d = (struct delays){.n_lanes = n_lanes, .hold_ups = hold_ups};
	error = delay_line_init(&d->line, DIRECTIONS * (groups(d) + 1));
	for (uint32_t path = 0; !error && path < d->line.n_paths; path++)
		d->line.paths[path].direction = direction_of(d, path);
	return error;
}

void
delays_free(struct delays *d)
{
	struct delayed delayed;
	bool stale;

	while (delay_line_get(&d->line, EVENT_NEVER - 1, &delayed, &stale))
		rte_pktmbuf_free(delayed.handle);
	delay_line_free(&d->line);
}

int
delays_configure(struct delays *d, uint32_t lane, uint32_t group, const struct group_delay *delay)
{
	uint32_t out = path_of_group(d, true, lane, group);
	uint32_t back = path_of_group(d, false, lane, group);
	struct delay_settings there = {
		.delay_ns = delay->forward_ns,
		.jitter_ns = delay->jitter_ns,
		.loss_ppb = delay->loss_ppb,
		.seed = delay->seed,
	};
	/* The receivers' host has a sequence of its own. */
	struct delay_settings again = {
		.delay_ns = delay->reverse_ns,
		.jitter_ns = delay->jitter_ns,
		.seed = ~delay->seed,
	};
	int error = delay_line_configure(&d->line, out, &there);

	if (d->hold_ups != NULL)
		hold_ups_configure_lane(d->hold_ups, lane, delay->receivers_wait);
	return error ? error : delay_line_configure(&d->line, back, &again);
}

int
delays_impair(struct delays *d, bool from_senders, uint32_t lane, uint32_t group,
	      const struct impairment_settings *settings)
{
	return delay_line_impair(&d->line, path_of_group(d, from_senders, lane, group), settings);
}

void
delays_clear_lane(struct delays *d, uint32_t lane)
{
	for (uint32_t group = 0; group < GROUPS_PER_LANE; group++) {
		delay_line_clear(&d->line, path_of_group(d, true, lane, group));
		delay_line_clear(&d->line, path_of_group(d, false, lane, group));
	}
}

void
delays_begin(struct delays *d, uint32_t lane, uint64_t t0_ns)
{
	for (uint32_t group = 0; group < GROUPS_PER_LANE; group++) {
		delay_line_begin(&d->line, path_of_group(d, true, lane, group), t0_ns);
		delay_line_begin(&d->line, path_of_group(d, false, lane, group), t0_ns);
	}
}

static uint64_t
give_back(struct delays *d, bool from_senders, uint32_t path, const struct rte_mbuf *mbuf,
	  uint64_t arrival_ns)
{
	uint32_t lane = delays_lane(d, path);

	if (from_senders || lane == NO_LANE || d->hold_ups == NULL)
		return 0;
	return hold_ups_give_back(d->hold_ups, mbuf, lane, arrival_ns);
}

static bool
is_ours(const struct delays *d, uint32_t path)
{
	uint32_t lane;

	if (d->share.n_loops <= 1)
		return true;
	lane = delays_lane(d, path);
	return lane == NO_LANE || lane_share_has(&d->share, lane);
}

static void
put(struct delays *d, bool from_senders, uint32_t path, struct rte_mbuf *mbuf, uint64_t arrival_ns)
{
	uint64_t lost = d->line.paths[path].lost_packets;
	uint64_t less_ns = give_back(d, from_senders, path, mbuf, arrival_ns);

	if (delay_line_put(&d->line, path, mbuf, arrival_ns, less_ns) == DELAY_TAKEN)
		return;
	rte_pktmbuf_free(mbuf);
	/* Random loss has its own count; anything else is a lack of memory. */
	if (d->line.paths[path].lost_packets == lost)
		d->no_memory++;
}

void
delays_put(struct delays *d, bool from_senders, struct rte_mbuf **mbufs,
	   const uint64_t *arrivals_ns, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t path = path_of_frame(d, from_senders, mbufs[i]);

		if (is_ours(d, path)) {
			put(d, from_senders, path, mbufs[i], arrivals_ns[i]);
			continue;
		}
		rte_pktmbuf_free(mbufs[i]);
		d->foreign++;
	}
}

uint32_t
delays_take(struct delays *d, struct delayed *out, uint32_t max, uint64_t now_ns)
{
	uint32_t n = 0;
	bool stale;

	while (n < max && delay_line_get(&d->line, now_ns, &out[n], &stale)) {
		if (!stale) {
			n++;
			continue;
		}
		rte_pktmbuf_free(out[n].handle);
		d->discarded++;
	}
	return n;
}

uint32_t
delays_lane(const struct delays *d, uint32_t path)
{
	if (path >= DIRECTIONS * groups(d))
		return NO_LANE;
	return path % groups(d) / GROUPS_PER_LANE;
}

static void
count_path(const struct delay_path *path, uint64_t *waiting, uint64_t *lost)
{
	*waiting += path->waiting_packets;
	*lost += path->lost_packets;
}

void
delays_count(const struct delays *d, uint32_t lane, uint64_t *waiting, uint64_t *lost)
{
	const struct delay_path *paths = d->line.paths;

	*waiting = *lost = 0;
	for (uint32_t group = 0; group < GROUPS_PER_LANE; group++) {
		count_path(&paths[path_of_group(d, true, lane, group)], waiting, lost);
		count_path(&paths[path_of_group(d, false, lane, group)], waiting, lost);
	}
}
