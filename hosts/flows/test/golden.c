/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nashbed-flows-golden DIR: writes known records in both layouts, and golden.json with the value
 * of every field, so that readers in other languages can be held against the C structures.
 */
#include <inttypes.h>
#include <stdio.h>

#include "common/shared.h"

#define RECORDS 3

/* Different in every byte, field and record; positive as an int64_t. */
static uint64_t
golden_value(unsigned int record, unsigned int field)
{
	return (UINT64_C(0x0102030405060708) * (field % 15 + 1) + UINT64_C(0x1011) * field +
		UINT64_C(0x2100210021002100) * record) &
	       INT64_MAX;
}

#define ASSIGN(ctype, type, name) record.name = (ctype)golden_value(number, field++);
#define DESCRIBE(ctype, type, name)                                                                \
	fprintf(json, "%s\n   \"%s\": %" PRIu64, separator, #name, (uint64_t)record.name);         \
	separator = ",";

#define DEFINE_WRITER(function, structure, FIELDS)                                                 \
	static void function(FILE *binary, FILE *json)                                             \
	{                                                                                          \
		for (unsigned int number = 0; number < RECORDS; number++) {                        \
			struct structure record;                                                   \
			const char *separator = "";                                                \
			unsigned int field = 0;                                                    \
                                                                                                   \
			FIELDS(ASSIGN)                                                             \
			fprintf(json, "%s\n  {", number == 0 ? "" : ",");                          \
			FIELDS(DESCRIBE)                                                           \
			fprintf(json, "\n  }");                                                    \
			fwrite(&record, sizeof(record), 1, binary);                                \
		}                                                                                  \
	}

DEFINE_WRITER(write_samples, flow_sample, FLOW_SAMPLE_FIELDS)
DEFINE_WRITER(write_goodput, goodput_record, GOODPUT_RECORD_FIELDS)
DEFINE_WRITER(write_transfers, transfer_record, TRANSFER_RECORD_FIELDS)
DEFINE_WRITER(write_segments, segment_record, SEGMENT_RECORD_FIELDS)
DEFINE_WRITER(write_sent, sent_datagram, SENT_DATAGRAM_FIELDS)
DEFINE_WRITER(write_arrived, arrived_datagram, ARRIVED_DATAGRAM_FIELDS)

static FILE *
create(const char *directory, const char *name)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "wb");
	if (file == NULL)
		perror(path);
	return file;
}

static int
write_layout(const char *directory, const char *name, FILE *json,
	     void (*write_records)(FILE *binary, FILE *json))
{
	FILE *binary = create(directory, name);

	if (binary == NULL)
		return -1;
	fprintf(json, " \"%s\": [", name);
	write_records(binary, json);
	fprintf(json, "\n ]");
	return fclose(binary);
}

int
main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*write_records)(FILE *binary, FILE *json);
	} files[] = {
		{FLOW_SAMPLES_FILE, write_samples},
		{GOODPUT_FILE, write_goodput},
		{TRANSFERS_FILE, write_transfers},
		{SEGMENTS_FILE, write_segments},
		{SENT_FILE, write_sent},
		{ARRIVED_FILE, write_arrived},
	};
	FILE *json;

	if (argc != 2) {
		fprintf(stderr, "usage: nashbed-flows-golden DIR\n");
		return 2;
	}
	json = create(argv[1], "golden.json");
	if (json == NULL)
		return 4;
	fprintf(json, "{\n");
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		fprintf(json, "%s", i > 0 ? ",\n" : "");
		if (write_layout(argv[1], files[i].name, json, files[i].write_records) != 0)
			return 4;
	}
	fprintf(json, "\n}\n");
	return fclose(json) == 0 ? 0 : 4;
}
