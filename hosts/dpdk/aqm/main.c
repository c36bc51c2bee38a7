/* SPDX-License-Identifier: Apache-2.0 */
/* nashbed-aqm: says what parameters a queue discipline, or a policy of shared memory, of a user's own
 * has, and sends packets through a lane.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/lane_json.h"
#include "core/aqm_load.h"
#include "core/traffic_manager.h"

static const char usage[] =
	"usage: nashbed-aqm describe FILE.so\n"
	"       nashbed-aqm check LANE\n"
	"       nashbed-aqm pass LANE < packets\n"
	"`describe` writes a line of JSON for a discipline or a policy in a shared object. LANE is a "
	"lane as a data plane is told it, in JSON; `check` says whether it can be. `pass` reads "
	"packets, a line for each: time in ns, flow, bytes, ECN codepoint; and writes a line for each "
	"that comes out: its number, when, whether it departed, whether it is marked, why it was "
	"dropped. Of several queues a packet's is the one with the number of its flow.\n"
	"Exit status: 0 ok, 2 configuration, 5 internal error.\n";

/* Names of kinds, by enum aqm_kind. */
static const char *const kind_names[] = {
	[AQM_TIME] = "time",
	[AQM_BYTES] = "bytes",
	[AQM_PACKETS] = "packets",
	[AQM_NUMBER] = "number",
	[AQM_PROBABILITY] = "probability",
	[AQM_REAL] = "real",
	[AQM_FLAG] = "flag",
};

static json_t *
params_json(const struct aqm_param *params)
{
	json_t *list = json_array();

	for (const struct aqm_param *p = params; p->name != NULL; p++)
		json_array_append_new(
			list, json_pack("{s:s, s:s, s:o, s:f, s:f, s:s}", "name", p->name, "kind",
					kind_names[p->kind], "default",
					p->first >= p->min ? json_real(p->first) : json_null(),
					"min", p->min, "max", p->max, "help", p->help));
	return list;
}

static int
describe(const char *file, struct failure *failure)
{
	const struct memory_ops *memory = NULL;
	const struct aqm_ops *aqm = NULL;
	char why[512];
	json_t *about;

	if (memory_is_in(file))
		memory = memory_load(file, why, sizeof(why));
	else
		aqm = aqm_load(file, why, sizeof(why));
	if (aqm == NULL && memory == NULL)
		return failure_set(failure, EXIT_STATUS_CONFIG, "%s", why);
	about = json_pack("{s:s, s:s, s:s, s:o}", "name", aqm ? aqm->name : memory->name, "what",
			  aqm ? "discipline" : "memory", "help",
			  (aqm ? aqm->help : memory->help) ?: "", "parameters",
			  params_json(aqm ? aqm->params : memory->params));
	if (about == NULL || json_dumpf(about, stdout, JSON_COMPACT) < 0)
		return failure_set(failure, EXIT_STATUS_CONFIG, "its words are no UTF-8");
	putchar('\n');
	json_decref(about);
	return 0;
}

static void
tell(const struct queue_packet *packet)
{
	printf("%" PRIuPTR " %" PRIu64 " %d %d %d\n", (uintptr_t)packet->handle, packet->dequeue_ns,
	       !packet->dropped, packet->mark, packet->dropped ? packet->reason : 0);
}

static void
leave_until(struct traffic_manager *tm, uint64_t now_ns)
{
	struct queue_packet packet;

	while (traffic_manager_dequeue(tm, &packet, now_ns))
		tell(&packet);
}

/* Packets from the standard input, until its end; what was refused is told at once. */
static void
pass_all(struct traffic_manager *tm, size_t n_queues)
{
	uint64_t now_ns;
	uint32_t flow, bytes;
	unsigned int ecn;

	for (uintptr_t number = 0;
	     scanf("%" SCNu64 " %" SCNu32 " %" SCNu32 " %u", &now_ns, &flow, &bytes, &ecn) == 4;
	     number++) {
		struct queue_packet packet = {
			.handle = (void *)number,
			.bytes = bytes,
			.flow = flow,
			.queue = (uint8_t)(n_queues > 0 ? flow % n_queues : 0),
			.ecn = (uint8_t)ecn,
		};

		leave_until(tm, now_ns);
		if (!traffic_manager_enqueue(tm, &packet, 1, now_ns))
			tell(&packet);
	}
	leave_until(tm, UINT64_MAX - 1);
}

static int
pass(const struct lane_config *lane, struct failure *failure)
{
	struct traffic_manager tm;
	int error = traffic_manager_init(&tm, 1);

	if (error)
		return failure_set(failure, EXIT_STATUS_INTERNAL, "out of memory");
	error = traffic_manager_configure(&tm, 0, lane);
	if (error)
		failure_set(failure, EXIT_STATUS_CONFIG,
			    "does not begin: the rate, the limit, or its own init");
	else
		pass_all(&tm, lane->queues.n_queues);
	traffic_manager_free(&tm);
	return error;
}

static int
read_lane(const char *text, struct lane_config *lane, struct failure *failure)
{
	const struct json_place place = {.source = "bottleneck", .failure = failure};
	json_t *object = json_loads(text, 0, NULL);
	int error = json_fields_read(&place, object, lane_config_fields, lane);

	json_decref(object);
	return error ? error : lane_check(&place, lane);
}

static int
run(const char *command, const char *argument, struct failure *failure)
{
	static struct lane_config lane;

	if (strcmp(command, "describe") == 0)
		return describe(argument, failure);
	if (read_lane(argument, &lane, failure) < 0)
		return -1;
	return strcmp(command, "pass") == 0 ? pass(&lane, failure) : 0;
}

int
main(int argc, char **argv)
{
	struct failure failure = {0};

	if (argc != 3) {
		fputs(usage, stderr);
		return EXIT_STATUS_CONFIG;
	}
	if (run(argv[1], argv[2], &failure) == 0)
		return EXIT_STATUS_OK;
	fprintf(stderr, "%s\n", failure.text);
	return failure.status;
}
