/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include "register.h"

/* Debian 12's libbpf (1.1) and headers are older than links to struct_ops (Linux 6.4). */
#ifndef BPF_F_LINK
#define BPF_F_LINK (1U << 13)
#endif
#define ATTACH_STRUCT_OPS 44 /* BPF_STRUCT_OPS of enum bpf_attach_type */

static char last_warning[256];

/* The last line that libbpf says of a failure, without its own name. */
static int
keep_warning(enum libbpf_print_level level, const char *format, va_list arguments)
{
	char line[sizeof(last_warning)];
	const char *text = line;

	if (level != LIBBPF_WARN)
		return 0;
	vsnprintf(line, sizeof(line), format, arguments);
	line[strcspn(line, "\n")] = '\0';
	if (strncmp(text, "libbpf: ", strlen("libbpf: ")) == 0)
		text += strlen("libbpf: ");
	/* The first one says most: those after it say that therefore the rest fails too. */
	if (last_warning[0] == '\0' && *text != '\0')
		strcpy(last_warning, text);
	return 0;
}

void
register_quietly(void)
{
	libbpf_set_print(keep_warning);
}

static int
refuse(struct refused *refused, enum refusal reason, const char *format, ...)
{
	va_list arguments;

	refused->reason = reason;
	va_start(arguments, format);
	vsnprintf(refused->message, sizeof(refused->message), format, arguments);
	va_end(arguments);
	return -1;
}

static struct bpf_map *
find_map(struct bpf_object *object, enum bpf_map_type type)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, object) if (bpf_map__type(map) == type) return map;
	return NULL;
}

static int
refuse_load(struct refused *refused, int error)
{
	if (error == EPERM && refused->log[0] == '\0')
		return refuse(refused, REFUSED_NOT_PERMITTED,
			      "not permitted: loading eBPF needs root (CAP_BPF, CAP_PERFMON and "
			      "CAP_NET_ADMIN)");
	if (refused->log[0] != '\0')
		return refuse(refused, REFUSED_BY_VERIFIER, "the kernel's verifier refuses it");
	return refuse(refused, REFUSED_BY_KERNEL, "%s",
		      last_warning[0] != '\0' ? last_warning : strerror(error));
}

static struct bpf_object *
open_object(const char *path, struct refused *refused)
{
	LIBBPF_OPTS(bpf_object_open_opts, options, .kernel_log_buf = refused->log,
		    .kernel_log_size = VERIFIER_LOG_BYTES);
	struct bpf_object *object = bpf_object__open_file(path, &options);

	if (object == NULL)
		refuse(refused, REFUSED_NOT_A_CCA, "cannot be read as an eBPF object: %s",
		       last_warning[0] != '\0' ? last_warning : strerror(errno));
	return object;
}

static int
load(struct bpf_object *object, struct refused *refused)
{
	struct bpf_map *table = find_map(object, BPF_MAP_TYPE_STRUCT_OPS);
	int error;

	if (table == NULL)
		return refuse(refused, REFUSED_NOT_A_CCA,
			      "not a congestion control: it has no CC_REGISTER");
	bpf_map__set_map_flags(table, bpf_map__map_flags(table) | BPF_F_LINK);
	error = bpf_object__load(object);
	return error < 0 ? refuse_load(refused, -error) : 0;
}

static int
refuse_link(struct refused *refused, const char *name, int error)
{
	if (error == EEXIST)
		return refuse(refused, REFUSED_NAME_TAKEN,
			      "the name %s is taken: this kernel has a congestion control of that "
			      "name, its own or one that another program has registered",
			      name);
	return refuse(refused, REFUSED_BY_KERNEL, "the kernel does not register it: %s",
		      strerror(error));
}

/* "objects/copa.bpf.o": "copa". */
static void
name_from_path(const char *path, char *name)
{
	const char *slash = strrchr(path, '/');
	const char *file = slash != NULL ? slash + 1 : path;

	snprintf(name, CC_NAME_BYTES, "%.*s", (int)strcspn(file, "."), file);
}

/* Whether a socket can have it now. */
static bool
is_registered(const char *name)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int result = setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, strlen(name));

	close(fd);
	return result == 0;
}

static int
hold(struct registered *registered, struct refused *refused)
{
	struct bpf_map *table = find_map(registered->object, BPF_MAP_TYPE_STRUCT_OPS);
	struct bpf_link *attached = bpf_map__attach_struct_ops(table);

	if (attached == NULL)
		return refuse_link(refused, registered->name, errno);
	registered->link = bpf_link__fd(attached);
	/* Debian 12's only fills the table in; with BPF_F_LINK that registers nothing yet. */
	if (registered->link == bpf_map__fd(table))
		registered->link = bpf_link_create(bpf_map__fd(table), 0,
						   (enum bpf_attach_type)ATTACH_STRUCT_OPS, NULL);
	if (registered->link < 0)
		return refuse_link(refused, registered->name, errno);
	if (!is_registered(registered->name))
		return refuse(refused, REFUSED_NOT_A_CCA,
			      "not the congestion control %s: an object is named after what it "
			      "registers",
			      registered->name);
	return 0;
}

static void
find_state(struct registered *registered)
{
	struct bpf_map *map = find_map(registered->object, BPF_MAP_TYPE_SK_STORAGE);
	struct bpf_map_info info = {0};
	uint32_t bytes = sizeof(info);

	if (map == NULL || bpf_obj_get_info_by_fd(bpf_map__fd(map), &info, &bytes) < 0)
		return;
	registered->state_map = info.id;
	registered->state_bytes = info.value_size;
}

int
register_cca(const char *path, struct registered *registered, struct refused *refused)
{
	*registered = (struct registered){.link = -1};
	refused->log[0] = '\0';
	last_warning[0] = '\0';
	name_from_path(path, registered->name);
	registered->object = open_object(path, refused);
	if (registered->object == NULL)
		return -1;
	if (load(registered->object, refused) < 0 || hold(registered, refused) < 0) {
		unregister_cca(registered);
		return -1;
	}
	find_state(registered);
	return 0;
}

void
unregister_cca(struct registered *registered)
{
	if (registered->link >= 0)
		close(registered->link);
	bpf_object__close(registered->object);
	*registered = (struct registered){.link = -1};
}
