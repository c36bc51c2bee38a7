/* SPDX-License-Identifier: Apache-2.0 */
/* Flows that do the same at the same time, and what a CCA is told of them. */
#ifndef COHORT_H
#define COHORT_H

#include "bbr.h"
#include "bbr3.h"
#include "chance.h"
#include "copa.h"
#include "cubic.h"
#include "fluid.h"
#include "vivace.h"

#include <math.h>
#include <stdbool.h>

struct cohort;

/* What came back in one slot, for one flow. */
struct ack {
	double now;
	double slot;
	double acked;
	double lost;
	double rtt;
	/* Part of what came back in the last four round trips that was lost. */
	double loss_rate;
	/* Delivered in the round trip that ends now; and that in packets per second. */
	double delivered;
	double rate;
	/* Of the link, what others had in the same time. */
	double others;
	/* When the newest of it was sent: what was in flight, and missed until then. */
	double sent_flight;
	double sent_missed;
	/* The first packet of a round was acknowledged: it was sent after the last round began. */
	bool round;
};

struct cca {
	const char *name;
	void (*start)(struct cohort *flows, double now);
	void (*on_ack)(struct cohort *flows, const struct ack *ack);
	/* The smallest round-trip time that a flow believes in. */
	double (*min_rtt)(const struct cohort *flows);
};

struct cohort {
	const struct cca *cca;
	const struct fluid_constants *constants;
	struct chance *chance;
	uint32_t kind;
	double flows;
	double base_rtt;
	double start;
	/* When a flow is connected, and the round-trip time of its handshake; 0: not yet. */
	double connected_at;
	double handshake_rtt;
	double most_window;
	bool started;

	/* Set by the CCA: both bound what is sent; nothing is before `silent_until`. */
	double window;
	double pacing_rate;
	double silent_until;
	/* A flow lost packets and its CCA took it as congestion. */
	bool cut;
	/* The last congestion event of its kind in which they did; 0: none. */
	uint64_t event;

	double in_flight;
	double delivered;
	/* Whole packets that a CCA that counts them has missed (losses_draw). */
	double missed;
	double loss_rate;
	double round_start;
	union {
		struct cubic cubic;
		struct bbr bbr;
		struct bbr3 bbr3;
		struct copa copa;
		struct vivace vivace;
	};
};

/* Drops come in bursts, which fall on few flows: whether this one is among them. */
static inline bool
loses(struct cohort *flows, double lost)
{
	return chance_draw(flows->chance) < -expm1(-lost / flows->constants->losing_packets);
}

extern const struct cca cubic_cca;
extern const struct cca bbr_cca;
extern const struct cca bbr2_cca;
extern const struct cca bbr3_cca;
extern const struct cca copa_cca;
extern const struct cca copa_default_cca;
extern const struct cca vivace_cca;

#endif
