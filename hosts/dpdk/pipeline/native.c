/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "native.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rte_ring.h>
#include <rte_version.h>

#include "io/beside.h"

#define PLACE "pipeline/native/bottleneck.so"
/* DPDK builds from a library with its own kinds of ports only. These are never
 * run: ours replace them.
 */
#define PLACEHOLDER "native"
#define PORTS_TEXT_BYTES 1024

enum lookup {
	LIBRARY_FITS,
	LIBRARY_NOT_BUILT,
	LIBRARY_REFUSED,
};

static int
refuse(struct failure *reason, const char *subject, const char *problem)
{
	return failure_set(reason, EXIT_STATUS_TARGET, "%s: %s", subject, problem);
}

/* Whether the file is this text, to the byte. */
static bool
is_text(FILE *file, const unsigned char *text, size_t bytes)
{
	size_t i = 0;
	int byte;

	while ((byte = fgetc(file)) != EOF && i < bytes && byte == text[i])
		i++;
	return byte == EOF && i == bytes;
}

static int
check_spec(const struct native_library *native, const char *spec_path, const char *library,
	   struct failure *reason)
{
	FILE *spec = fopen(spec_path, "r");
	bool same;

	if (spec == NULL)
		return refuse(reason, spec_path, strerror(errno));
	same = is_text(spec, native->spec, *native->spec_bytes);
	fclose(spec);
	if (same)
		return 0;
	return failure_set(reason, EXIT_STATUS_TARGET,
			   "%s: built from a different .spec than %s; run `make build`", library,
			   spec_path);
}

static int
check(void *handle, const char *spec_path, const char *library, struct failure *reason)
{
	const struct native_library *native = dlsym(handle, NATIVE_LIBRARY_SYMBOL);

	if (native == NULL)
		return refuse(reason, library, "not a library of nashbed");
	/* It reads DPDK's internal structures, which differ between versions. */
	if (strcmp(native->dpdk, rte_version()) != 0)
		return failure_set(reason, EXIT_STATUS_TARGET,
				   "%s: built for %s, but this is %s; run `make setup`", library,
				   native->dpdk, rte_version());
	return check_spec(native, spec_path, library, reason);
}

static enum lookup
look_up(const char *spec_path, char *library, size_t library_bytes, struct failure *reason)
{
	void *handle;
	int result;

	if (beside(PLACE, library, library_bytes, reason) < 0)
		return LIBRARY_REFUSED;
	if (access(library, R_OK) != 0) {
		refuse(reason, library, "not built; `make setup` says why");
		return LIBRARY_NOT_BUILT;
	}
	handle = dlopen(library, RTLD_NOW);
	if (handle == NULL) {
		failure_set(reason, EXIT_STATUS_TARGET, "%s", dlerror());
		return LIBRARY_REFUSED;
	}
	result = check(handle, spec_path, library, reason);
	dlclose(handle);
	return result == 0 ? LIBRARY_FITS : LIBRARY_REFUSED;
}

int
native_choose(struct config *config, struct native_note *note, struct failure *failure)
{
	struct failure reason = {0};
	enum lookup result;

	note->text[0] = '\0';
	if (config->role != ROLE_BOTTLENECK || config->pipeline == PIPELINE_INTERPRETED)
		return 0;
	result = look_up(config->spec, config->native_library, sizeof(config->native_library),
			 &reason);
	if (result != LIBRARY_FITS && config->pipeline == PIPELINE_NATIVE)
		return refuse(failure, "pipeline native", reason.text);
	config->pipeline = result == LIBRARY_FITS ? PIPELINE_NATIVE : PIPELINE_INTERPRETED;
	if (result == LIBRARY_FITS)
		return 0;
	config->native_library[0] = '\0';
	/* The build and `nashbed doctor` report that there is none. */
	if (result == LIBRARY_REFUSED)
		snprintf(note->text, sizeof(note->text), "P4 is interpreted: %s", reason.text);
	return 0;
}

static int
write_placeholders(char *text, size_t bytes, uint32_t n_out)
{
	FILE *out = fmemopen(text, bytes, "w");

	if (out == NULL)
		return -ENOMEM;
	fprintf(out, "mirroring slots 1 sessions 2\nport in 0 ring %s bsz 1\n", PLACEHOLDER);
	for (uint32_t i = 0; i < n_out; i++)
		fprintf(out, "port out %u sink file none\n", i);
	return fclose(out) ? -ENOSPC : 0;
}

static int
build(struct rte_swx_pipeline **pipeline, const char *name, const char *library, uint32_t n_out)
{
	char text[PORTS_TEXT_BYTES];
	FILE *ports;
	int result = write_placeholders(text, sizeof(text), n_out);

	if (result)
		return result;
	if (rte_ring_lookup(PLACEHOLDER) == NULL &&
	    rte_ring_create(PLACEHOLDER, 2, SOCKET_ID_ANY, 0) == NULL)
		return -ENOMEM;
	ports = fmemopen(text, strlen(text), "r");
	if (ports == NULL)
		return -ENOMEM;
	result = rte_swx_pipeline_build_from_lib(pipeline, name, library, ports, 0);
	fclose(ports);
	return result;
}

int
native_build(struct rte_swx_pipeline **pipeline, const char *name, const char *library,
	     const struct native_ports *ports, const struct native_library **native)
{
	void *handle = dlopen(library, RTLD_NOW);
	struct rte_swx_ctl_pipeline_info info;
	int result = -ELIBBAD;

	if (handle == NULL)
		return result;
	*native = dlsym(handle, NATIVE_LIBRARY_SYMBOL);
	if (*native != NULL)
		result = build(pipeline, name, library, ports->n_out);
	if (!result)
		result = rte_swx_ctl_pipeline_info_get(*pipeline, &info);
	if (!result)
		result = (*native)->set_ports(*pipeline, &info, ports);
	dlclose(handle); /* the pipeline holds the library itself */
	return result;
}
