/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration of one role in one trial, checked completely before a socket is opened. */
#ifndef FLOWS_CONFIG_H
#define FLOWS_CONFIG_H

#include <jansson.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "application.h"
#include "common/failure.h"

#define CC_NAME_BYTES 16 /* TCP_CA_NAME_MAX of the kernel */
#define T0_FROM_STDIN INT64_C(-1)
#define FLOW_NAME_BYTES 96
#define PROCESSES_MAX 64 /* strategies times flow groups */
#define CCA_STATES_MAX 32

enum role {
	ROLE_SENDER,
	ROLE_SINK,
};

struct flow_config {
	uint32_t flow;
	uint32_t group;
	char cc[CC_NAME_BYTES];
	struct sockaddr_in source;
	struct sockaddr_in destination;
	int64_t start_ns; /* after t0; not used with control connections */
	uint32_t process; /* whose flow it is, where there are control connections */
	bool ecn;	  /* it asks for ECN */
	uint8_t dscp;	  /* of its sender's packets */
	uint64_t bytes;	  /* it is a transfer of so many, which comes at its start; 0: bulk data */
	bool kept;	  /* its connection may carry further transfers of its group and CCA */
};

/* The control connection of an iperf3 process. */
struct control_config {
	struct sockaddr_in source;
	struct sockaddr_in destination;
};

/* A CCA of eBPF, whose state is in the sockets' storage. */
struct cca_state_config {
	char cc[CC_NAME_BYTES];
	uint32_t map_id;
};

struct config {
	enum role role;
	uint32_t lane;
	int64_t t0_ns;	     /* CLOCK_MONOTONIC, or T0_FROM_STDIN */
	int64_t duration_ns; /* from t0; with control connections from each process's start */
	int64_t span_ns;     /* the most from t0 to the last flow's end; 0: duration_ns */
	int64_t sample_ns;
	int64_t interval_ns;
	int64_t drain_ns;
	int64_t progress_ns;	  /* sink: how often it tells what has arrived; 0: never */
	uint32_t read_bytes;	  /* sink: a flow is read when so much waits */
	int64_t read_interval_ns; /* sink: all flows are read so often instead; 0: by read_bytes */
	int64_t connect_timeout_ns;
	char *out;
	struct control_config controls[PROCESSES_MAX];
	size_t control_count; /* 0: every flow starts at a time of its own */
	struct cca_state_config states[CCA_STATES_MAX];
	size_t state_count;
	struct application applications[APPLICATIONS_MAX];
	size_t application_count;
	struct flow_config *flows;
	size_t flow_count;
};

int config_load(struct config *config, const char *path, struct failure *failure);
void config_free(struct config *config);

/* The effective configuration, every default filled in: a new reference. */
json_t *config_to_json(const struct config *config);

/* What limits a flow; NULL: it sends bulk data. */
const struct application *config_application(const struct config *config,
					     const struct flow_config *flow);

/* Whether it sends datagrams. */
bool config_is_udp(const struct config *config, const struct flow_config *flow);

/* Whether any flow of the configuration does so, or has an application of a kind. */
bool config_has(const struct config *config, enum application_kind kind);

/* "flow 3 (bbr, 10.64.0.1:10003 -> 10.65.0.1:5001)" */
const char *flow_name(const struct flow_config *flow, char text[static FLOW_NAME_BYTES]);

#endif
