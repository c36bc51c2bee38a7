/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* A first-in first-out ring of equal elements that grows by doubling. */
#ifndef NASHBED_FIFO_H
#define NASHBED_FIFO_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fifo {
	uint8_t *elements;
	size_t element_bytes;
	uint32_t capacity; /* a power of two, or 0 before the first push */
	uint32_t head;
	uint32_t count;
};

static inline void
fifo_init(struct fifo *fifo, size_t element_bytes)
{
	*fifo = (struct fifo){.element_bytes = element_bytes};
}

void fifo_free(struct fifo *fifo);

/* Make room for one element; 0 or -ENOMEM. */
int fifo_grow(struct fifo *fifo);

static inline void *
fifo_at(const struct fifo *fifo, uint32_t index)
{
	uint32_t slot = (fifo->head + index) & (fifo->capacity - 1);

	return fifo->elements + slot * fifo->element_bytes;
}

/* Make room for n more elements, so that none of the next n pushes can fail; 0 or -ENOMEM. */
static inline int
fifo_reserve(struct fifo *fifo, uint32_t n)
{
	while (fifo->capacity - fifo->count < n)
		if (fifo_grow(fifo) < 0)
			return -ENOMEM;
	return 0;
}

/* The slot of a new last element, NULL when memory has run out. */
static inline void *
fifo_push(struct fifo *fifo)
{
	if (fifo->count == fifo->capacity && fifo_grow(fifo) < 0)
		return NULL;
	return fifo_at(fifo, fifo->count++);
}

/* The first element, NULL when there is none. */
static inline void *
fifo_head(const struct fifo *fifo)
{
	return fifo->count ? fifo_at(fifo, 0) : NULL;
}

static inline void
fifo_pop(struct fifo *fifo)
{
	fifo->head = (fifo->head + 1) & (fifo->capacity - 1);
	fifo->count--;
}

#endif
