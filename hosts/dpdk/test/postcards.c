/* SPDX-License-Identifier: Apache-2.0 */
/* Prints a file of postcards as JSON, by the C decoder: for the golden bytes. */
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "core/postcard.h"

static json_t *
add_queue(json_t *object, const uint8_t *bytes)
{
	struct queue_postcard q;

	queue_postcard_decode(bytes, &q);
	json_object_set_new(object, "queue", json_integer(q.queue));
	json_object_set_new(object, "own_queue_bytes", json_integer(q.own_queue_bytes));
	return object;
}

static json_t *
postcard_json(const uint8_t *bytes)
{
	struct postcard p;
	json_t *object;

	postcard_decode(bytes, &p);
	object = json_pack("{s:i, s:i, s:i, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:i, s:i, s:i}",
			   "version", p.version, "kind", p.kind, "lane", p.lane, "flow",
			   (json_int_t)p.flow, "packet_bytes", (json_int_t)p.packet_bytes,
			   "queue_bytes", (json_int_t)p.queue_bytes, "enqueue_ns",
			   (json_int_t)p.enqueue_ns, "dequeue_ns", (json_int_t)p.dequeue_ns,
			   "tcp_seq", (json_int_t)p.tcp_seq, "lane_seq", (json_int_t)p.lane_seq,
			   "payload_bytes", p.payload_bytes, "tcp_flags", p.tcp_flags, "marks",
			   p.marks);
	return postcard_size(bytes) == POSTCARD_BYTES ? object :
							add_queue(object, bytes + POSTCARD_BYTES);
}

/* False at the end. */
static bool
read_postcard(FILE *file, uint8_t bytes[POSTCARD_BYTES_MAX])
{
	if (fread(bytes, POSTCARD_BYTES, 1, file) != 1)
		return false;
	return postcard_size(bytes) == POSTCARD_BYTES ||
	       fread(bytes + POSTCARD_BYTES, QUEUE_POSTCARD_BYTES, 1, file) == 1;
}

int
main(int argc, char **argv)
{
	uint8_t bytes[POSTCARD_BYTES_MAX];
	FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
	json_t *all = json_array();

	if (file == NULL) {
		fprintf(stderr, "usage: nashbed-postcards FILE\n");
		json_decref(all);
		return 2;
	}
	while (read_postcard(file, bytes))
		json_array_append_new(all, postcard_json(bytes));
	fclose(file);
	json_dumpf(all, stdout, JSON_INDENT(1));
	putchar('\n');
	json_decref(all);
	return 0;
}
