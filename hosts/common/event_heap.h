/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* An indexed min-heap: which of a fixed set of sources has the earliest event.
 * Equal times come out by source number, so runs in virtual time repeat.
 */
#ifndef COMMON_EVENT_HEAP_H
#define COMMON_EVENT_HEAP_H

#include <stdbool.h>
#include <stdint.h>

#define EVENT_NEVER UINT64_MAX
#define EVENT_HEAP_ABSENT UINT32_MAX /* a source's position without an event */

struct event_slot {
	uint64_t at_ns;
	uint32_t source;
};

struct event_heap {
	uint32_t n_sources;
	uint32_t n_slots;
	struct event_slot *slots;
	uint32_t *position; /* per source: index into slots, or EVENT_HEAP_ABSENT */
};

/* 0 or -ENOMEM. */
int event_heap_init(struct event_heap *heap, uint32_t n_sources);
void event_heap_free(struct event_heap *heap);

/* Set a source's next event; EVENT_NEVER takes it out. */
void event_heap_set(struct event_heap *heap, uint32_t source, uint64_t at_ns);

/* Whether a source has an event. */
static inline bool
event_heap_has(const struct event_heap *heap, uint32_t source)
{
	return heap->position[source] != EVENT_HEAP_ABSENT;
}

/* The earliest event, EVENT_NEVER where there is none. */
static inline uint64_t
event_heap_next_ns(const struct event_heap *heap)
{
	return heap->n_slots ? heap->slots[0].at_ns : EVENT_NEVER;
}

/* The source of the earliest event; only where there is one. */
static inline uint32_t
event_heap_next_source(const struct event_heap *heap)
{
	return heap->slots[0].source;
}

#endif
