/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* native-generate SPEC OUT: DPDK's C for a .spec, and the .spec's own text as an
 * array, by which the data plane recognises the code.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_swx_pipeline.h>

#include "pipeline/swx_spec.h"

static int
complain(const char *path, const char *reason)
{
	fprintf(stderr, "native-generate: %s: %s\n", path, reason);
	return EXIT_FAILURE;
}

/* What our loader refuses (SWX miscompiles some of it) is refused here too. */
static int
check(FILE *spec, struct failure *failure)
{
	struct rte_swx_pipeline *pipeline = NULL;
	int result = -1;

	if (rte_swx_pipeline_config(&pipeline, NULL, 0) == 0)
		result = swx_spec_load(pipeline, spec, failure);
	else
		failure_set(failure, EXIT_STATUS_TARGET, "out of memory");
	rte_swx_pipeline_free(pipeline);
	rewind(spec);
	return result;
}

static int
write_code(FILE *spec, FILE *out, struct failure *failure)
{
	const char *reason = "refused by DPDK";
	uint32_t line = 0;
	int result = rte_swx_pipeline_codegen(spec, out, &line, &reason);

	if (result)
		failure_set(failure, EXIT_STATUS_TARGET, "line %u: %s", line, reason);
	rewind(spec);
	return result;
}

static void
write_text(FILE *spec, FILE *out)
{
	int byte;

	fputs("\nconst unsigned char native_spec[] = {", out);
	for (size_t i = 0; (byte = fgetc(spec)) != EOF; i++)
		fprintf(out, "%s%d,", i % 16 ? " " : "\n\t", byte);
	fputs("\n};\nconst size_t native_spec_bytes = sizeof(native_spec);\n", out);
}

int
main(int argc, char **argv)
{
	struct failure failure = {0};
	FILE *spec, *out;

	if (argc != 3) {
		fputs("usage: native-generate SPEC OUT\n", stderr);
		return EXIT_FAILURE;
	}
	spec = fopen(argv[1], "r");
	if (spec == NULL)
		return complain(argv[1], "cannot be read");
	out = fopen(argv[2], "w");
	if (out == NULL)
		return complain(argv[2], "cannot be written");
	if (check(spec, &failure) || write_code(spec, out, &failure))
		return complain(argv[1], failure.text);
	write_text(spec, out);
	fclose(spec);
	return fclose(out) ? complain(argv[2], "cannot be written") : EXIT_SUCCESS;
}
