/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is due when: items by their numbers, the earliest first, and of one instant the lowest
 * number first. Pure: the time is an argument.
 */
#ifndef FLOWS_DUE_HEAP_H
#define FLOWS_DUE_HEAP_H

#include <stddef.h>
#include <stdint.h>

struct due {
	int64_t at_ns;
	size_t item;
};

struct due_heap {
	struct due *heap;
	size_t count;
};

/* Room for so many; 0 or -ENOMEM. */
int due_heap_init(struct due_heap *heap, size_t capacity);
void due_heap_free(struct due_heap *heap);

/* An item that is not in it yet. */
void due_heap_add(struct due_heap *heap, int64_t at_ns, size_t item);

/* When the first is due; NEVER if there is none. */
int64_t due_heap_next_ns(const struct due_heap *heap);

/* Take the first out. */
size_t due_heap_take(struct due_heap *heap);

#endif
