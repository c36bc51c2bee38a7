/* SPDX-License-Identifier: Apache-2.0 */
#include "sender_applications.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "common/clock.h"
#include "tcp_socket.h"

/* At most so many are served before events of others are. */
#define STEPS 16

/* A constant rate is written this often, or as often as it makes a full segment of it. */
#define WRITE_INTERVAL_NS (10 * MILLISECOND_NS)
#define SEGMENT_BYTES 1448

static int
open_files(struct applications *all, const struct config *config, struct failure *failure)
{
	if (config_has(config, KIND_VIDEO) &&
	    record_file_open(&all->segments, config->out, SEGMENTS_FILE, failure) < 0)
		return -1;
	return config_has(config, KIND_UDP) ?
		       record_file_open(&all->datagrams, config->out, SENT_FILE, failure) :
		       0;
}

int
applications_open(struct applications *all, struct sender_flows *flows)
{
	const struct config *config = flows->session.config;

	*all = APPLICATIONS_CLOSED;
	all->flows = flows;
	all->list = calloc(flows->count, sizeof(*all->list));
	if (all->list == NULL || event_heap_init(&all->due, (uint32_t)flows->count) < 0)
		return failure_set(flows->session.failure, EXIT_STATUS_HOST, "out of memory");
	for (size_t i = 0; i < flows->count; i++) {
		struct sender_flow *flow = &flows->flows[i];
		struct application_flow *app = &all->list[all->count];

		if (flow->application == NULL)
			continue;
		*app = (struct application_flow){.all = all, .flow = flow, .number = all->count++};
		flow->user = app;
	}
	return open_files(all, config, flows->session.failure);
}

void
applications_close(struct applications *all)
{
	struct failure ignored = {0};

	record_file_close(&all->segments, &ignored);
	record_file_close(&all->datagrams, &ignored);
	event_heap_free(&all->due);
	free(all->list);
	all->list = NULL;
}

void
application_call_at(struct application_flow *app, int64_t at_ns)
{
	event_heap_set(&app->all->due, (uint32_t)app->number, (uint64_t)at_ns);
}

int
application_supply(struct application_flow *app, int64_t now_ns)
{
	struct sender_flow *flow = app->flow;

	while (app->owed_bytes > 0) {
		size_t bytes = app->owed_bytes < WRITE_BYTES ? app->owed_bytes : WRITE_BYTES;
		ssize_t n =
			send(flow->watch.fd, sender_flow_zeros, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return sender_flow_lose(flow, errno, now_ns) < 0 ? -1 : 0;
		if (n < 0)
			return 0;
		app->owed_bytes -= (uint64_t)n;
	}
	return 1;
}

static int
watch_room(struct application_flow *app, bool is_wanted)
{
	struct sender_flow *flow = app->flow;

	if (flow->state != FLOW_RUNNING)
		return 0;
	return loop_change(&flow->all->session.loop, &flow->watch,
			   EPOLLRDHUP | (is_wanted ? EPOLLOUT : 0));
}

static int
rate_write(struct application_flow *app, int64_t now_ns)
{
	int done = application_supply(app, now_ns);

	return done < 0 ? -1 : watch_room(app, done == 0);
}

static int
rate_ready(struct watch *watch, uint32_t events, int64_t now_ns)
{
	struct sender_flow *flow = container_of(watch, struct sender_flow, watch);

	if ((events & (EPOLLERR | EPOLLHUP | EPOLLRDHUP)) != 0)
		return sender_flow_lose(flow, tcp_socket_error(watch->fd), now_ns);
	return rate_write(flow->user, now_ns);
}

static int64_t
rate_interval_ns(const struct application *application)
{
	int64_t segment_ns =
		(int64_t)(SEGMENT_BYTES * 8 * (uint64_t)SECOND_NS / application->rate_bps);

	return segment_ns > WRITE_INTERVAL_NS ? segment_ns : WRITE_INTERVAL_NS;
}

/* What the socket does not take waits here: the application produces it in any case. */
static int
rate_due(struct application_flow *app, int64_t now_ns)
{
	const struct application *application = app->flow->application;
	int64_t interval_ns = rate_interval_ns(application);
	uint64_t before = application_bytes(application->rate_bps, app->steps, interval_ns);

	app->steps++;
	app->owed_bytes +=
		application_bytes(application->rate_bps, app->steps, interval_ns) - before;
	application_call_at(app, app->start_ns + (int64_t)app->steps * interval_ns);
	return rate_write(app, now_ns);
}

/* Even steps switch on, odd ones off. */
static int
on_off_due(struct application_flow *app, int64_t now_ns)
{
	const struct application *application = app->flow->application;
	int64_t cycle_ns = application->on_ns + application->off_ns;
	bool goes_on = app->steps % 2 == 0;
	int64_t cycle_start_ns = app->start_ns + (int64_t)(app->steps / 2) * cycle_ns;

	app->steps++;
	application_call_at(app, cycle_start_ns + (goes_on ? application->on_ns : cycle_ns));
	return goes_on ? sender_flow_send_bulk(app->flow, now_ns) :
			 sender_flow_pause_bulk(app->flow);
}

static int
start_rate(struct application_flow *app, int64_t now_ns)
{
	tcp_socket_send_at_once(app->flow->watch.fd);
	return sender_flow_begin(app->flow, rate_ready) < 0 ? -1 : rate_due(app, now_ns);
}

static int
start_on_off(struct application_flow *app, int64_t now_ns)
{
	return sender_flow_begin(app->flow, NULL) < 0 ? -1 : on_off_due(app, now_ns);
}

static int
start_media(struct application_flow *app, int64_t now_ns)
{
	app->pacing = (struct pacing){app->flow->application, app->start_ns, 0, 0};
	return sender_flow_begin(app->flow, NULL) < 0 ? -1 : media_due(app, now_ns);
}

int
applications_start(struct applications *all, struct sender_flow *flow, int64_t now_ns)
{
	static int (*const starts[])(struct application_flow * app, int64_t now_ns) = {
		[KIND_RATE] = start_rate,
		[KIND_ON_OFF] = start_on_off,
		[KIND_VIDEO] = video_start,
		[KIND_UDP] = start_media,
	};
	struct application_flow *app = flow->user;

	app->start_ns = all->flows->session.t0_ns + flow->config->start_ns;
	return starts[flow->application->kind](app, now_ns);
}

int64_t
applications_next_ns(const struct applications *all)
{
	uint64_t next_ns = event_heap_next_ns(&all->due);

	return next_ns == EVENT_NEVER ? NEVER : (int64_t)next_ns;
}

int
applications_due(struct applications *all, int64_t now_ns)
{
	static int (*const dues[])(struct application_flow * app, int64_t now_ns) = {
		[KIND_RATE] = rate_due,
		[KIND_ON_OFF] = on_off_due,
		[KIND_VIDEO] = video_due,
		[KIND_UDP] = media_due,
	};

	for (int step = 0; step < STEPS && applications_next_ns(all) <= now_ns; step++) {
		struct application_flow *app = &all->list[event_heap_next_source(&all->due)];

		event_heap_set(&all->due, (uint32_t)app->number, EVENT_NEVER);
		if (app->flow->state == FLOW_RUNNING &&
		    dues[app->flow->application->kind](app, now_ns) < 0)
			return -1;
	}
	return 0;
}

int
applications_finish(struct applications *all)
{
	struct failure *failure = all->flows->session.failure;

	for (size_t i = 0; i < all->count; i++)
		if (video_finish(&all->list[i]) < 0)
			return -1;
	return record_file_close(&all->segments, failure) < 0 ||
			       record_file_close(&all->datagrams, failure) < 0 ?
		       -1 :
		       0;
}
