/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* A first-in first-out ring of equal elements that grows by doubling. */
#ifndef NASHBED_FIFO_H
#define NASHBED_FIFO_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FIFO_FIRST_CAPACITY 256u

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

static inline void
fifo_free(struct fifo *fifo)
{
	free(fifo->elements);
	fifo_init(fifo, fifo->element_bytes);
}

static inline void *
fifo_at(const struct fifo *fifo, uint32_t index)
{
	uint32_t slot = (fifo->head + index) & (fifo->capacity - 1);

	return fifo->elements + slot * fifo->element_bytes;
}

/* Make room for one element; 0 or -ENOMEM. */
static __attribute__((noinline, unused)) int
fifo_grow(struct fifo *fifo)
{
	uint32_t capacity = fifo->capacity ? 2 * fifo->capacity : FIFO_FIRST_CAPACITY;
	uint8_t *elements = malloc(capacity * fifo->element_bytes);

	if (elements == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < fifo->count; i++)
		memcpy(elements + i * fifo->element_bytes, fifo_at(fifo, i), fifo->element_bytes);
	free(fifo->elements);
	fifo->elements = elements;
	fifo->capacity = capacity;
	fifo->head = 0;
	return 0;
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
