/* SPDX-License-Identifier: Apache-2.0 */
/* What the model tests (tests/model/core.py) need besides the core's own functions: objects in
 * memory of their own, settings as a data plane is told them, and what stands inline in headers.
 */
#include <errno.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

/* The functions that stand in headers are called from outside, too. */
#define static
#define inline
#include "core/collector.h"
#include "core/delay_line.h"
#include "core/disturbance.h"
#include "core/lateness.h"
#include "core/prng.h"
#include "core/return_queue.h"
#include "core/round_trips.h"
#include "core/traffic_manager.h"
#include "core/train.h"
#undef static
#undef inline

#include "config/lane_json.h"

/* An object in memory of its own: how it begins, from a number, and ends. */
#define OWNED(type, begin, end)                                                                    \
	struct type *shim_##type##_new(uint64_t number)                                            \
	{                                                                                          \
		struct type *made = calloc(1, sizeof(*made));                                      \
                                                                                                   \
		if (made != NULL)                                                                  \
			begin;                                                                     \
		return made;                                                                       \
	}                                                                                          \
                                                                                                   \
	void shim_##type##_delete(struct type *made)                                               \
	{                                                                                          \
		end;                                                                               \
		free(made);                                                                        \
	}

OWNED(event_heap, event_heap_init(made, (uint32_t)number), event_heap_free(made))
OWNED(delay_line, delay_line_init(made, (uint32_t)number), delay_line_free(made))
OWNED(traffic_manager, traffic_manager_init(made, (uint32_t)number), traffic_manager_free(made))
OWNED(return_queues, return_queues_init(made, (uint32_t)number, 0), return_queues_free(made))
OWNED(train, (void)number, (void)made)
OWNED(lateness, (void)number, (void)made)
OWNED(round_trips, round_trips_init(made), round_trips_free(made))
OWNED(disturbance, disturbance_init(made, number), disturbance_clear(made))

void
shim_config_delete(struct lane_config *config)
{
	line_plan_free(&config->schedule);
	free(config);
}

/* As a data plane is told it; NULL with what is wrong, in as many bytes as a struct failure has. */
struct lane_config *
shim_config_new(const char *told, char *problem)
{
	struct lane_config *made = calloc(1, sizeof(*made));
	struct failure failure = {0};
	const struct json_place place = {.source = "lane", .failure = &failure};
	json_t *object = json_loads(told, 0, NULL);
	bool is_read = json_fields_read(&place, object, lane_config_fields, made) == 0 &&
		       lane_check(&place, made) == 0;

	json_decref(object);
	if (is_read)
		return made;
	shim_config_delete(made);
	strcpy(problem, failure.text);
	return NULL;
}

/* What was left out is computed; 0 or a negative errno. */
int
shim_config_write(const struct lane_config *config, const char *path)
{
	json_t *object = json_fields_write(lane_config_fields, config);
	int error = json_dump_file(object, path, 0);

	json_decref(object);
	return error;
}

/* The settings as a data plane is told them, in JSON. */
int
shim_delay_line_impair(struct delay_line *line, uint32_t path, const char *told)
{
	struct impairment_settings settings = {0};
	struct failure failure = {0};
	const struct json_place place = {.source = "impair", .failure = &failure};
	json_t *object = json_loads(told, 0, NULL);
	int error = json_fields_read(&place, object, impairment_settings_fields, &settings);

	json_decref(object);
	if (error == 0)
		error = delay_line_impair(line, path, &settings);
	free(settings.changes);
	free(settings.jitter.points_ns);
	return error;
}

uint64_t
shim_delay_line_lost(const struct delay_line *line, uint32_t path)
{
	return line->paths[path].lost_packets;
}

uint64_t
shim_delay_line_waiting(const struct delay_line *line, uint32_t path)
{
	return line->paths[path].waiting_packets;
}

void
shim_traffic_manager_begin(struct traffic_manager *tm, uint32_t lane, uint64_t t0_ns)
{
	traffic_lane_begin(&tm->lanes[lane], t0_ns);
}

/* 1: the packet is the next of the train, which it was added to; 0: another train begins. */
int
shim_train_add(struct train *train, uint32_t lane, uint32_t bytes, uint32_t flow, uint32_t seq,
	       uint32_t payload_bytes, uint32_t tcp_flags, uint64_t now_ns)
{
	struct queue_packet packet = {.lane = (uint16_t)lane, .bytes = bytes};
	struct segment segment = {
		.flow = flow,
		.seq = seq,
		.payload_bytes = payload_bytes,
		.tcp_flags = (uint8_t)tcp_flags,
	};
	bool continues = train_continues(train, &packet, &segment, now_ns);

	if (!continues)
		train->n = 0;
	train_add(train, &packet, &segment, now_ns);
	return continues;
}

int
shim_return_queues_write(struct return_queues *r, uint32_t lane, const char *path)
{
	struct record_log taken = return_queues_take_records(r, lane);
	int error = record_log_write(&taken, path);

	record_log_clear(&taken);
	return error;
}
