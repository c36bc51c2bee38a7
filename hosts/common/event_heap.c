/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "event_heap.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

int
event_heap_init(struct event_heap *heap, uint32_t n_sources)
{
	heap->n_sources = n_sources;
	heap->n_slots = 0;
	heap->slots = calloc(n_sources, sizeof(*heap->slots));
	heap->position = malloc(n_sources * sizeof(*heap->position));
	if (heap->slots == NULL || heap->position == NULL) {
		event_heap_free(heap);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < n_sources; i++)
		heap->position[i] = EVENT_HEAP_ABSENT;
	return 0;
}

void
event_heap_free(struct event_heap *heap)
{
	free(heap->slots);
	free(heap->position);
	heap->slots = NULL;
	heap->position = NULL;
	heap->n_slots = 0;
}

static bool
earlier(const struct event_slot *a, const struct event_slot *b)
{
	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns;
	return a->source < b->source;
}

static void
place(struct event_heap *heap, uint32_t index, struct event_slot slot)
{
	heap->slots[index] = slot;
	heap->position[slot.source] = index;
}

static void
sift_up(struct event_heap *heap, uint32_t index, struct event_slot slot)
{
	while (index > 0) {
		uint32_t parent = (index - 1) / 2;

		if (!earlier(&slot, &heap->slots[parent]))
			break;
		place(heap, index, heap->slots[parent]);
		index = parent;
	}
	place(heap, index, slot);
}

static void
sift_down(struct event_heap *heap, uint32_t index, struct event_slot slot)
{
	for (;;) {
		uint32_t child = 2 * index + 1;

		if (child >= heap->n_slots)
			break;
		if (child + 1 < heap->n_slots &&
		    earlier(&heap->slots[child + 1], &heap->slots[child]))
			child++;
		if (!earlier(&heap->slots[child], &slot))
			break;
		place(heap, index, heap->slots[child]);
		index = child;
	}
	place(heap, index, slot);
}

static void
resettle(struct event_heap *heap, uint32_t index, struct event_slot slot)
{
	if (index > 0 && earlier(&slot, &heap->slots[(index - 1) / 2]))
		sift_up(heap, index, slot);
	else
		sift_down(heap, index, slot);
}

static void
take_out(struct event_heap *heap, uint32_t index)
{
	struct event_slot last = heap->slots[--heap->n_slots];

	heap->position[heap->slots[index].source] = EVENT_HEAP_ABSENT;
	if (index < heap->n_slots)
		resettle(heap, index, last);
}

void
event_heap_set(struct event_heap *heap, uint32_t source, uint64_t at_ns)
{
	struct event_slot slot = {.at_ns = at_ns, .source = source};
	uint32_t index = heap->position[source];

	if (at_ns == EVENT_NEVER) {
		if (index != EVENT_HEAP_ABSENT)
			take_out(heap, index);
	} else if (index == EVENT_HEAP_ABSENT) {
		sift_up(heap, heap->n_slots++, slot);
	} else {
		resettle(heap, index, slot);
	}
}
