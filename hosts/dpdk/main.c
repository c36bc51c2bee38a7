/* SPDX-License-Identifier: Apache-2.0 */
/* nashbed-dataplane: the hosts' delay line, and the embedded target's bottleneck. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_mbuf.h>

#include "common/exit_status.h"
#include "common/nanoseconds.h"
#include "common/one_line.h"
#include "control/control.h"
#include "io/eal.h"
#include "live/dataplane.h"
#include "live/loop.h"
#include "offline/bench.h"
#include "offline/replay.h"
#include "pipeline/native.h"

#define ERROR_BYTES 512
#define POOL_CACHE 256
/* Packet buffers beyond those in queues: the ports' rings and bursts. */
#define RING_PACKETS 32768u
#define REPLAY_PACKETS 1024u

struct options {
	const char *config;
	const char *capture;
	const char *out;
	const char *bench;
	bool check;
	bool devices;
};

static const char usage[] =
	"usage: nashbed-dataplane --config FILE [--check | --devices]\n"
	"       nashbed-dataplane --config FILE --replay CAPTURE --out DIR\n"
	"       nashbed-dataplane --config FILE --bench PACKETS[,FLOWS[,BURST]]\n"
	"\n"
	"  --config FILE     the generated JSON configuration\n"
	"  --check           read it, print what takes effect, and end\n"
	"  --devices         print the EAL's arguments that open its ports, and end: with\n"
	"                    them another DPDK program opens the very same\n"
	"  --replay CAPTURE  put a capture through the bottleneck in virtual time\n"
	"  --out DIR         where a replay writes\n"
	"  --bench N,F,B     time N packets of F flows, B at once, through it in memory\n"
	"\n"
	"exit: 0 ok, 2 configuration, 3 P4 program, 4 host, 5 internal\n"
	"\n"
	"example: nashbed-dataplane --config build/dp.json --replay a.pcap --out out\n";

static struct dataplane dataplane;

const struct role_ops *const role_ops[N_ROLES] = {
	[ROLE_BOTTLENECK] = &role_bottleneck,
	[ROLE_HOSTS] = &role_hosts,
};

static int
complain(int code, const char *text)
{
	char line[ERROR_BYTES];

	snprintf(line, sizeof(line), "%s", text);
	one_line(line);
	fprintf(stderr, "nashbed-dataplane: %s\n", line);
	return code;
}

/* What is to be known and is no error; "": nothing. */
static int
tell(const char *note)
{
	return note[0] ? complain(EXIT_STATUS_OK, note) : EXIT_STATUS_OK;
}

static int
read_options(int argc, char **argv, struct options *o)
{
	static const struct option known[] = {
		{"config", required_argument, NULL, 'c'}, {"check", no_argument, NULL, 'k'},
		{"devices", no_argument, NULL, 'd'},	  {"replay", required_argument, NULL, 'r'},
		{"out", required_argument, NULL, 'o'},	  {"bench", required_argument, NULL, 'b'},
		{"help", no_argument, NULL, 'h'},	  {0},
	};
	int option;

	while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
		switch (option) {
		case 'c':
			o->config = optarg;
			break;
		case 'k':
			o->check = true;
			break;
		case 'd':
			o->devices = true;
			break;
		case 'r':
			o->capture = optarg;
			break;
		case 'o':
			o->out = optarg;
			break;
		case 'b':
			o->bench = optarg;
			break;
		case 'h':
			fputs(usage, stdout);
			exit(EXIT_STATUS_OK);
		default:
			fputs(usage, stderr);
			return EXIT_STATUS_CONFIG;
		}
	}
	if (optind < argc || o->config == NULL || (o->capture != NULL) != (o->out != NULL) ||
	    (o->bench != NULL && o->capture != NULL) ||
	    (o->devices && (o->bench != NULL || o->capture != NULL))) {
		fputs(usage, stderr);
		return EXIT_STATUS_CONFIG;
	}
	return EXIT_STATUS_OK;
}

static void
on_signal(int number)
{
	(void)number;
	atomic_store(&dataplane.stop, true);
	mailbox_wake(&dataplane.mailbox);
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

/* A replay has no rings to fill. */
static uint32_t
pool_packets(const struct config *config, bool replay)
{
	return config->queue_packets + (replay ? REPLAY_PACKETS : RING_PACKETS);
}

/* What a replay and a live bottleneck share. */
static int
open_common(struct dataplane *dp, bool replay, char *error)
{
	if (eal_start(&dp->config, replay, error, ERROR_BYTES) < 0)
		return EXIT_STATUS_HOST;
	dp->pool = rte_pktmbuf_pool_create("packets", pool_packets(&dp->config, replay), POOL_CACHE,
					   0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	if (dp->pool == NULL) {
		snprintf(error, ERROR_BYTES,
			 "no memory for %u packets in memory_mb=%u; raise it or lower "
			 "queue_packets",
			 pool_packets(&dp->config, replay), dp->config.memory_mb);
		return EXIT_STATUS_HOST;
	}
	return EXIT_STATUS_OK;
}

static int
open_wires(struct dataplane *dp, char *error)
{
	for (int id = 0; id < N_WIRES; id++)
		if (config_has_wire(&dp->config, (enum wire_id)id) &&
		    wire_open(&dp->wires[id], &dp->config.wires[id], (enum wire_id)id, dp->pool,
			      error, ERROR_BYTES) < 0)
			return EXIT_STATUS_HOST;
	return EXIT_STATUS_OK;
}

static int
open_live(struct dataplane *dp, char *error)
{
	struct timespec t;
	int code;

	clock_gettime(CLOCK_MONOTONIC, &t);
	dp->epoch_ns = (uint64_t)t.tv_sec * SECOND_NS + (uint64_t)t.tv_nsec;
	dp->lanes = calloc(dp->config.lanes, sizeof(*dp->lanes));
	dp->telemetry = telemetry_create(dp->config.lanes, dp->config.service_core);
	if (dp->lanes == NULL || dp->telemetry == NULL) {
		snprintf(error, ERROR_BYTES, "out of memory");
		return EXIT_STATUS_HOST;
	}
	dp->role = role_ops[dp->config.role];
	code = dp->role->open(dp, error, ERROR_BYTES);
	return code == EXIT_STATUS_OK ? open_wires(dp, error) : code;
}

static void
close_live(struct dataplane *dp)
{
	dp->role->close(dp);
	for (int id = 0; id < N_WIRES; id++)
		if (config_has_wire(&dp->config, (enum wire_id)id))
			wire_close(&dp->wires[id]);
	telemetry_destroy(dp->telemetry);
	free(dp->lanes);
	mailbox_free(&dp->mailbox);
	rte_eal_cleanup();
}

static int
run_live(struct dataplane *dp, const char *note)
{
	char error[ERROR_BYTES];
	struct control *control;
	int code;

	if (mailbox_init(&dp->mailbox) < 0)
		return complain(EXIT_STATUS_HOST, "no event descriptor to be had");
	catch_signals();
	code = open_common(dp, false, error);
	if (code == EXIT_STATUS_OK)
		code = open_live(dp, error);
	if (code != EXIT_STATUS_OK)
		return complain(code, error);
	control = control_start(dp, error, sizeof(error));
	if (control == NULL)
		return complain(EXIT_STATUS_HOST, error);
	tell(note);
	printf("{\"event\":\"ready\",\"pid\":%d,\"epoch_ns\":%" PRIu64 "}\n", (int)getpid(),
	       dp->epoch_ns);
	fflush(stdout);
	loop_run(dp);
	control_join(control);
	close_live(dp);
	return EXIT_STATUS_OK;
}

static int
read_bench(const char *text, struct bench_request *request)
{
	char end;

	*request = (struct bench_request){.flows = 50, .burst = 32};
	if (sscanf(text, "%" SCNu64 ",%u,%u%c", &request->packets, &request->flows, &request->burst,
		   &end) > 3 ||
	    request->packets == 0 || request->flows == 0 || request->flows > 60000 ||
	    request->burst == 0 || request->burst > PIPELINE_BURST)
		return complain(EXIT_STATUS_CONFIG,
				"--bench: write PACKETS[,FLOWS[,BURST]], with 1 to "
				"60000 flows and 1 to 64 packets at once");
	return EXIT_STATUS_OK;
}

/* What needs no clock and no port: a replay, or a measurement of our own speed. */
static int
run_offline(struct dataplane *dp, const struct options *o, const char *note)
{
	struct bench_request bench;
	char error[ERROR_BYTES];
	int code = o->bench ? read_bench(o->bench, &bench) : EXIT_STATUS_OK;

	if (code != EXIT_STATUS_OK)
		return code;
	code = open_common(dp, true, error);

	if (code == EXIT_STATUS_OK) {
		dp->pipeline = pipeline_create(dp->config.spec, dp->config.native_library, error,
					       sizeof(error));
		code = dp->pipeline ? EXIT_STATUS_OK : EXIT_STATUS_TARGET;
	}
	if (code == EXIT_STATUS_OK)
		tell(note);
	if (code == EXIT_STATUS_OK && o->bench != NULL)
		code = bench_run(&dp->config, dp->pipeline, dp->pool, &bench, error, sizeof(error));
	else if (code == EXIT_STATUS_OK)
		code = replay_run(&dp->config, dp->pipeline, dp->pool, o->capture, o->out, error,
				  sizeof(error));
	if (code != EXIT_STATUS_OK)
		return complain(code, error);
	pipeline_destroy(dp->pipeline);
	rte_eal_cleanup();
	return EXIT_STATUS_OK;
}

int
main(int argc, char **argv)
{
	struct options o = {0};
	char error[ERROR_BYTES], note[ERROR_BYTES];
	int code = read_options(argc, argv, &o);

	if (code != EXIT_STATUS_OK)
		return code;
	if (config_read(o.config, o.capture != NULL || o.bench != NULL, &dataplane.config, error,
			sizeof(error)) < 0)
		return complain(EXIT_STATUS_CONFIG, error);
	if (o.devices)
		eal_print_wires(&dataplane.config);
	if (o.devices && !o.check)
		return EXIT_STATUS_OK;
	if (native_choose(&dataplane.config, note, error, sizeof(error)) < 0)
		return complain(EXIT_STATUS_TARGET, error);
	if (o.check) {
		config_print(&dataplane.config);
		return tell(note);
	}
	return o.capture || o.bench ? run_offline(&dataplane, &o, note) :
				      run_live(&dataplane, note);
}
