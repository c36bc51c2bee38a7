/* SPDX-License-Identifier: Apache-2.0 */
#include "requests.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/json_fields.h"
#include "host.h"
#include "processes.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define ARGS_MAX 64u
#define LINE_BYTES_MAX 65536
#define SIGNAL_MAX 64
#define NAME_BYTES 128

/* The members that the requests have between them; each reads its own. */
struct request {
	enum side side;
	const json_t *addresses;
	const json_t *routes;
	const json_t *sysctls;
	const json_t *args;
	char qdisc[NAME_BYTES];
	char name[NAME_BYTES];
	char log[PATH_MAX];
	char path[PATH_MAX];
	const char *arguments;
	const char *line;
	uint32_t process;
	uint32_t signal;
	int64_t until_ns;
};

static int
read_strings(const struct json_place *place, const struct json_field *field, const json_t *value,
	     void *target)
{
	for (size_t i = 0; i < json_array_size(value); i++)
		if (!json_is_string(json_array_get(value, i)))
			return -1;
	*(const json_t **)target = value;
	return json_is_array(value) ? 0 : -1;
}

static int
read_settings(const struct json_place *place, const struct json_field *field, const json_t *value,
	      void *target)
{
	const char *key;
	json_t *each;

	json_object_foreach((json_t *)(uintptr_t)value, key, each)
		if (!json_is_string(each))
			return -1;
	*(const json_t **)target = value;
	return json_is_object(value) ? 0 : -1;
}

static int
read_line(const struct json_place *place, const struct json_field *field, const json_t *value,
	  void *target)
{
	const char *text = json_string_value(value);

	if (text == NULL || strchr(text, '\n') != NULL || strlen(text) > LINE_BYTES_MAX)
		return -1;
	*(const char **)target = text;
	return 0;
}

static const struct json_kind as_strings = {.read = read_strings};
static const struct json_kind as_settings = {.read = read_settings};
static const struct json_kind as_line = {.read = read_line};

#define FIELD(key, member, reader, ...)                                                            \
	JSON_FIELD(struct request, key, member, reader, ##__VA_ARGS__)
#define SIDE_FIELD FIELD("side", side, as_choice, .choices = side_names)

static json_t *
done(void)
{
	return json_pack("{s:b}", "ok", 1);
}

static int
configure_host(const struct request *r, struct failure *failure)
{
	json_t *each;
	const char *key;
	size_t i;

	json_object_foreach((json_t *)(uintptr_t)r->sysctls, key, each)
		if (host_set_sysctl(key, json_string_value(each), failure) < 0)
			return -1;
	json_array_foreach(r->addresses, i, each)
		if (host_add_address(r->side, json_string_value(each), failure) < 0)
			return -1;
	if (r->qdisc[0] != '\0' && host_set_qdisc(r->side, r->qdisc, failure) < 0)
		return -1;
	if (host_bring_up(r->side, failure) < 0)
		return -1;
	json_object_foreach((json_t *)(uintptr_t)r->routes, key, each)
		if (host_add_route(r->side, key, json_string_value(each), failure) < 0)
			return -1;
	return 0;
}

static const struct json_field host_fields[] = {
	SIDE_FIELD,
	FIELD("addresses", addresses, as_strings),
	FIELD("routes", routes, as_settings),
	FIELD("sysctls", sysctls, as_settings),
	FIELD("qdisc", qdisc, as_text, .optional = true),
	{0},
};

static json_t *
answer_host(const struct request *r, struct failure *failure)
{
	int result = host_enter(r->side, failure);

	if (result == 0)
		result = configure_host(r, failure);
	if (host_enter(SENDERS, failure) < 0)
		result = -1;
	return result == 0 ? done() : NULL;
}

/* What the kernel means, where strerror() does not say it. */
static const char *
why_not_inserted(int error)
{
	switch (error) {
	case EEXIST:
		return "the kernel has a module or a congestion control of this name";
	case EINVAL:
		return "the kernel does not take it as a congestion control; it needs ssthresh, "
		       "undo_cwnd, and cong_avoid or cong_control";
	case ENOEXEC:
		return "not a module for this kernel";
	default:
		return strerror(error);
	}
}

/* Insert the module of a file: a CCA that is no part of the kernel. It stays until
 * the guest ends. Arguments are its parameters, as NAME=VALUE.
 */
static int
insert_module(const char *path, const char *arguments, struct failure *failure)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int result = 0;

	if (fd < 0)
		return failure_set(failure, EXIT_STATUS_HOST, "%s: %s", path, strerror(errno));
	if (syscall(SYS_finit_module, fd, arguments, 0) < 0)
		result = failure_set(failure, EXIT_STATUS_HOST, "%s: %s", path,
				     why_not_inserted(errno));
	close(fd);
	return result;
}

static const struct json_field insert_fields[] = {
	FIELD("path", path, as_text),
	FIELD("arguments", arguments, as_line),
	{0},
};

static json_t *
answer_insert(const struct request *r, struct failure *failure)
{
	return insert_module(r->path, r->arguments, failure) == 0 ? done() : NULL;
}

static const struct json_field start_fields[] = {
	FIELD("name", name, as_text), SIDE_FIELD, FIELD("args", args, as_strings),
	FIELD("log", log, as_text),   {0},
};

static json_t *
answer_start(const struct request *r, struct failure *failure)
{
	char *args[ARGS_MAX + 1] = {NULL};
	size_t n = json_array_size(r->args);
	int number;

	if (n == 0 || n > ARGS_MAX) {
		failure_set(failure, EXIT_STATUS_CONFIG, "args must be 1 to %u texts", ARGS_MAX);
		return NULL;
	}
	for (size_t i = 0; i < n; i++)
		args[i] = (char *)(uintptr_t)json_string_value(json_array_get(r->args, i));
	number = process_start(r->side, args, r->log, failure);
	return number < 0 ? NULL : json_pack("{s:b, s:i}", "ok", 1, "process", number);
}

static const struct json_field send_fields[] = {
	FIELD("process", process, as_number),
	FIELD("line", line, as_line),
	{0},
};

static json_t *
answer_send(const struct request *r, struct failure *failure)
{
	return process_send(r->process, r->line, failure) == 0 ? done() : NULL;
}

static const struct json_field run_fields[] = {
	FIELD("until_ns", until_ns, as_number, .max = INT64_MAX / 2),
	{0},
};

static json_t *
answer_run(const struct request *r, struct failure *failure)
{
	json_t *events = processes_run((uint64_t)r->until_ns, failure);

	if (events == NULL)
		return NULL;
	return json_pack("{s:b, s:I, s:o}", "ok", 1, "now_ns", (json_int_t)clock_now_ns(), "events",
			 events);
}

static const struct json_field signal_fields[] = {
	FIELD("process", process, as_number),
	FIELD("signal", signal, as_number, .min = 1, .max = SIGNAL_MAX),
	{0},
};

static json_t *
answer_signal(const struct request *r, struct failure *failure)
{
	return process_signal(r->process, r->signal, failure) == 0 ? done() : NULL;
}

static const struct json_field read_fields[] = {
	SIDE_FIELD,
	FIELD("path", path, as_text),
	{0},
};

static json_t *
read_file(const char *path, struct failure *failure)
{
	FILE *file = fopen(path, "r");
	char *text = NULL;
	size_t capacity = 0;
	json_t *answer = NULL;

	if (file == NULL) {
		failure_set(failure, EXIT_STATUS_HOST, "%s: %s", path, strerror(errno));
		return NULL;
	}
	if (getdelim(&text, &capacity, '\0', file) < 0 && ferror(file))
		failure_set(failure, EXIT_STATUS_HOST, "%s: %s", path, strerror(errno));
	else
		answer = json_pack("{s:b, s:s}", "ok", 1, "text", text != NULL ? text : "");
	free(text);
	fclose(file);
	return answer;
}

/* /proc/net is a link to that of the process itself. */
static json_t *
answer_read(const struct request *r, struct failure *failure)
{
	json_t *answer = NULL;

	if (host_enter(r->side, failure) == 0)
		answer = read_file(r->path, failure);
	if (host_enter(SENDERS, failure) == 0)
		return answer;
	json_decref(answer);
	return NULL;
}

static const struct json_field qdisc_fields[] = {
	SIDE_FIELD,
	{0},
};

static json_t *
answer_qdisc(const struct request *r, struct failure *failure)
{
	struct qdisc qdisc;
	int result = host_enter(r->side, failure);

	if (result == 0)
		result = host_read_qdisc(r->side, &qdisc, failure);
	if (host_enter(SENDERS, failure) < 0)
		result = -1;
	if (result < 0)
		return NULL;
	return json_pack("{s:b, s:s, s:I, s:I}", "ok", 1, "kind", qdisc.kind, "dropped",
			 (json_int_t)qdisc.dropped, "throttled", (json_int_t)qdisc.throttled);
}

static const struct {
	const char *op;
	const struct json_field *fields;
	json_t *(*answer)(const struct request *r, struct failure *failure);
} table[] = {
	{"insert", insert_fields, answer_insert}, {"host", host_fields, answer_host},
	{"start", start_fields, answer_start},	  {"send", send_fields, answer_send},
	{"run", run_fields, answer_run},	  {"signal", signal_fields, answer_signal},
	{"read", read_fields, answer_read},	  {"qdisc", qdisc_fields, answer_qdisc},
};

static void
refuse_unknown(struct failure *failure)
{
	failure_set(failure, EXIT_STATUS_CONFIG, "op must be the data plane's, or one of %s",
		    table[0].op);
	for (size_t i = 1; i < COUNT(table); i++)
		failure_append(failure, ", %s", table[i].op);
}

/* NULL with the failure set. */
static json_t *
dispatch(json_t *json, struct failure *failure)
{
	const char *op = json_string_value(json_object_get(json, "op"));
	struct json_place place = {.failure = failure};
	struct request r = {0};

	for (size_t i = 0; op != NULL && i < COUNT(table); i++) {
		if (strcmp(op, table[i].op) != 0)
			continue;
		place.source = table[i].op;
		json_object_del(json, "op");
		if (json_fields_read(&place, json, table[i].fields, &r) < 0)
			return NULL;
		return table[i].answer(&r, failure);
	}
	refuse_unknown(failure);
	return NULL;
}

json_t *
requests_answer(const char *line, size_t bytes)
{
	json_error_t where;
	json_t *json = json_loadb(line, bytes, JSON_REJECT_DUPLICATES, &where);
	struct failure failure = {0};
	json_t *answer = NULL;

	if (json != NULL)
		answer = dispatch(json, &failure);
	else
		failure_set(&failure, EXIT_STATUS_CONFIG, "not JSON: %s", where.text);
	json_decref(json);
	return answer != NULL ? answer : json_pack("{s:b, s:s}", "ok", 0, "error", failure.text);
}
