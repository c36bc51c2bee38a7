/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/record_file.h"
#include "datagrams.h"
#include "roles.h"

/* Frames that one call sends at most. */
#define BATCH 32u
/* A wait is at least this long: a fast schedule is sent some frames at a time. */
#define REST_NS (100 * MICROSECOND_NS)

struct prober {
	const struct config *config;
	struct failure *failure;
	struct pollfd fds[MAX_SOCKETS];
	struct scheduled *schedule;
	struct probed *probed;
	size_t count;
	size_t next;
	int64_t start_ns;
	int64_t latest_ns; /* how late the latest frame was sent */
};

static int
check_schedule(struct prober *p)
{
	for (size_t i = 0; i < p->count; i++) {
		const struct scheduled *s = &p->schedule[i];
		uint32_t least = s->flags & PROBE_ECHO ? LEAST_ECHO_BYTES : FRAME_BYTES_MIN;

		if (s->socket >= p->config->socket_count || s->frame_bytes < least ||
		    s->frame_bytes > FRAME_BYTES_MAX || s->at_ns < 0 ||
		    (i > 0 && s->at_ns < s[-1].at_ns))
			return failure_set(p->failure, EXIT_STATUS_CONFIG,
					   "%s: record %zu: socket 0 to %zu, frame %u to %u bytes, "
					   "times must not go back",
					   p->config->schedule, i, p->config->socket_count - 1,
					   least, FRAME_BYTES_MAX);
	}
	return 0;
}

static int
load_schedule(struct prober *p)
{
	const char *path = p->config->schedule;
	FILE *file = fopen(path, "rb");
	struct stat status;
	int result = -1;

	if (file == NULL || fstat(fileno(file), &status) < 0) {
		failure_set(p->failure, EXIT_STATUS_CONFIG, "%s: %s", path, strerror(errno));
	} else if (status.st_size == 0 || status.st_size % (off_t)sizeof(*p->schedule) != 0) {
		failure_set(p->failure, EXIT_STATUS_CONFIG, "%s: %lld bytes are no schedule", path,
			    (long long)status.st_size);
	} else {
		p->count = (size_t)status.st_size / sizeof(*p->schedule);
		p->schedule = calloc(p->count, sizeof(*p->schedule));
		p->probed = calloc(p->count, sizeof(*p->probed));
		if (p->schedule == NULL || p->probed == NULL ||
		    fread(p->schedule, sizeof(*p->schedule), p->count, file) != p->count)
			failure_set(p->failure, EXIT_STATUS_HOST, "%s: cannot be read", path);
		else
			result = check_schedule(p);
	}
	if (file != NULL)
		fclose(file);
	return result;
}

static int
open_sockets(struct prober *p)
{
	for (size_t i = 0; i < p->config->socket_count; i++) {
		p->fds[i] = (struct pollfd){
			.fd = datagrams_open(&p->config->sockets[i], p->failure),
			.events = POLLIN,
		};
		if (p->fds[i].fd < 0)
			return -1;
	}
	return 0;
}

/* "ready", then a line on standard input is the order to start. */
static int
await_start(struct prober *p)
{
	char order[16];

	printf("{\"event\":\"ready\"}\n");
	fflush(stdout);
	if (read(STDIN_FILENO, order, sizeof(order)) <= 0)
		return failure_set(p->failure, EXIT_STATUS_HOST, "no order to start");
	p->start_ns = clock_now_ns() + MILLISECOND_NS;
	return 0;
}

static int
take_echo(void *owner, const struct datagram *datagram)
{
	struct prober *p = owner;
	const struct message *echo = &datagram->message;
	struct probed *probed;

	if (echo->mark != MESSAGE_MARK || echo->sequence >= p->count)
		return 0;
	probed = &p->probed[echo->sequence];
	probed->reflected_ns = echo->reflected_ns;
	probed->returned_ns = echo->returned_ns;
	probed->received_ns = datagram->received_ns;
	return 0;
}

static int
take_echoes(struct prober *p, int64_t wait_ns)
{
	struct timespec wait = {wait_ns / SECOND_NS, wait_ns % SECOND_NS};

	if (ppoll(p->fds, (nfds_t)p->config->socket_count, &wait, NULL) <= 0)
		return 0;
	for (size_t i = 0; i < p->config->socket_count; i++)
		if (p->fds[i].revents != 0 &&
		    datagrams_drain(p->fds[i].fd, i, take_echo, p, p->failure) < 0)
			return -1;
	return 0;
}

static void
note_sent(struct prober *p, size_t number, int64_t now_ns)
{
	int64_t late_ns = now_ns - (p->start_ns + p->schedule[number].at_ns);

	p->probed[number].sent_ns = now_ns;
	if (late_ns > p->latest_ns)
		p->latest_ns = late_ns;
}

/* Frames that are due, on one socket, so that one call sends them all. A frame that comes back
 * goes alone: its time of sending is to be its own.
 */
static size_t
due_together(const struct prober *p, int64_t now_ns)
{
	const struct scheduled *first = &p->schedule[p->next];
	size_t n = 1;

	if (first->flags & PROBE_ECHO)
		return n;
	while (n < BATCH && p->next + n < p->count && first[n].socket == first->socket &&
	       !(first[n].flags & PROBE_ECHO) && p->start_ns + first[n].at_ns <= now_ns)
		n++;
	return n;
}

static int
send_all(struct prober *p, int fd, struct mmsghdr *headers, size_t count)
{
	size_t done = 0;
	int sent;

	while (done < count) {
		sent = sendmmsg(fd, headers + done, (unsigned int)(count - done), 0);
		/* What an earlier frame met (its port was closed) is reported by the next call. */
		if (sent < 0 && errno != ECONNREFUSED && errno != EINTR)
			return failure_set(p->failure, EXIT_STATUS_HOST, "send: %s",
					   strerror(errno));
		if (sent > 0)
			done += (size_t)sent;
	}
	return 0;
}

static int
send_due(struct prober *p, int64_t now_ns)
{
	static uint8_t frames[BATCH][FRAME_BYTES_MAX];
	struct mmsghdr headers[BATCH] = {0};
	struct iovec parts[BATCH];
	size_t n = due_together(p, now_ns);
	int fd = p->fds[p->schedule[p->next].socket].fd;

	for (size_t i = 0; i < n; i++, p->next++) {
		const struct scheduled *s = &p->schedule[p->next];
		size_t bytes = s->frame_bytes - HEADER_BYTES;
		struct message message = {
			.mark = MESSAGE_MARK,
			.sequence = (uint32_t)p->next,
			.flags = s->flags,
		};

		memcpy(frames[i], &message,
		       bytes < sizeof(message) ? NUMBER_BYTES : sizeof(message));
		parts[i] = (struct iovec){frames[i], bytes};
		headers[i].msg_hdr = (struct msghdr){.msg_iov = &parts[i], .msg_iovlen = 1};
		note_sent(p, p->next, clock_now_ns());
	}
	return send_all(p, fd, headers, n);
}

static int
run(struct prober *p)
{
	int64_t end_ns = p->start_ns + p->schedule[p->count - 1].at_ns + p->config->linger_ns;
	int64_t now_ns;
	int result = 0;

	while (result == 0 && p->next < p->count) {
		int64_t due_ns = p->start_ns + p->schedule[p->next].at_ns;

		now_ns = clock_now_ns();
		if (due_ns <= now_ns)
			result = send_due(p, now_ns);
		else if (due_ns - now_ns < REST_NS)
			result = take_echoes(p, REST_NS);
		else
			result = take_echoes(p, due_ns - now_ns);
	}
	while (result == 0 && (now_ns = clock_now_ns()) < end_ns)
		result = take_echoes(p, end_ns - now_ns);
	return result;
}

static int
write_out(struct prober *p)
{
	struct record_file out;
	int result = record_file_open(&out, p->config->out, PROBED_FILE, p->failure);

	for (size_t i = 0; result == 0 && i < p->count; i++)
		result = record_file_append(&out, &p->probed[i], sizeof(p->probed[i]), p->failure);
	if (record_file_close(&out, p->failure) < 0)
		result = -1;
	return result;
}

static int
probe(struct prober *p)
{
	/* The default slack of 50 us would be every frame's lateness. */
	prctl(PR_SET_TIMERSLACK, 1);
	if (load_schedule(p) < 0 || open_sockets(p) < 0 || await_start(p) < 0 || run(p) < 0 ||
	    write_out(p) < 0)
		return -1;
	printf("{\"event\":\"done\",\"sent\":%zu,\"latest_ns\":%lld}\n", p->next,
	       (long long)p->latest_ns);
	return 0;
}

int
prober_run(const struct config *config, struct failure *failure)
{
	struct prober p = {.config = config, .failure = failure};
	int result = probe(&p);

	free(p.schedule);
	free(p.probed);
	return result;
}
