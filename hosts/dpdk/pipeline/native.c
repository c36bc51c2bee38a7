/* SPDX-License-Identifier: Apache-2.0 */
#include "native.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_ring.h>
#include <rte_version.h>

#define PLACE "pipeline/native/bottleneck.so"
/* DPDK builds from a library with ports of its own kinds only. These are never
 * run: ours take their place.
 */
#define PLACEHOLDER "native"
#define PORTS_TEXT_BYTES 1024

struct refusal {
	char *reason;
	size_t bytes;
};

static int
refuse(const struct refusal *r, int code, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(r->reason, r->bytes, format, arguments);
	va_end(arguments);
	return code;
}

static int
find_library(char *library, size_t bytes, const struct refusal *r)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	char *name;

	if (n < 0)
		return refuse(r, -errno, "/proc/self/exe: %s", strerror(errno));
	path[n] = '\0';
	name = strrchr(path, '/') + 1;
	*name = '\0';
	if ((size_t)snprintf(library, bytes, "%s%s", path, PLACE) >= bytes)
		return refuse(r, -ENAMETOOLONG, "%s%s: the path is too long", path, PLACE);
	if (access(library, R_OK) != 0)
		return refuse(r, -ENOENT, "%s: not built; `make setup` says why", library);
	return 0;
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
	   const struct refusal *r)
{
	FILE *spec = fopen(spec_path, "r");
	bool same;

	if (spec == NULL)
		return refuse(r, -errno, "%s: %s", spec_path, strerror(errno));
	same = is_text(spec, native->spec, *native->spec_bytes);
	fclose(spec);
	return same ? 0 :
		      refuse(r, -ESTALE, "%s: made of another .spec than %s; `make build`", library,
			     spec_path);
}

static int
check(void *handle, const char *spec_path, const char *library, const struct refusal *r)
{
	const struct native_library *native = dlsym(handle, NATIVE_LIBRARY_SYMBOL);

	if (native == NULL)
		return refuse(r, -EINVAL, "%s: not a library of ours", library);
	/* What it knows of the pipeline's inside holds for this version alone. */
	if (strcmp(native->dpdk, rte_version()) != 0)
		return refuse(r, -ESTALE, "%s: made for %s, this is %s; `make setup`", library,
			      native->dpdk, rte_version());
	return check_spec(native, spec_path, library, r);
}

static int
find(const char *spec_path, char *library, size_t library_bytes, char *reason, size_t reason_bytes)
{
	struct refusal r = {.reason = reason, .bytes = reason_bytes};
	int result = find_library(library, library_bytes, &r);
	void *handle;

	if (result)
		return result;
	handle = dlopen(library, RTLD_NOW);
	if (handle == NULL)
		return refuse(&r, -ELIBBAD, "%s", dlerror());
	result = check(handle, spec_path, library, &r);
	dlclose(handle);
	return result;
}

int
native_choose(struct config *config, char *note, char *error, size_t bytes)
{
	char reason[2 * PATH_BYTES + 128];
	int result;

	note[0] = '\0';
	if (config->role != ROLE_BOTTLENECK || config->pipeline == PIPELINE_INTERPRETED)
		return 0;
	result = find(config->spec, config->native_library, sizeof(config->native_library), reason,
		      sizeof(reason));
	if (result && config->pipeline == PIPELINE_NATIVE) {
		snprintf(error, bytes, "pipeline native: %s", reason);
		return result;
	}
	config->pipeline = result ? PIPELINE_INTERPRETED : PIPELINE_NATIVE;
	if (!result)
		return 0;
	config->native_library[0] = '\0';
	/* That there is none is told when it is built, and by `nashbed doctor`. */
	if (result == -ENOENT)
		return 0;
	snprintf(note, bytes, "P4 is interpreted: %s", reason);
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
build(struct rte_swx_pipeline **pipeline, const char *library, uint32_t n_out)
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
	result = rte_swx_pipeline_build_from_lib(pipeline, "bottleneck", library, ports, 0);
	fclose(ports);
	return result;
}

int
native_build(struct rte_swx_pipeline **pipeline, const char *library,
	     const struct native_ports *ports)
{
	const struct native_library *native;
	void *handle = dlopen(library, RTLD_NOW);
	int result = -ELIBBAD;

	if (handle == NULL)
		return result;
	native = dlsym(handle, NATIVE_LIBRARY_SYMBOL);
	if (native != NULL)
		result = build(pipeline, library, ports->n_out);
	if (!result)
		native->set_ports(*pipeline, ports);
	dlclose(handle); /* the pipeline holds the library itself */
	return result;
}
