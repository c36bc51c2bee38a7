/* SPDX-License-Identifier: Apache-2.0 */
#include "control.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "commands.h"
#include "live/threads.h"

#define CLIENTS_MAX 8
/* Connections that wait to be accepted or refused. */
#define BACKLOG 64
#define LINE_BYTES_MAX (1u << 20)
#define STOP_CHECK_MS 100
#define ANSWER_TIMEOUT_S 5

struct client {
	int fd;
	size_t used;
	char *line;
};

struct control {
	struct dataplane *dp;
	struct commands *commands;
	char path[PATH_BYTES];
	int listener;
	struct client clients[CLIENTS_MAX];
	uint32_t n_clients;
	pthread_t thread;
};

static void
drop_client(struct control *c, uint32_t index)
{
	close(c->clients[index].fd);
	free(c->clients[index].line);
	c->clients[index] = c->clients[--c->n_clients];
}

static void
accept_client(struct control *c)
{
	struct timeval timeout = {.tv_sec = ANSWER_TIMEOUT_S};
	int fd = accept4(c->listener, NULL, NULL, SOCK_CLOEXEC);
	char *line;

	if (fd < 0)
		return;
	line = c->n_clients < CLIENTS_MAX ? malloc(LINE_BYTES_MAX) : NULL;
	if (line == NULL) {
		close(fd);
		return;
	}
	/* A client that never reads its answers must not hold up the others. */
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
	c->clients[c->n_clients++] = (struct client){.fd = fd, .line = line};
}

static int
send_text(int fd, const char *text, size_t bytes)
{
	while (bytes > 0) {
		ssize_t n = send(fd, text, bytes, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		text += n;
		bytes -= (size_t)n;
	}
	return 0;
}

static int
send_answer(int fd, json_t *answer)
{
	char *text = answer ? json_dumps(answer, JSON_COMPACT) : NULL;
	int error = -1;

	if (text != NULL && send_text(fd, text, strlen(text)) == 0)
		error = send_text(fd, "\n", 1);
	free(text);
	json_decref(answer);
	return error;
}

/* Answer every complete line; the beginning of the next one remains. */
static int
answer_lines(struct control *c, struct client *client)
{
	char *start = client->line;
	size_t left = client->used;
	char *end;

	while ((end = memchr(start, '\n', left)) != NULL) {
		json_t *answer = commands_answer(c->commands, start, (size_t)(end - start));

		if (send_answer(client->fd, answer) < 0)
			return -1;
		left -= (size_t)(end + 1 - start);
		start = end + 1;
	}
	memmove(client->line, start, left);
	client->used = left;
	return 0;
}

/* Less than 0: the client is to be dropped. */
static int
serve_client(struct control *c, struct client *client)
{
	ssize_t n = recv(client->fd, client->line + client->used, LINE_BYTES_MAX - client->used, 0);

	if (n < 0 && errno == EINTR)
		return 0;
	if (n <= 0)
		return -1;
	client->used += (size_t)n;
	if (answer_lines(c, client) < 0)
		return -1;
	if (client->used < LINE_BYTES_MAX)
		return 0;
	send_answer(client->fd, json_pack("{s:b, s:s}", "ok", 0, "error",
					  "a request is one line of at most 1 MiB"));
	return -1;
}

static void
serve_all(struct control *c)
{
	struct pollfd fds[CLIENTS_MAX + 1] = {{.fd = c->listener, .events = POLLIN}};
	uint32_t n = c->n_clients;

	for (uint32_t i = 0; i < n; i++)
		fds[i + 1] = (struct pollfd){.fd = c->clients[i].fd, .events = POLLIN};
	if (poll(fds, n + 1, STOP_CHECK_MS) <= 0)
		return;
	/* From the last, for dropping moves the last one down. */
	for (uint32_t i = n; i > 0; i--)
		if (fds[i].revents && serve_client(c, &c->clients[i - 1]) < 0)
			drop_client(c, i - 1);
	if (fds[0].revents)
		accept_client(c);
}

static void *
control_main(void *argument)
{
	struct control *c = argument;

	while (!atomic_load(&c->dp->stop))
		serve_all(c);
	while (c->n_clients > 0)
		drop_client(c, 0);
	return NULL;
}

static int
listen_at(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd, error;

	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	strcpy(address.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0 && chmod(path, 0600) == 0 &&
	    listen(fd, BACKLOG) == 0)
		return fd;
	error = -errno;
	close(fd);
	return error;
}

static void
free_control(struct control *c)
{
	if (c->commands != NULL)
		commands_destroy(c->commands);
	free(c);
}

/* Every step undoes itself where a later one fails. */
static int
open_control(struct control *c, struct failure *failure)
{
	c->listener = listen_at(c->path);
	if (c->listener < 0)
		return failure_set(failure, EXIT_STATUS_HOST,
				   "control_socket %s: %s; remove it or name another path", c->path,
				   strerror(-c->listener));
	if (thread_start(&c->thread, "control", c->dp->config.service_core, control_main, c) == 0)
		return 0;
	close(c->listener);
	unlink(c->path);
	return failure_set(failure, EXIT_STATUS_HOST, "control: cannot start a thread");
}

struct control *
control_start(struct dataplane *dp, struct failure *failure)
{
	struct control *c = calloc(1, sizeof(*c));

	if (c == NULL || (c->commands = commands_create(dp)) == NULL) {
		failure_set(failure, EXIT_STATUS_HOST, "control: out of memory");
		free(c);
		return NULL;
	}
	c->dp = dp;
	memcpy(c->path, dp->config.control_socket, sizeof(c->path));
	if (open_control(c, failure) == 0)
		return c;
	free_control(c);
	return NULL;
}

void
control_join(struct control *c)
{
	while (pthread_tryjoin_np(c->thread, NULL) == EBUSY) {
		mailbox_serve(&c->dp->mailbox, c->dp);
		usleep(1000);
	}
	close(c->listener);
	unlink(c->path);
	free_control(c);
}
