/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an iperf3 client and its server say on the control connection before a test, as iperf 3
 * does (https://github.com/esnet/iperf, src/iperf_api.h). Of it only this is here: how many
 * exchanges there are, in which order, and that the test begins when every stream is connected.
 *
 *   client connects, and sends a cookie
 *   server: PARAM_EXCHANGE       client: parameters, their length in front
 *   server: CREATE_STREAMS       client: connects its streams one after the other, a cookie on each
 *   server: TEST_START, TEST_RUNNING, once it has the cookie of every stream
 */
#ifndef FLOWS_IPERF3_H
#define FLOWS_IPERF3_H

#define IPERF3_COOKIE_BYTES 37
#define IPERF3_LENGTH_BYTES 4
#define IPERF3_PARAMETERS_MAX 256

enum iperf3_state {
	IPERF3_TEST_START = 1,
	IPERF3_TEST_RUNNING = 2,
	IPERF3_PARAM_EXCHANGE = 9,
	IPERF3_CREATE_STREAMS = 10,
};

/* The same for every process: flows are told apart by their addresses. */
#define IPERF3_COOKIE "nashbed-nashbed-nashbed-nashbed-nash"

#endif
