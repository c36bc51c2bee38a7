/* SPDX-License-Identifier: Apache-2.0 */
#include "session.h"

int
session_open(struct session *session, const struct config *config, struct failure *failure)
{
	*session = (struct session){.config = config, .failure = failure, .signals.watch.fd = -1};
	if (loop_open(&session->loop, failure) < 0 ||
	    signals_open(&session->signals, &session->loop) < 0 ||
	    orders_open(&session->orders, config, &session->loop) < 0) {
		session_close(session);
		return -1;
	}
	return 0;
}

void
session_close(struct session *session)
{
	signals_close(&session->signals);
	loop_close(&session->loop);
}

int
session_exit_status(const struct session *session)
{
	int signal_number = session->loop.stop_signal;

	return signal_number == 0 ? EXIT_STATUS_OK : EXIT_STATUS_SIGNAL_BASE + signal_number;
}
