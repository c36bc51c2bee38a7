/* SPDX-License-Identifier: Apache-2.0 */
/* The pure core with plain numbers as arguments, so that the model tests
 * (tests/model/core.py) need no layout of its structs.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/lane_json.h"
#include "core/collector.h"
#include "core/delay_line.h"
#include "core/disturbance.h"
#include "core/lateness.h"
#include "core/prng.h"
#include "core/return_queue.h"
#include "core/round_trips.h"
#include "core/traffic_manager.h"
#include "core/train.h"

uint64_t
shim_prng_next(uint64_t *state)
{
	return prng_next(state);
}

/* An object in memory of its own: how it begins, from a number, and ends. */
#define OWNED(kind, type, begin, end)                                                              \
	struct type *shim_##kind##_new(uint64_t number)                                            \
	{                                                                                          \
		struct type *made = calloc(1, sizeof(*made));                                      \
                                                                                                   \
		if (made != NULL)                                                                  \
			begin;                                                                     \
		return made;                                                                       \
	}                                                                                          \
                                                                                                   \
	void shim_##kind##_delete(struct type *made)                                               \
	{                                                                                          \
		end;                                                                               \
		free(made);                                                                        \
	}

OWNED(event_heap, event_heap, event_heap_init(made, (uint32_t)number), event_heap_free(made))
OWNED(delay_line, delay_line, delay_line_init(made, (uint32_t)number), delay_line_free(made))
OWNED(traffic_manager, traffic_manager, traffic_manager_init(made, (uint32_t)number),
      traffic_manager_free(made))
OWNED(returns, return_queues, return_queues_init(made, (uint32_t)number, 0),
      return_queues_free(made))
OWNED(train, train, (void)number, (void)made)
OWNED(lateness, lateness, (void)number, (void)made)
OWNED(round_trips, round_trips, round_trips_init(made), round_trips_free(made))
OWNED(disturbance, disturbance, disturbance_init(made, number), disturbance_clear(made))

void
shim_config_delete(struct lane_config *config)
{
	line_plan_free(&config->schedule);
	free(config);
}

/* As a data plane is told it; NULL with what is wrong. */
struct lane_config *
shim_config_new(const char *told, char problem[static sizeof(struct failure)])
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

uint64_t
shim_event_heap_next_ns(const struct event_heap *heap)
{
	return event_heap_next_ns(heap);
}

uint32_t
shim_event_heap_next_source(const struct event_heap *heap)
{
	return event_heap_next_source(heap);
}

int
shim_delay_line_configure(struct delay_line *line, uint32_t path, uint64_t delay_ns,
			  uint64_t jitter_ns, uint32_t loss_ppb, uint64_t seed)
{
	struct delay_settings settings = {
		.delay_ns = delay_ns,
		.jitter_ns = jitter_ns,
		.loss_ppb = loss_ppb,
		.seed = seed,
	};

	return delay_line_configure(line, path, &settings);
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

/* 1 taken, 0 lost. */
int
shim_delay_line_put(struct delay_line *line, uint32_t path, uint64_t packet, uint64_t arrival_ns,
		    uint64_t less_ns)
{
	return delay_line_put(line, path, (void *)(uintptr_t)packet, arrival_ns, less_ns) ==
	       DELAY_TAKEN;
}

/* 0 none is due, 1 a packet, 2 a stale one; packet, due_ns, path in out. */
int
shim_delay_line_get(struct delay_line *line, uint64_t now_ns, uint64_t out[3])
{
	struct delayed delayed;
	bool stale;

	if (!delay_line_get(line, now_ns, &delayed, &stale))
		return 0;
	out[0] = (uint64_t)(uintptr_t)delayed.handle;
	out[1] = delayed.due_ns;
	out[2] = delayed.path;
	return stale ? 2 : 1;
}

uint64_t
shim_delay_line_next_ns(const struct delay_line *line)
{
	return delay_line_next_event(line);
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

#define EXPORTED 10

static void
export_packet(const struct queue_packet *packet, uint64_t out[EXPORTED])
{
	out[0] = (uint64_t)(uintptr_t)packet->handle;
	out[1] = packet->lane;
	out[2] = packet->queue_bytes;
	out[3] = packet->enqueue_ns;
	out[4] = packet->dequeue_ns;
	out[5] = packet->mark;
	out[6] = packet->dropped;
	out[7] = packet->reason;
	out[8] = packet->queue;
	out[9] = packet->own_queue_bytes;
}

/* n packets of one flow as one, numbered from first_packet on. 1 taken, 0 dropped; packet, lane,
 * queue_bytes, enqueue_ns, dequeue_ns, mark, dropped, reason, queue, own_queue_bytes of each in
 * out.
 */
int
shim_traffic_manager_enqueue(struct traffic_manager *tm, uint32_t lane, uint64_t first_packet,
			     const uint32_t *bytes, uint32_t n, uint32_t flow, uint32_t ecn,
			     uint32_t queue, uint64_t now_ns, uint64_t (*out)[EXPORTED])
{
	struct queue_packet packets[TRAIN_PACKETS];
	bool taken;

	if (n > TRAIN_PACKETS)
		abort();
	for (uint32_t i = 0; i < n; i++)
		packets[i] = (struct queue_packet){
			.handle = (void *)(uintptr_t)(first_packet + i),
			.lane = (uint16_t)lane,
			.bytes = bytes[i],
			.flow = flow,
			.ecn = (uint8_t)ecn,
			.queue = (uint8_t)queue,
		};
	taken = traffic_manager_enqueue(tm, packets, n, now_ns);
	for (uint32_t i = 0; i < n; i++)
		export_packet(&packets[i], out[i]);
	return taken;
}

int
shim_traffic_manager_dequeue(struct traffic_manager *tm, uint64_t now_ns, uint64_t out[EXPORTED])
{
	struct queue_packet q;

	if (!traffic_manager_dequeue(tm, &q, now_ns))
		return 0;
	export_packet(&q, out);
	return 1;
}

int
shim_traffic_manager_discard(struct traffic_manager *tm, uint32_t lane)
{
	struct queue_packet q;

	return traffic_manager_discard(tm, lane, &q);
}

uint64_t
shim_traffic_manager_next_ns(const struct traffic_manager *tm)
{
	return traffic_manager_next_event(tm);
}

/* queue_bytes, queue_packets, peak_bytes, dropped_packets */
void
shim_traffic_manager_stats(const struct traffic_manager *tm, uint32_t lane, uint64_t out[4])
{
	struct lane_stats stats;

	traffic_manager_stats(tm, lane, &stats);
	out[0] = stats.queue_bytes;
	out[1] = stats.queue_packets;
	out[2] = stats.peak_bytes;
	out[3] = stats.dropped_packets;
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

void
shim_lateness_add(struct lateness *l, uint64_t ns)
{
	lateness_add(l, ns);
}

uint64_t
shim_lateness_percentile(const struct lateness *l, uint32_t per_mille)
{
	return lateness_percentile(l, per_mille);
}

void
shim_round_trips_sent(struct round_trips *r, uint32_t connection, uint32_t end, uint32_t bytes,
		      uint32_t is_first)
{
	const struct round_trip_data data = {
		.connection = connection, .end = end, .bytes = bytes, .is_first = is_first != 0};

	round_trips_sent(r, &data);
}

void
shim_round_trips_departed(struct round_trips *r, uint32_t connection, uint32_t end, uint32_t bytes,
			  uint64_t scheduled_ns, uint64_t departed_ns)
{
	const struct round_trip_data data = {.connection = connection, .end = end, .bytes = bytes};

	round_trips_departed(r, &data, scheduled_ns, departed_ns);
}

/* late_ns, whether there is a response, and it, in out; without a block block_end is ignored. */
void
shim_round_trips_cause(struct round_trips *r, uint32_t connection, uint32_t number,
		       uint32_t has_block, uint32_t block_end, uint32_t receiver_waits,
		       uint64_t arrival_ns, uint64_t out[3])
{
	const struct round_trip_ack ack = {.connection = connection,
					   .number = number,
					   .has_block = has_block != 0,
					   .block_end = block_end,
					   .receiver_waits = receiver_waits != 0};
	struct round_trip_cause cause = round_trips_cause(r, &ack, arrival_ns);

	out[0] = cause.late_ns;
	out[1] = cause.has_response;
	out[2] = cause.response_ns;
}

/* Bins together with what they emitted. */
struct shim_bins {
	struct bins *bins;
	struct bin_record *records;
	size_t n;
	size_t capacity;
};

static int
append_record(void *context, const struct bin_record *record)
{
	struct shim_bins *b = context;

	if (b->n == b->capacity) {
		size_t capacity = b->capacity ? 2 * b->capacity : 64;
		struct bin_record *records = realloc(b->records, capacity * sizeof(*records));

		if (records == NULL)
			return -ENOMEM;
		b->records = records;
		b->capacity = capacity;
	}
	b->records[b->n++] = *record;
	return 0;
}

struct shim_bins *
shim_bins_new(uint64_t bin_ns, uint64_t start_ns, uint32_t first_flow, uint32_t n_flows,
	      uint64_t overtaken_ns)
{
	struct shim_bins *b = calloc(1, sizeof(*b));

	if (b != NULL)
		b->bins = bins_create(bin_ns, start_ns, overtaken_ns, first_flow, n_flows);
	return b;
}

void
shim_bins_delete(struct shim_bins *b)
{
	bins_destroy(b->bins);
	free(b->records);
	free(b);
}

int
shim_bins_add(struct shim_bins *b, const uint8_t postcard[POSTCARD_BYTES])
{
	struct postcard p;

	postcard_decode(postcard, &p);
	return bins_add(b->bins, &p, append_record, b);
}

int
shim_bins_finish(struct shim_bins *b)
{
	return bins_finish(b->bins, append_record, b);
}

const struct bin_record *
shim_bins_records(const struct shim_bins *b, size_t *n)
{
	*n = b->n;
	return b->records;
}

struct collector *
shim_collector_open(const char *path, uint32_t mode, uint64_t bin_ns, uint64_t start_ns,
		    uint32_t first_flow, uint32_t n_flows)
{
	struct collector_config config = {
		.mode = (enum collector_mode)mode,
		.bin_ns = bin_ns,
		.start_ns = start_ns,
		.first_flow = first_flow,
		.n_flows = n_flows,
	};

	return collector_open(path, &config);
}

void
shim_collector_add(struct collector *c, const uint8_t *postcards, size_t n)
{
	for (size_t i = 0; i < n; i++)
		collector_add(c, postcards + i * POSTCARD_BYTES);
}

/* seen, written, gaps, error */
void
shim_collector_close(struct collector *c, uint64_t out[4])
{
	struct collector_stats stats = collector_close(c);

	out[0] = stats.seen;
	out[1] = stats.written;
	out[2] = stats.gaps;
	out[3] = (uint64_t)stats.error;
}

/* 1 taken, 0 dropped. */
int
shim_returns_put(struct return_queues *r, uint32_t lane, uint64_t packet, uint32_t bytes,
		 uint64_t now_ns)
{
	struct queue_packet q = {.handle = (void *)(uintptr_t)packet, .lane = lane, .bytes = bytes};

	return return_queues_put(r, &q, now_ns);
}

/* 1 and packet, departure, lane in out; 0 where none has left by now. */
int
shim_returns_get(struct return_queues *r, uint64_t now_ns, uint64_t out[3])
{
	struct queue_packet q;

	if (!return_queues_get(r, &q, now_ns))
		return 0;
	out[0] = (uint64_t)(uintptr_t)q.handle;
	out[1] = q.dequeue_ns;
	out[2] = q.lane;
	return 1;
}

int
shim_returns_write(struct return_queues *r, uint32_t lane, const char *path)
{
	struct record_log taken = return_queues_take_records(r, lane);
	int error = record_log_write(&taken, path);

	record_log_clear(&taken);
	return error;
}
