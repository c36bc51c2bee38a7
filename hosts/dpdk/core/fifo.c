/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "fifo.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CAPACITY 256u

void
fifo_free(struct fifo *fifo)
{
	free(fifo->elements);
	fifo_init(fifo, fifo->element_bytes);
}

int
fifo_grow(struct fifo *fifo)
{
	uint32_t capacity = fifo->capacity ? 2 * fifo->capacity : FIRST_CAPACITY;
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
