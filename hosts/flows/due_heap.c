/* SPDX-License-Identifier: Apache-2.0 */
#include "due_heap.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "common/clock.h"

int
due_heap_init(struct due_heap *heap, size_t capacity)
{
	*heap = (struct due_heap){.heap = calloc(capacity + 1, sizeof(*heap->heap))};
	return heap->heap != NULL ? 0 : -ENOMEM;
}

void
due_heap_free(struct due_heap *heap)
{
	free(heap->heap);
	*heap = (struct due_heap){0};
}

static bool
is_before(const struct due *a, const struct due *b)
{
	return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->item < b->item;
}

void
due_heap_add(struct due_heap *heap, int64_t at_ns, size_t item)
{
	struct due due = {.at_ns = at_ns, .item = item};
	size_t place = heap->count++;

	for (; place > 0 && is_before(&due, &heap->heap[(place - 1) / 2]); place = (place - 1) / 2)
		heap->heap[place] = heap->heap[(place - 1) / 2];
	heap->heap[place] = due;
}

int64_t
due_heap_next_ns(const struct due_heap *heap)
{
	return heap->count > 0 ? heap->heap[0].at_ns : NEVER;
}

size_t
due_heap_take(struct due_heap *heap)
{
	size_t item = heap->heap[0].item;
	struct due last = heap->heap[--heap->count];
	size_t place = 0;
	size_t child;

	while ((child = 2 * place + 1) < heap->count) {
		if (child + 1 < heap->count &&
		    is_before(&heap->heap[child + 1], &heap->heap[child]))
			child++;
		if (!is_before(&heap->heap[child], &last))
			break;
		heap->heap[place] = heap->heap[child];
		place = child;
	}
	heap->heap[place] = last;
	return item;
}
