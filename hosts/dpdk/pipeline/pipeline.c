/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "pipeline.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_swx_ctl.h>
#include <rte_swx_pipeline.h>

#include "burst.h"
#include "native.h"

/* Instructions between two looks at whether the burst is through: few, for what
 * is run beyond the last packet is idle polling.
 */
#define RUN_INSTRUCTIONS 48

struct pipeline {
	char name[32]; /* DPDK wants a different one of each */
	struct rte_swx_pipeline *swx;
	struct rte_swx_ctl_pipeline *ctl;
	char digest[SWX_DIGEST_BYTES];
	const struct native_library *native; /* NULL: interpreted */
	struct burst burst;
};

static int
open_mirror(struct pipeline *p)
{
	struct rte_swx_pipeline_mirroring_session_params session = {
		.port_id = PIPELINE_TELEMETRY,
		.fast_clone = 0,
		.truncation_length = POSTCARD_BYTES_MAX,
	};

	return rte_swx_ctl_pipeline_mirroring_session_set(p->swx, P4_MIRROR_SESSION, &session);
}

static int
refused(struct failure *failure, const char *step, int error)
{
	return failure_set(failure, EXIT_STATUS_TARGET, "%s: %s", step, strerror(abs(error)));
}

static int
build_interpreted(struct pipeline *p, FILE *spec, struct failure *failure)
{
	int error = rte_swx_pipeline_config(&p->swx, p->name, 0);

	if (!error)
		error = burst_configure(&p->burst, p->swx);
	if (error)
		return refused(failure, "SWX ports", error);
	if (swx_spec_load(p->swx, spec, failure) < 0)
		return -1;
	error = rte_swx_pipeline_build(p->swx);
	return error ? refused(failure, "SWX build", error) : 0;
}

static int
build_native(struct pipeline *p, const char *library, struct failure *failure)
{
	void *out[PIPELINE_PORTS];
	struct native_ports ports = burst_native_ports(&p->burst, out);
	int error = native_build(&p->swx, p->name, library, &ports, &p->native);

	return error ? refused(failure, library, error) : 0;
}

static int
load(struct pipeline *p, FILE *spec, const char *library, struct failure *failure)
{
	bool native = library[0] != '\0';
	int error;

	snprintf(p->name, sizeof(p->name), "p4_%p", (void *)p);
	swx_spec_digest(spec, p->digest);
	burst_init(&p->burst);
	if (native ? build_native(p, library, failure) : build_interpreted(p, spec, failure))
		return -1;
	error = open_mirror(p);
	if (error)
		return refused(failure, "SWX mirror", error);
	p->ctl = rte_swx_ctl_pipeline_create(p->swx);
	return p->ctl ? 0 : refused(failure, "SWX control", ENOMEM);
}

struct pipeline *
pipeline_create(const char *spec_path, const char *library, struct failure *failure)
{
	struct pipeline *p = calloc(1, sizeof(*p));
	FILE *spec = fopen(spec_path, "r");
	int result = -1;

	if (spec == NULL || p == NULL)
		refused(failure, spec_path, errno);
	else if (load(p, spec, library, failure) < 0)
		failure_add_context(failure, spec_path);
	else
		result = 0;
	if (spec != NULL)
		fclose(spec);
	if (result < 0 && p != NULL)
		pipeline_destroy(p);
	return result == 0 ? p : NULL;
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
	/* Every path of the program ends at one of our ports, so either ends. */
	if (p->native != NULL) {
		p->native->run(p->swx, n, &p->burst.n_out);
		return;
	}
	while (!burst_is_through(&p->burst))
		rte_swx_pipeline_run(p->swx, RUN_INSTRUCTIONS);
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
