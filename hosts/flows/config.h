/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration of one role in one trial, checked completely before a socket is opened. */
#ifndef FLOWS_CONFIG_H
#define FLOWS_CONFIG_H

#include <jansson.h>

#include "application.h"

#define CC_NAME_BYTES 16 /* TCP_CA_NAME_MAX of the kernel */
#define FLOW_NAME_BYTES 96
#define PROCESSES_MAX (JSON_BYTES(struct config, controls) / sizeof(struct control_config))
#define CCA_STATES_MAX (JSON_BYTES(struct config, control_states) / sizeof(struct cca_state_config))

int config_load(struct config *config, const char *path, struct failure *failure);
void config_free(struct config *config);

/* What limits a flow; NULL: it sends bulk data. */
const struct application *config_application(const struct config *config,
					     const struct flow_config *flow);

/* Whether it sends datagrams. */
bool config_is_udp(const struct config *config, const struct flow_config *flow);

/* Whether any flow of the configuration does so, or has an application of a kind. */
bool config_has(const struct config *config, enum kind kind);

/* "flow 3 (bbr, 10.64.0.1:10003 -> 10.65.0.1:5001)" */
const char *flow_name(const struct flow_config *flow, char text[static FLOW_NAME_BYTES]);

#endif
