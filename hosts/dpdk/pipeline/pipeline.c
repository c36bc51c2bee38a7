/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_swx_ctl.h>
#include <rte_swx_pipeline.h>

#include "burst.h"
#include "native.h"

#define MIRROR_SESSION 1
/* Instructions between two looks at whether the burst is through: few, for what
 * is run beyond the last packet is idle polling. A native one stands for many.
 */
#define RUN_INTERPRETED 48
#define RUN_NATIVE 12

struct pipeline {
	struct rte_swx_pipeline *swx;
	struct rte_swx_ctl_pipeline *ctl;
	char digest[SWX_DIGEST_BYTES];
	uint32_t run_instructions;
	struct burst burst;
};

static int
open_mirror(struct pipeline *p)
{
	struct rte_swx_pipeline_mirroring_session_params session = {
		.port_id = PIPELINE_TELEMETRY,
		.fast_clone = 0,
		.truncation_length = POSTCARD_BYTES,
	};

	return rte_swx_ctl_pipeline_mirroring_session_set(p->swx, MIRROR_SESSION, &session);
}

static int
build_interpreted(struct pipeline *p, FILE *spec, char *error, size_t error_bytes)
{
	int result = rte_swx_pipeline_config(&p->swx, "bottleneck", 0);

	if (!result)
		result = burst_configure(&p->burst, p->swx);
	if (result) {
		snprintf(error, error_bytes, "SWX ports: %s", strerror(abs(result)));
		return result;
	}
	result = swx_spec_load(p->swx, spec, error, error_bytes);
	if (result)
		return result;
	result = rte_swx_pipeline_build(p->swx);
	if (result)
		snprintf(error, error_bytes, "SWX build: %s", strerror(abs(result)));
	return result;
}

static int
build_native(struct pipeline *p, const char *library, char *error, size_t error_bytes)
{
	void *out[PIPELINE_PORTS];
	struct native_ports ports = burst_native_ports(&p->burst, out);
	int result = native_build(&p->swx, library, &ports);

	if (result)
		snprintf(error, error_bytes, "%s: %s", library, strerror(abs(result)));
	return result;
}

static int
load(struct pipeline *p, FILE *spec, const char *library, char *error, size_t error_bytes)
{
	bool native = library[0] != '\0';
	int result;

	swx_spec_digest(spec, p->digest);
	burst_init(&p->burst);
	p->run_instructions = native ? RUN_NATIVE : RUN_INTERPRETED;
	result = native ? build_native(p, library, error, error_bytes) :
			  build_interpreted(p, spec, error, error_bytes);
	if (result)
		return result;
	result = open_mirror(p);
	if (result) {
		snprintf(error, error_bytes, "SWX mirror: %s", strerror(abs(result)));
		return result;
	}
	p->ctl = rte_swx_ctl_pipeline_create(p->swx);
	if (p->ctl == NULL)
		snprintf(error, error_bytes, "SWX control: out of memory");
	return p->ctl ? 0 : -ENOMEM;
}

struct pipeline *
pipeline_create(const char *spec_path, const char *library, char *error, size_t error_bytes)
{
	struct pipeline *p = calloc(1, sizeof(*p));
	FILE *spec = fopen(spec_path, "r");
	char reason[256] = "out of memory";

	if (spec == NULL || p == NULL) {
		snprintf(error, error_bytes, "%s: %s", spec_path, strerror(errno));
		goto fail;
	}
	if (load(p, spec, library, reason, sizeof(reason)) < 0) {
		snprintf(error, error_bytes, "%s: %s", spec_path, reason);
		goto fail;
	}
	fclose(spec);
	return p;
fail:
	if (spec != NULL)
		fclose(spec);
	if (p != NULL)
		pipeline_destroy(p);
	return NULL;
}

void
pipeline_destroy(struct pipeline *p)
{
	if (p->ctl != NULL)
		rte_swx_ctl_pipeline_free(p->ctl);
	if (p->swx != NULL)
		rte_swx_pipeline_free(p->swx);
	free(p);
}

const char *
pipeline_digest(const struct pipeline *p)
{
	return p->digest;
}

struct pipeline_slot *
pipeline_slots(struct pipeline *p)
{
	return p->burst.slots;
}

void
pipeline_run(struct pipeline *p, uint32_t n)
{
	burst_begin(&p->burst, n);
	/* Every path of the program ends at one of our ports, so this ends. */
	while (!burst_is_through(&p->burst))
		rte_swx_pipeline_run(p->swx, p->run_instructions);
}

static struct rte_swx_table_entry *
parse_entry(struct pipeline *p, const char *table, const char *text)
{
	int is_blank = 0;

	return rte_swx_ctl_pipeline_table_entry_read(p->ctl, table, text, &is_blank);
}

static void
free_entry(struct rte_swx_table_entry *entry)
{
	free(entry->key);
	free(entry->key_mask);
	free(entry->action_data);
	free(entry);
}

int
pipeline_entry_add(struct pipeline *p, const char *table, const char *text)
{
	struct rte_swx_table_entry *entry = parse_entry(p, table, text);
	int error;

	if (entry == NULL)
		return -EINVAL;
	error = rte_swx_ctl_pipeline_table_entry_add(p->ctl, table, entry);
	free_entry(entry);
	return error;
}

int
pipeline_entry_delete(struct pipeline *p, const char *table, const char *text)
{
	struct rte_swx_table_entry *entry = parse_entry(p, table, text);
	int error;

	if (entry == NULL)
		return -EINVAL;
	error = rte_swx_ctl_pipeline_table_entry_delete(p->ctl, table, entry);
	free_entry(entry);
	return error;
}

int
pipeline_commit(struct pipeline *p)
{
	return rte_swx_ctl_pipeline_commit(p->ctl, 1);
}

int
pipeline_register_read(struct pipeline *p, const char *name, uint32_t index, uint64_t *value)
{
	return rte_swx_ctl_pipeline_regarray_read(p->swx, name, index, value);
}

int
pipeline_register_write(struct pipeline *p, const char *name, uint32_t index, uint64_t value)
{
	return rte_swx_ctl_pipeline_regarray_write(p->swx, name, index, value);
}
