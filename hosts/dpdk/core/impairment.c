/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "impairment.h"

#include <stdlib.h>
#include <string.h>

#include "common/event_heap.h"
#include "prng.h"

#define CERTAIN_PPB UINT32_C(1000000000)
#define FRACTION_BITS 24u
/* Wi-Fi's model; e^-mean of its Poisson processes as parts of 2^64. */
#define DEFERRAL_NS UINT64_C(1000000)
#define DEFERRALS_NONE UINT64_C(6786177901268885274)
#define RETRY_NS UINT64_C(7500000)
#define RETRIES_NONE UINT64_C(113340712816370)

__extension__ typedef unsigned __int128 wide;

static bool
can_lose(const struct gilbert_settings *gilbert)
{
	return gilbert->p_ppb > 0 || gilbert->loss_good_ppb > 0;
}

bool
impairment_is_any(const struct impairment_settings *settings)
{
	return settings->n_changes > 0 || settings->jitter.n_points_ns > 0 ||
	       settings->jitter.is_wifi || settings->reorder.share_ppb > 0 ||
	       can_lose(&settings->gilbert);
}

/* NULL for no items, too: malloc() is not asked for 0 bytes. */
static void *
copy(const void *items, size_t bytes)
{
	void *copied = bytes > 0 ? malloc(bytes) : NULL;

	if (copied != NULL)
		memcpy(copied, items, bytes);
	return copied;
}

struct impairment *
impairment_create(const struct impairment_settings *settings, uint64_t delay_ns)
{
	struct impairment *imp = malloc(sizeof(*imp));
	struct impairment_settings *own;

	if (imp == NULL)
		return NULL;
	*imp = (struct impairment){
		.settings = *settings,
		.delay_ns = delay_ns,
		.next_change_ns = EVENT_NEVER,
		.jitter_state = settings->jitter.seed,
		.retry_ppb = settings->jitter.retry_ppb,
		.reorder_state = settings->reorder.seed,
		.gilbert_state = settings->gilbert.seed,
		.late_fifo = UINT32_MAX,
	};
	own = &imp->settings;
	own->changes = copy(settings->changes, own->n_changes * sizeof(*own->changes));
	own->jitter.points_ns = copy(settings->jitter.points_ns,
				     own->jitter.n_points_ns * sizeof(*own->jitter.points_ns));
	if ((own->n_changes == 0 || own->changes != NULL) &&
	    (own->jitter.n_points_ns == 0 || own->jitter.points_ns != NULL))
		return imp;
	impairment_destroy(imp);
	return NULL;
}

void
impairment_destroy(struct impairment *imp)
{
	if (imp == NULL)
		return;
	free(imp->settings.changes);
	free(imp->settings.jitter.points_ns);
	free(imp);
}

static void
await_change(struct impairment *imp)
{
	const struct impairment_settings *settings = &imp->settings;

	imp->next_change_ns = imp->done < settings->n_changes ?
				      imp->t0_ns + settings->changes[imp->done].at_ns :
				      EVENT_NEVER;
}

void
impairment_begin(struct impairment *imp, uint64_t t0_ns)
{
	imp->t0_ns = t0_ns;
	imp->done = 0;
	await_change(imp);
}

bool
impairment_follow(struct impairment *imp, uint64_t now_ns, uint32_t *loss_ppb)
{
	const struct path_change *change;

	if (now_ns < imp->next_change_ns)
		return false;
	while (now_ns >= imp->next_change_ns) {
		imp->done++;
		await_change(imp);
	}
	change = &imp->settings.changes[imp->done - 1];
	imp->delay_ns = change->delay_ns;
	imp->retry_ppb = change->retry_ppb;
	*loss_ppb = change->loss_ppb;
	return true;
}

static bool
happens(uint64_t *state, uint32_t share_ppb)
{
	return prng_next(state) % CERTAIN_PPB < share_ppb;
}

bool
impairment_loses(struct impairment *imp)
{
	const struct gilbert_settings *gilbert = &imp->settings.gilbert;
	bool was_bad = imp->is_bad;

	if (!can_lose(gilbert))
		return false;
	if (happens(&imp->gilbert_state, was_bad ? gilbert->r_ppb : gilbert->p_ppb))
		imp->is_bad = !was_bad;
	return happens(&imp->gilbert_state,
		       was_bad ? gilbert->loss_bad_ppb : gilbert->loss_good_ppb);
}

/* Knuth's: how many uniform numbers multiply to more than e^-mean. */
static uint64_t
poisson(uint64_t *state, uint64_t none)
{
	uint64_t product = UINT64_MAX, n = 0;

	while ((product = (uint64_t)((wide)product * prng_next(state) >> 64)) > none)
		n++;
	return n;
}

static uint64_t
draw_wifi_ns(struct impairment *imp)
{
	uint64_t *state = &imp->jitter_state;
	uint64_t ns = poisson(state, DEFERRALS_NONE) * DEFERRAL_NS;

	if (ns > 0)
		ns -= prng_next(state) % DEFERRAL_NS;
	if (happens(state, imp->retry_ppb))
		ns += poisson(state, RETRIES_NONE) * RETRY_NS;
	return ns;
}

static uint64_t
draw_quantile_ns(struct impairment *imp)
{
	const struct jitter_settings *jitter = &imp->settings.jitter;
	uint64_t drawn = prng_next(&imp->jitter_state);
	uint64_t point = (drawn >> 32) * (jitter->n_points_ns - 1) >> 32;
	uint64_t part = drawn & ((UINT64_C(1) << FRACTION_BITS) - 1);
	uint64_t from = jitter->points_ns[point], to = jitter->points_ns[point + 1];

	return from + ((to - from) * part >> FRACTION_BITS);
}

static uint64_t
draw_jitter_ns(struct impairment *imp)
{
	return imp->settings.jitter.is_wifi ? draw_wifi_ns(imp) : draw_quantile_ns(imp);
}

uint64_t
impairment_jitter_ns(struct impairment *imp, uint64_t now_ns)
{
	const struct jitter_settings *jitter = &imp->settings.jitter;

	if (jitter->n_points_ns == 0 && !jitter->is_wifi)
		return 0;
	if (jitter->every_ns == 0)
		return draw_jitter_ns(imp);
	if (now_ns >= imp->jitter_until_ns) {
		imp->jitter_ns = draw_jitter_ns(imp);
		imp->jitter_until_ns = (now_ns / jitter->every_ns + 1) * jitter->every_ns;
	}
	return imp->jitter_ns;
}

bool
impairment_is_late(struct impairment *imp)
{
	const struct reorder_settings *reorder = &imp->settings.reorder;

	return reorder->share_ppb > 0 && happens(&imp->reorder_state, reorder->share_ppb);
}
