/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "disturbance.h"

void
disturbance_init(struct disturbance *d, uint64_t epoch_ns)
{
	*d = (struct disturbance){.epoch_ns = epoch_ns};
	record_log_init(&d->bins, sizeof(struct disturbance_record));
	record_log_init(&d->pauses, sizeof(struct pause_record));
}

void
disturbance_clear(struct disturbance *d)
{
	record_log_clear(&d->bins);
	record_log_clear(&d->pauses);
	d->bin_end_ns = 0;
}

void
disturbance_finish(struct disturbance *d)
{
	if (d->bin_end_ns != 0)
		record_log_add(&d->bins, &d->bin);
	d->bin_end_ns = 0;
}

/* The record of the bin that this moment is in. An arrival's time may lie before the last bin's
 * end: it still counts there.
 */
static struct disturbance_record *
bin_at(struct disturbance *d, uint64_t now_ns)
{
	uint64_t begin_ns = now_ns - now_ns % DISTURBANCE_BIN_NS;

	if (now_ns < d->bin_end_ns)
		return &d->bin;
	disturbance_finish(d);
	d->bin_end_ns = begin_ns + DISTURBANCE_BIN_NS;
	d->bin = (struct disturbance_record){.t_ns = (int64_t)(d->epoch_ns + begin_ns)};
	return &d->bin;
}

static void
add(uint64_t *sum_ns, uint64_t *max_ns, uint64_t ns)
{
	*sum_ns += ns;
	if (ns > *max_ns)
		*max_ns = ns;
}

void
disturbance_departed(struct disturbance *d, uint64_t now_ns, uint64_t late_ns)
{
	struct disturbance_record *bin = bin_at(d, now_ns);

	bin->departures++;
	add(&bin->late_sum_ns, &bin->late_max_ns, late_ns);
}

void
disturbance_returned(struct disturbance *d, uint64_t now_ns, uint64_t error_ns)
{
	struct disturbance_record *bin = bin_at(d, now_ns);

	bin->returns++;
	add(&bin->error_sum_ns, &bin->error_max_ns, error_ns);
}

void
disturbance_answered(struct disturbance *d, uint64_t now_ns, uint64_t response_ns)
{
	struct disturbance_record *bin = bin_at(d, now_ns);

	bin->responses++;
	add(&bin->response_sum_ns, &bin->response_max_ns, response_ns);
}

void
disturbance_paused(struct disturbance *d, uint64_t from_ns, uint64_t length_ns)
{
	struct pause_record pause = {
		.t_ns = (int64_t)(d->epoch_ns + from_ns),
		.length_ns = length_ns,
	};

	record_log_add(&d->pauses, &pause);
}

int
disturbance_write(const struct disturbance *d, const char *path, const char *pauses_path)
{
	int error = record_log_write(&d->bins, path);

	return error ? error : record_log_write(&d->pauses, pauses_path);
}
