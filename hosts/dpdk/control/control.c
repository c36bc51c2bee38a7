/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
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

#define CLIENTS_MAX 8
/* Connections that wait to be accepted or refused. */
#define BACKLOG 64
#define LINE_BYTES_MAX (1u << 20)
#define ANSWER_TIMEOUT_S 5
#define NOBODY (-1)

struct client {
	int fd;
	size_t used;
	char *line;
};

struct control {
	struct commands *commands;
	char path[PATH_BYTES];
	int listener;
	struct client clients[CLIENTS_MAX];
	uint32_t n_clients;
	bool had_client;
	struct control_other other;
	int asking; /* the client whose request another answers, or NOBODY */
};

static void
drop_client(struct control *c, uint32_t index)
{
	if (c->clients[index].fd == c->asking)
		c->asking = NOBODY;
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
	c->had_client = true;
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

/* A request that is not a command's goes to whoever else answers requests, if there is one. */
static int
answer_line(struct control *c, struct client *client, const char *line, size_t bytes)
{
	if (c->other.take == NULL || commands_has(line, bytes))
		return send_answer(client->fd, commands_answer(c->commands, line, bytes));
	c->asking = client->fd;
	c->other.take(c->other.context, line, bytes);
	return 0;
}

static bool
has_line(const struct client *client)
{
	return memchr(client->line, '\n', client->used) != NULL;
}

/* Answer every complete line, until one of them is the other's; what is left remains. */
static int
answer_lines(struct control *c, struct client *client)
{
	char *start = client->line;
	size_t left = client->used;
	char *end;

	while (c->asking == NOBODY && (end = memchr(start, '\n', left)) != NULL) {
		if (answer_line(c, client, start, (size_t)(end - start)) < 0)
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
	if (client->used < LINE_BYTES_MAX || has_line(client))
		return 0;
	send_answer(client->fd, json_pack("{s:b, s:s}", "ok", 0, "error",
					  "a request is one line of at most 1 MiB"));
	return -1;
}

/* Lines that came together with one that the other was given, and has answered by now. */
static void
serve_left_over(struct control *c)
{
	for (uint32_t i = c->n_clients; i > 0 && c->asking == NOBODY; i--)
		if (has_line(&c->clients[i - 1]) && answer_lines(c, &c->clients[i - 1]) < 0)
			drop_client(c, i - 1);
}

void
control_serve(struct control *c, int timeout_ms)
{
	struct pollfd fds[CLIENTS_MAX + 1] = {{.fd = c->listener, .events = POLLIN}};
	uint32_t n;

	serve_left_over(c);
	if (c->asking != NOBODY)
		return;
	n = c->n_clients;
	for (uint32_t i = 0; i < n; i++)
		fds[i + 1] = (struct pollfd){.fd = c->clients[i].fd, .events = POLLIN};
	if (poll(fds, n + 1, timeout_ms) <= 0)
		return;
	/* From the last, for dropping moves the last one down. */
	for (uint32_t i = n; i > 0 && c->asking == NOBODY; i--)
		if (fds[i].revents && serve_client(c, &c->clients[i - 1]) < 0)
			drop_client(c, i - 1);
	if (fds[0].revents)
		accept_client(c);
}

bool
control_is_deserted(const struct control *c)
{
	return c->had_client && c->n_clients == 0;
}

void
control_answer(struct control *c, const char *text, size_t bytes)
{
	if (c->asking == NOBODY)
		return;
	/* One that does not read its answer is dropped when it is served next. */
	if (send_text(c->asking, text, bytes) < 0)
		shutdown(c->asking, SHUT_RDWR);
	if (bytes > 0 && text[bytes - 1] == '\n')
		c->asking = NOBODY;
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

struct control *
control_open(struct dataplane *dp, const struct control_other *other, struct failure *failure)
{
	struct control *c = calloc(1, sizeof(*c));

	if (c == NULL || (c->commands = commands_create(dp)) == NULL) {
		failure_set(failure, EXIT_STATUS_HOST, "control: out of memory");
		free(c);
		return NULL;
	}
	c->asking = NOBODY;
	if (other != NULL)
		c->other = *other;
	memcpy(c->path, dp->config.control_socket, sizeof(c->path));
	c->listener = listen_at(c->path);
	if (c->listener >= 0)
		return c;
	failure_set(failure, EXIT_STATUS_HOST,
		    "control_socket %s: %s; remove it or name another path", c->path,
		    strerror(-c->listener));
	commands_destroy(c->commands);
	free(c);
	return NULL;
}

void
control_close(struct control *c)
{
	while (c->n_clients > 0)
		drop_client(c, 0);
	close(c->listener);
	unlink(c->path);
	commands_destroy(c->commands);
	free(c);
}
