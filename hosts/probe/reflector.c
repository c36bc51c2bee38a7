/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/record_file.h"
#include "datagrams.h"
#include "roles.h"

/* Between two looks at the sockets, to meet many datagrams at once. The time that an echo waits
 * is between its two time stamps.
 */
#define REST_NS (500 * MICROSECOND_NS)

struct reflector {
	const struct config *config;
	struct failure *failure;
	struct record_file out;
	/* The sockets, and standard input: anything on it, or its end, ends the program. */
	struct pollfd fds[MAX_SOCKETS + 1];
	uint64_t count;
	uint64_t echoes;
};

static bool
wants_echo(const struct datagram *datagram)
{
	return datagram->message.mark == MESSAGE_MARK &&
	       (datagram->message.flags & PROBE_ECHO) != 0 &&
	       datagram->bytes >= sizeof(struct message);
}

/* An echo that is lost shows as a probe without a return. */
static void
reflect(struct reflector *r, const struct datagram *datagram)
{
	struct message echo = datagram->message;

	echo.reflected_ns = datagram->received_ns;
	echo.returned_ns = clock_now_ns();
	if (sendto(r->fds[datagram->socket].fd, &echo, sizeof(echo), 0,
		   (const struct sockaddr *)&datagram->source,
		   sizeof(datagram->source)) == (ssize_t)sizeof(echo))
		r->echoes++;
}

static int
take(void *owner, const struct datagram *datagram)
{
	struct reflector *r = owner;
	bool ours = datagram->message.mark == MESSAGE_MARK;
	struct seen seen = {
		.received_ns = datagram->received_ns,
		.sequence = ours ? datagram->message.sequence : UNNUMBERED,
		.source_port = ntohs(datagram->source.sin_port),
		.socket = (uint16_t)datagram->socket,
		.frame_bytes = (uint16_t)(datagram->bytes + HEADER_BYTES),
	};

	if (wants_echo(datagram))
		reflect(r, datagram);
	r->count++;
	return record_file_append(&r->out, &seen, sizeof(seen), r->failure);
}

static int
open_all(struct reflector *r)
{
	size_t count = r->config->socket_count;

	for (size_t i = 0; i < count; i++) {
		r->fds[i] = (struct pollfd){
			.fd = datagrams_open(&r->config->sockets[i], r->failure),
			.events = POLLIN,
		};
		if (r->fds[i].fd < 0)
			return -1;
	}
	r->fds[count] = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
	return record_file_open(&r->out, r->config->out, SEEN_FILE, r->failure);
}

static int
drain_ready(struct reflector *r)
{
	for (size_t i = 0; i < r->config->socket_count; i++)
		if (r->fds[i].revents != 0 &&
		    datagrams_drain(r->fds[i].fd, i, take, r, r->failure) < 0)
			return -1;
	return 0;
}

/* Datagrams that are in the sockets at the end still count. */
static int
serve(struct reflector *r)
{
	size_t count = r->config->socket_count;

	do {
		poll(r->fds, (nfds_t)count + 1, -1);
		nanosleep(&(struct timespec){.tv_nsec = REST_NS}, NULL);
		if (drain_ready(r) < 0)
			return -1;
	} while (r->fds[count].revents == 0);
	for (size_t i = 0; i < count; i++)
		r->fds[i].revents = POLLIN;
	return drain_ready(r);
}

int
reflector_run(const struct config *config, struct failure *failure)
{
	struct reflector r = {.config = config, .failure = failure, .out = RECORD_FILE_CLOSED};
	int result = open_all(&r);

	if (result == 0) {
		printf("{\"event\":\"listening\"}\n");
		fflush(stdout);
		result = serve(&r);
	}
	if (record_file_close(&r.out, failure) < 0)
		result = -1;
	if (result == 0)
		printf("{\"event\":\"done\",\"received\":%llu,\"echoes\":%llu}\n",
		       (unsigned long long)r.count, (unsigned long long)r.echoes);
	return result;
}
