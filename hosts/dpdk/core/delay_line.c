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
	free(line->paths);
	line->paths = NULL;
	event_heap_free(&line->due);
}

/* The queue of this delay, or a free one; -ENOSPC. */
static int
find_fifo(struct delay_line *line, uint32_t direction, uint64_t delay_ns)
{
	int unused = -ENOSPC;

	for (uint32_t i = 0; i < DELAY_LINE_FIFOS; i++) {
		struct delay_fifo *fifo = &line->fifos[i];
		bool in_use = fifo->users > 0 || fifo->queue.count > 0;

		if (in_use && fifo->delay_ns == delay_ns && fifo->direction == direction)
			return (int)i;
		if (!in_use && unused < 0)
			unused = (int)i;
	}
	if (unused >= 0) {
		line->fifos[unused].delay_ns = delay_ns;
		line->fifos[unused].direction = direction;
	}
	return unused;
}

static void
leave_fifo(struct delay_line *line, struct delay_path *path)
{
	if (path->fifo != DELAY_NONE)
		line->fifos[path->fifo].users--;
	path->fifo = DELAY_NONE;
}

int
delay_line_configure(struct delay_line *line, uint32_t path_id,
		     const struct delay_settings *settings)
{
	struct delay_path *path;
	int fifo;

	if (path_id >= line->n_paths || settings->loss_ppb > LOSS_CERTAIN_PPB)
		return -EINVAL;
	path = &line->paths[path_id];
	fifo = find_fifo(line, path->direction, settings->delay_ns);
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

enum delay_verdict
delay_line_put(struct delay_line *line, uint32_t path_id, void *handle, uint64_t arrival_ns,
	       uint64_t less_ns)
{
	struct delay_path *path = &line->paths[path_id];
	struct delay_fifo *fifo = fifo_of(line, path);
	struct delayed *slot;

	if (is_lost(path)) {
		path->lost_packets++;
		return DELAY_LOST;
	}
	slot = fifo ? fifo_push(&fifo->queue) : NULL;
	if (slot == NULL)
		return DELAY_LOST;
	*slot = (struct delayed){
		.handle = handle,
		.due_ns = processed_ns(path, arrival_ns, arrival_ns + fifo->delay_ns - less_ns),
		.path = path_id,
		.generation = path->generation,
	};
	path->waiting_packets++;
	put_in_order(&fifo->queue);
	event_heap_set(&line->due, path->fifo,
		       ((const struct delayed *)fifo_head(&fifo->queue))->due_ns);
	return DELAY_TAKEN;
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
