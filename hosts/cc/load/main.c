/* SPDX-License-Identifier: Apache-2.0 */
/* nashbed-cc: registers CCAs of eBPF with the kernel, and holds them until its
 * standard input closes or it dies. It holds BPF links and pins nothing, so that nothing of it can
 * stay behind; sockets that use a CCA then go on with it until they close.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/events.h"
#include "register.h"

#define CCAS_MAX 32
#define LOG_LINES 60

static const char program[] = "nashbed-cc";

static const char usage[] =
	"usage: nashbed-cc [--check] NAME.bpf.o...\n"
	"\n"
	"Registers congestion controls of eBPF with the kernel of this machine and holds them until\n"
	"standard input closes. Says what it has registered in one line of JSON each, and \"ready\".\n"
	"\n"
	"  --check  unregister them at once\n"
	"  --help   this text\n"
	"\n"
	"Example: BBRv3 for every program of this machine, until Control-D\n"
	"  nashbed-cc build/hosts/cc/bbr3.bpf.o\n";

static const char *const reasons[] = {
	[REFUSED_BY_VERIFIER] = "verifier",    [REFUSED_NAME_TAKEN] = "name_taken",
	[REFUSED_NOT_A_CCA] = "not_a_control", [REFUSED_NOT_PERMITTED] = "not_permitted",
	[REFUSED_BY_KERNEL] = "kernel",
};

/* The end of a log. */
static json_t *
last_lines(const char *log)
{
	const char *start = log + strlen(log);
	json_t *lines = json_array();

	for (int count = 0; start > log && count <= LOG_LINES; start--)
		if (start[-1] == '\n' && ++count > LOG_LINES)
			break;
	while (*start != '\0') {
		size_t bytes = strcspn(start, "\n");

		json_array_append_new(lines, json_stringn_nocheck(start, bytes));
		start += bytes + (start[bytes] == '\n');
	}
	return lines;
}

static int
say_refused(const char *path, const struct refused *refused, struct failure *failure)
{
	json_t *event = json_pack("{s:s, s:s, s:s, s:s, s:o}", "event", "refused", "object", path,
				  "reason", reasons[refused->reason], "message", refused->message,
				  "log", last_lines(refused->log));

	event_print(event, failure);
	return failure_set(failure, EXIT_STATUS_HOST, "%.200s: %s", path, refused->message);
}

static int
say_registered(const char *path, const struct registered *registered, struct failure *failure)
{
	json_t *event = json_pack("{s:s, s:s, s:s, s:I, s:I}", "event", "registered", "name",
				  registered->name, "object", path, "state_map",
				  (json_int_t)registered->state_map, "state_bytes",
				  (json_int_t)registered->state_bytes);

	return event_print(event, failure);
}

static int
register_all(char **paths, struct registered *registered, size_t *count, struct failure *failure)
{
	struct refused refused = {.log = malloc(VERIFIER_LOG_BYTES)};
	int result = 0;

	if (refused.log == NULL)
		return failure_set(failure, EXIT_STATUS_HOST, "out of memory");
	for (; *paths != NULL && result == 0; paths++) {
		if (*count == CCAS_MAX)
			result = failure_set(failure, EXIT_STATUS_CONFIG,
					     "%d congestion controls at most", CCAS_MAX);
		else if (register_cca(*paths, &registered[*count], &refused) < 0)
			result = say_refused(*paths, &refused, failure);
		else
			result = say_registered(*paths, &registered[(*count)++], failure);
	}
	free(refused.log);
	return result;
}

static void
wait_for_end(void)
{
	char ignored[256];
	ssize_t bytes;

	do
		bytes = read(STDIN_FILENO, ignored, sizeof(ignored));
	while (bytes > 0 || (bytes < 0 && errno == EINTR));
}

static int
run(char **paths, bool only_check, struct failure *failure)
{
	struct registered registered[CCAS_MAX];
	struct rlimit unlimited = {RLIM_INFINITY, RLIM_INFINITY};
	size_t count = 0;
	int result;

	setrlimit(RLIMIT_MEMLOCK, &unlimited); /* kernels before 5.11 count maps in it */
	register_quietly();
	result = register_all(paths, registered, &count, failure);
	if (result == 0)
		result = event_print(json_pack("{s:s}", "event", "ready"), failure);
	if (result == 0 && !only_check)
		wait_for_end();
	while (count > 0)
		unregister_cca(&registered[--count]);
	return result;
}

int
main(int argc, char **argv)
{
	struct failure failure = {0};
	bool only_check = argc > 1 && strcmp(argv[1], "--check") == 0;
	char **paths = argv + 1 + only_check;

	if (argc > 1 && strcmp(argv[1], "--help") == 0)
		return fputs(usage, stdout) == EOF ? EXIT_STATUS_HOST : EXIT_STATUS_OK;
	if (*paths == NULL)
		failure_set(&failure, EXIT_STATUS_CONFIG,
			    "no object is named (see nashbed-cc --help)");
	else
		run(paths, only_check, &failure);
	if (failure.status != EXIT_STATUS_OK)
		return event_print_failure(&failure, program);
	return EXIT_STATUS_OK;
}
