/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "delay_line.h"

#include <errno.h>
#include <stdlib.h>

#include "prng.h"

#define DELAY_NONE UINT32_MAX

int
delay_line_init(struct delay_line *line, uint32_t n_paths)
{
	*line = (struct delay_line){.n_paths = n_paths};
	line->paths = calloc(n_paths, sizeof(*line->paths));
	if (line->paths == NULL || event_heap_init(&line->due, DELAY_LINE_FIFOS) < 0) {
		delay_line_free(line);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < n_paths; i++)
		line->paths[i].fifo = DELAY_NONE;
	for (uint32_t i = 0; i < DELAY_LINE_FIFOS; i++)
		fifo_init(&line->fifos[i].queue, sizeof(struct delayed));
	return 0;
}

void
delay_line_free(struct delay_line *line)
{
	for (uint32_t i = 0; i < DELAY_LINE_FIFOS; i++)
		fifo_free(&line->fifos[i].queue);
	for (uint32_t i = 0; line->paths != NULL && i < line->n_paths; i++)
		impairment_destroy(line->paths[i].impairment);
	free(line->paths);
	line->paths = NULL;
	event_heap_free(&line->due);
}

static bool
is_in_use(const struct delay_fifo *fifo)
{
	return fifo->users > 0 || fifo->queue.count > 0;
}

/* The queue of this delay, or a free one; -ENOSPC. */
static int
find_fifo(struct delay_line *line, uint32_t direction, uint64_t delay_ns)
{
	int unused = -ENOSPC;

	for (uint32_t i = 0; i < DELAY_LINE_FIFOS; i++) {
		struct delay_fifo *fifo = &line->fifos[i];

		if (is_in_use(fifo) && !fifo->is_own && fifo->delay_ns == delay_ns &&
		    fifo->direction == direction)
			return (int)i;
		if (!is_in_use(fifo) && unused < 0)
			unused = (int)i;
	}
	if (unused >= 0) {
		line->fifos[unused].is_own = false;
		line->fifos[unused].delay_ns = delay_ns;
		line->fifos[unused].direction = direction;
	}
	return unused;
}

/* A queue for one path alone; -ENOSPC. */
static int
take_fifo(struct delay_line *line)
{
	for (uint32_t i = 0; i < DELAY_LINE_FIFOS; i++) {
		if (is_in_use(&line->fifos[i]))
			continue;
		line->fifos[i].is_own = true;
		line->fifos[i].users = 1;
		return (int)i;
	}
	return -ENOSPC;
}

static void
leave(struct delay_line *line, uint32_t *fifo)
{
	if (*fifo != DELAY_NONE)
		line->fifos[*fifo].users--;
	*fifo = DELAY_NONE;
}

static void
leave_fifo(struct delay_line *line, struct delay_path *path)
{
	leave(line, &path->fifo);
	if (path->impairment == NULL)
		return;
	leave(line, &path->impairment->late_fifo);
	impairment_destroy(path->impairment);
	path->impairment = NULL;
}

int
delay_line_configure(struct delay_line *line, uint32_t path_id,
		     const struct delay_settings *settings)
{
	struct delay_path *path = &line->paths[path_id];
	int fifo = find_fifo(line, path->direction, settings->delay_ns);

	if (fifo < 0)
		return fifo;
	line->fifos[fifo].users++;
	leave_fifo(line, path);
	path->fifo = (uint32_t)fifo;
	path->loss_ppb = settings->loss_ppb;
	path->loss_state = settings->seed;
	path->jitter_ns = settings->jitter_ns;
	path->jitter_state = ~settings->seed;
	path->instant_ns = EVENT_NEVER;
	path->last_due_ns = 0;
	return 0;
}

/* A queue of its own, and another one for what is reordered. */
static int
take_fifos(struct delay_line *line, struct delay_path *path)
{
	int own = take_fifo(line), late;

	if (own < 0)
		return own;
	leave(line, &path->fifo);
	path->fifo = (uint32_t)own;
	if (path->impairment->settings.reorder.share_ppb == 0)
		return 0;
	late = take_fifo(line);
	if (late < 0)
		return late;
	path->impairment->late_fifo = (uint32_t)late;
	return 0;
}

int
delay_line_impair(struct delay_line *line, uint32_t path_id,
		  const struct impairment_settings *settings)
{
	struct delay_path *path = &line->paths[path_id];
	struct impairment *imp;

	if (path->fifo == DELAY_NONE || path->impairment != NULL)
		return -EINVAL;
	if (!impairment_is_any(settings))
		return 0;
	imp = impairment_create(settings, line->fifos[path->fifo].delay_ns);
	if (imp == NULL)
		return -ENOMEM;
	path->impairment = imp;
	return take_fifos(line, path);
}

void
delay_line_begin(struct delay_line *line, uint32_t path_id, uint64_t t0_ns)
{
	if (line->paths[path_id].impairment != NULL)
		impairment_begin(line->paths[path_id].impairment, t0_ns);
}

void
delay_line_clear(struct delay_line *line, uint32_t path_id)
{
	struct delay_path *path = &line->paths[path_id];

	leave_fifo(line, path);
	path->generation++;
	path->loss_ppb = 0;
	path->jitter_ns = 0;
	path->lost_packets = 0;
	path->waiting_packets = 0;
}

/* Paths that were never configured pass without delay, in order with each other. */
static struct delay_fifo *
fifo_of(struct delay_line *line, struct delay_path *path)
{
	if (path->fifo == DELAY_NONE) {
		int fifo = find_fifo(line, path->direction, 0);

		if (fifo < 0)
			return NULL;
		line->fifos[fifo].users++;
		path->fifo = (uint32_t)fifo;
	}
	return &line->fifos[path->fifo];
}

static bool
is_lost(struct delay_path *path)
{
	return path->loss_ppb > 0 &&
	       prng_next(&path->loss_state) % LOSS_CERTAIN_PPB < path->loss_ppb;
}

/* Packets that come at one instant are one to a host (TSO), and what it does with one it does before
 * the next.
 */
static uint64_t
processed_ns(struct delay_path *path, uint64_t arrival_ns, uint64_t due_ns)
{
	if (path->jitter_ns == 0)
		return due_ns;
	if (arrival_ns != path->instant_ns)
		path->extra_ns = prng_next(&path->jitter_state) % path->jitter_ns;
	path->instant_ns = arrival_ns;
	if (due_ns + path->extra_ns > path->last_due_ns)
		path->last_due_ns = due_ns + path->extra_ns;
	return path->last_due_ns;
}

/* Let the last packet of a queue overtake those that are due later. */
static void
put_in_order(struct fifo *queue)
{
	for (uint32_t i = queue->count - 1; i > 0; i--) {
		struct delayed *after = fifo_at(queue, i), *before = fifo_at(queue, i - 1);
		struct delayed moved = *after;

		if (before->due_ns <= after->due_ns)
			return;
		*after = *before;
		*before = moved;
	}
}

/* Inlined, as is all that a path of constants takes: a packet costs no more there than it would without
 * the others.
 */
static inline __attribute__((always_inline)) enum delay_verdict
push(struct delay_line *line, uint32_t path_id, uint32_t fifo_id, void *handle, uint64_t due_ns)
{
	struct delay_path *path = &line->paths[path_id];
	struct fifo *queue = &line->fifos[fifo_id].queue;
	struct delayed *slot = fifo_push(queue);

	if (slot == NULL)
		return DELAY_LOST;
	*slot = (struct delayed){
		.handle = handle,
		.due_ns = due_ns,
		.path = path_id,
		.generation = path->generation,
	};
	path->waiting_packets++;
	put_in_order(queue);
	event_heap_set(&line->due, fifo_id, ((const struct delayed *)fifo_head(queue))->due_ns);
	return DELAY_TAKEN;
}

/* Its delay may be shorter than that of the packet before, which it does not overtake. */
static __attribute__((noinline)) enum delay_verdict
put_impaired(struct delay_line *line, uint32_t path_id, void *handle, uint64_t arrival_ns,
	     uint64_t less_ns)
{
	struct delay_path *path = &line->paths[path_id];
	struct impairment *imp = path->impairment;
	uint64_t due_ns;
	bool is_lost_in_burst;

	impairment_follow(imp, arrival_ns, &path->loss_ppb);
	is_lost_in_burst = impairment_loses(imp);
	if (is_lost(path) || is_lost_in_burst) {
		path->lost_packets++;
		return DELAY_LOST;
	}
	due_ns = arrival_ns + imp->delay_ns - less_ns + impairment_jitter_ns(imp, arrival_ns);
	due_ns = processed_ns(path, arrival_ns, due_ns);
	if (due_ns < path->last_due_ns)
		due_ns = path->last_due_ns;
	path->last_due_ns = due_ns;
	if (impairment_is_late(imp))
		return push(line, path_id, imp->late_fifo, handle,
			    due_ns + imp->settings.reorder.by_ns);
	return push(line, path_id, path->fifo, handle, due_ns);
}

enum delay_verdict
delay_line_put(struct delay_line *line, uint32_t path_id, void *handle, uint64_t arrival_ns,
	       uint64_t less_ns)
{
	struct delay_path *path = &line->paths[path_id];
	struct delay_fifo *fifo;

	if (path->impairment != NULL)
		return put_impaired(line, path_id, handle, arrival_ns, less_ns);
	fifo = fifo_of(line, path);
	if (is_lost(path)) {
		path->lost_packets++;
		return DELAY_LOST;
	}
	if (fifo == NULL)
		return DELAY_LOST;
	return push(line, path_id, path->fifo, handle,
		    processed_ns(path, arrival_ns, arrival_ns + fifo->delay_ns - less_ns));
}

bool
delay_line_get(struct delay_line *line, uint64_t now_ns, struct delayed *out, bool *stale)
{
	struct delay_path *path;
	struct delay_fifo *fifo;
	const struct delayed *next;
	uint32_t index;

	if (delay_line_next_event(line) > now_ns)
		return false;
	index = event_heap_next_source(&line->due);
	fifo = &line->fifos[index];
	*out = *(const struct delayed *)fifo_head(&fifo->queue);
	fifo_pop(&fifo->queue);
	next = fifo_head(&fifo->queue);
	event_heap_set(&line->due, index, next ? next->due_ns : EVENT_NEVER);
	path = &line->paths[out->path];
	*stale = out->generation != path->generation;
	if (!*stale)
		path->waiting_packets--;
	return true;
}
