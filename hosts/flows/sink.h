/* SPDX-License-Identifier: Apache-2.0 */
/* The sink's role. One thread does everything, so nothing here is shared. */
#ifndef FLOWS_SINK_H
#define FLOWS_SINK_H

#include "common/record_file.h"
#include "flow_index.h"
#include "grid.h"
#include "iperf3.h"
#include "served.h"
#include "session.h"

struct sink;

struct listener {
	struct watch watch;
	struct sink *sink;
	struct sockaddr_in address;
	bool grants_ecn; /* to whoever asks */
	bool has_data;	 /* its connections come with their first data: all are transfers */
};

/* Where the datagrams of flows arrive. */
struct datagram_sink {
	struct watch watch;
	struct sink *sink;
};

enum sink_flow_end {
	NEVER_CONNECTED,
	STILL_OPEN,
	CLOSED_BY_RESET,
	CLOSED_BY_FIN,
	CLOSED_BY_ERROR,
	CLOSED_BY_US, /* at the deadline or on a signal */
};

/* What an iperf3 server waits for; it counts the cookies of its streams meanwhile. */
enum server_step {
	SERVER_AWAITS_COOKIE,
	SERVER_AWAITS_PARAMETERS,
	SERVER_AWAITS_STREAMS,
	SERVER_RUNS,
};

/* The server of an iperf3 process, on its control connection. */
struct server {
	struct watch watch;
	struct sink *sink;
	const struct control_config *control;
	enum server_step step;
	unsigned char message[IPERF3_LENGTH_BYTES + IPERF3_PARAMETERS_MAX];
	size_t used;
	size_t stream_count;
	size_t cookies; /* streams that are connected and have sent theirs */
};

struct sink_flow {
	struct watch watch;
	struct sink *sink;
	const struct flow_config *config;
	enum sink_flow_end end;
	int error;
	bool owes_cookie;	 /* the first bytes of an iperf3 stream are no data of the test */
	uint64_t interval_bytes; /* read since the last interval was closed */
	bool served;		 /* by the guest's kernel */
	uint64_t served_bytes;	 /* of them, taken into account here */
	uint64_t bytes;
	int64_t first_byte_ns; /* CLOCK_MONOTONIC; 0: none */
	int64_t last_byte_ns;
};

struct sink {
	struct session session;
	struct flow_index by_source;
	struct listener *listeners;
	size_t listener_count;
	struct datagram_sink *datagram_sinks;
	size_t datagram_sink_count;
	struct record_file datagrams;
	int64_t clock_shift_ns; /* from the kernel's stamps to CLOCK_MONOTONIC */
	struct server servers[PROCESSES_MAX];
	size_t server_count;
	struct sink_flow *flows; /* in the order of the configuration */
	size_t flow_count;
	struct nashbed_flows_count
		*counts; /* room for all flows, where the guest's kernel is ours */
	size_t open;
	size_t closed;	    /* by the other side */
	uint64_t strangers; /* connections that belong to no flow, refused */
	uint64_t acks;	    /* segments that closed flows' sockets sent, but for transfers */
	uint64_t segments;  /* segments with data that they received */

	struct record_file goodput;
	struct record_file kept_reads; /* of connections that carry several transfers */
	struct grid interval_ends;
	struct grid reads; /* when all flows are read, whatever waits; of no ticks: by read_bytes */
	struct lateness reads_lateness;
	struct grid progress; /* when it is told what has arrived */
	struct lateness progress_lateness;
	struct lateness lateness;
	int64_t end_ns;
	bool over;
};

/* The whole role. Returns the exit status, or -1 with the failure set. */
int sink_run(const struct config *config, struct failure *failure);

/* Listen at every destination of the flows and of the control connections. */
int sink_listen(struct sink *sink);

/* One server for each control connection. */
void sink_form_servers(struct sink *sink);
void sink_close_servers(struct sink *sink);

/* The server that this connection belongs to, or NULL. */
struct server *sink_find_server(struct sink *sink, const struct sockaddr_in *peer,
				const struct sockaddr_in *address);

/* Take over a server's control connection. */
int sink_server_open(struct server *server, int fd);

/* A stream has sent its cookie. */
int sink_server_cookie(struct server *server);

/* Receive at every destination of flows of datagrams, and close that. */
int sink_datagrams_open(struct sink *sink);
void sink_datagrams_close(struct sink *sink);

/* Take what has arrived. */
int sink_datagrams_read(struct sink *sink, int64_t now_ns);

/* Bytes of a flow have been read. */
void sink_flow_count(struct sink_flow *flow, uint64_t bytes, int64_t now_ns);

/* Take over a flow's new connection. */
int sink_flow_open(struct sink_flow *flow, int fd, int64_t now_ns);

/* The same of a transfer's, of which so many bytes have been read already. */
int sink_transfer_open(struct sink_flow *flow, int fd, uint64_t bytes, int64_t now_ns);

/* With MSG_TRUNC the kernel drops the data of a TCP socket instead of copying it, so a read may be
 * as large as it likes and takes everything that is there.
 */
#define READ_BYTES ((size_t)1 << 30)

/* Read what is there of every flow, with one call where the guest's kernel serves them. */
int sink_flows_read(struct sink *sink, int64_t now_ns);

/* Read what is there once more and close. */
int sink_flow_finish(struct sink_flow *flow, int64_t now_ns);

#endif
