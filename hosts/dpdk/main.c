/* SPDX-License-Identifier: Apache-2.0 */
/* nashbed-dataplane: the hosts' delay line, and the embedded target's bottleneck. */
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "common/program.h"
#include "control/control.h"
#include "io/eal.h"
#include "live/live.h"
#include "pipeline/native.h"

static const char program[] = "nashbed-dataplane";

static const char doc[] =
	"The hosts' delay line, and the embedded target's bottleneck.\v"
	"Exit status: 0 ok, 2 configuration, 3 P4 program, 4 host, 5 internal error.\n"
	"\n"
	"Example: nashbed-dataplane --config build/dp.json --check\n";

static struct dataplane dataplane;

static void
print_note(const struct native_note *note)
{
	if (note->text[0] != '\0')
		fprintf(stderr, "%s: %s\n", program, note->text);
}

static void
on_signal(int number)
{
	dataplane_stop(&dataplane);
}

static void
catch_signals(void)
{
	struct sigaction action = {.sa_handler = on_signal};

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
	/* Not to outlive the control plane, even a killed one. */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
}

static void
print_ready(const struct dataplane *dp)
{
	printf("{\"event\":\"ready\",\"pid\":%d,\"epoch_ns\":%" PRIu64 "}\n", (int)getpid(),
	       dp->epoch_ns);
	fflush(stdout);
}

static int
make_loops(struct dataplane *dp, struct failure *failure)
{
	if (dataplane_make_loops(dp, failure) < 0)
		return -1;
	for (uint32_t i = 0; i < dp->config.n_loops; i++)
		if (mailbox_init(&dp->loops[i].mailbox) < 0)
			return failure_set(failure, EXIT_STATUS_HOST,
					   "cannot create an event descriptor");
	return 0;
}

static void
free_loops(struct dataplane *dp)
{
	for (uint32_t i = 0; i < dp->config.n_loops; i++)
		mailbox_free(&dp->loops[i].mailbox);
	free(dp->loops);
}

/* On a clock, until a signal or a request to shut down. */
static int
run_live(struct dataplane *dp, const struct native_note *note, struct failure *failure)
{
	struct control_thread *control;

	if (make_loops(dp, failure) < 0)
		return -1;
	catch_signals();
	if (dataplane_open(dp, failure) < 0)
		return -1;
	control = control_thread_start(dp, failure);
	if (control == NULL)
		return -1;
	print_note(note);
	print_ready(dp);
	loops_run(dp);
	control_thread_join(control);
	dataplane_close(dp);
	free_loops(dp);
	return 0;
}

static int
run(const char *path, bool check, struct failure *failure)
{
	struct config *config = &dataplane.config;
	struct native_note note;

	if (config_read(path, false, config, failure) < 0)
		return -1;
	if (native_choose(config, &note, failure) < 0)
		return -1;
	wires_choose_stamps(config);
	if (!check)
		return run_live(&dataplane, &note, failure);
	config_print(config);
	print_note(&note);
	return 0;
}

int
main(int argc, char **argv)
{
	struct program_option options[] = {
		{"config", "FILE", "the generated JSON configuration", NULL},
		{"check", NULL, "read it, print the effective configuration, and end", NULL},
		{0},
	};
	struct failure failure = {0};

	program_options(argc, argv, doc, options);
	return run(options[0].value, options[1].value != NULL, &failure) == 0 ?
		       EXIT_STATUS_OK :
		       failure_print(&failure, program);
}
