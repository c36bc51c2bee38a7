/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "signals.h"

static int
signal_arrived(struct watch *watch, uint32_t events, int64_t now_ns)
{
	struct signals *signals = container_of(watch, struct signals, watch);
	struct signalfd_siginfo info;

	(void)events;
	(void)now_ns;
	if (read(watch->fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		signals->loop->stop_signal = (int)info.ssi_signo;
	return 0;
}

int
signals_open(struct signals *signals, struct loop *loop)
{
	sigset_t set;

	signals->loop = loop;
	signals->watch.ready = signal_arrived;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	signal(SIGPIPE, SIG_IGN);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signals->watch.fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	if (signals->watch.fd < 0)
		return failure_set(loop->failure, EXIT_STATUS_HOST, "signalfd: %s",
				   strerror(errno));
	return loop_add(loop, &signals->watch, EPOLLIN);
}

void
signals_close(struct signals *signals)
{
	if (signals->watch.fd >= 0)
		close(signals->watch.fd);
	signals->watch.fd = -1;
}
