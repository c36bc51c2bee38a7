/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The one generated file the data plane reads. Times and sizes are machine
 * units here; people's units end in the control plane.
 */
#ifndef NASHBED_CONFIG_H
#define NASHBED_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "common/failure.h"
#include "common/shared.h"
#include "core/lane_config.h"

#define PATH_BYTES 256
#define NAME_BYTES 64

enum driver {
	DRIVER_AF_XDP,
	DRIVER_AF_PACKET,
	DRIVER_TAP,
	DRIVER_PCI,
	DRIVER_VIRTUAL, /* an interface of the guest that this data plane is loaded into */
};

/* What the data plane is: the bottleneck itself, or the hosts' part beside a
 * switch that is.
 */
enum role {
	ROLE_BOTTLENECK,
	ROLE_HOSTS,
	N_ROLES,
};

/* How the P4 program is run. */
enum pipeline_mode {
	PIPELINE_AUTO, /* native where that is built for this very .spec */
	PIPELINE_NATIVE,
	PIPELINE_INTERPRETED,
	N_PIPELINE_MODES,
};

/* How the loop waits for its next event. */
enum loop_mode {
	LOOP_POLL,
	LOOP_SLEEP,
};

enum wire_id {
	WIRE_SENDERS,
	WIRE_RECEIVERS, /* bottleneck */
	WIRE_SWITCH,	/* hosts: towards the switch's ingress */
	WIRE_TELEMETRY, /* hosts: the switch's postcards */
	N_WIRES,
};

/* A port's interfaces or PCI addresses: one of each packet loop, or one for all of them. */
struct devices {
	char names[LOOPS_MAX][NAME_BYTES];
	uint32_t n;
};

struct wire_config {
	enum driver driver;
	struct devices devices;
	char xdp[PATH_BYTES]; /* what the kernel runs for each frame; "": nothing of ours */
};

struct config {
	enum role role;
	char spec[PATH_BYTES]; /* bottleneck only, as the next two */
	enum pipeline_mode pipeline;
	char native_library[PATH_BYTES]; /* "": interpreted */
	char control_socket[PATH_BYTES];
	char progress[PATH_BYTES]; /* virtual time only: where it stands, as 8 bytes; "": nowhere */
	uint32_t cores[LOOPS_MAX]; /* a packet loop on each */
	uint32_t n_loops;
	uint32_t service_core;
	enum loop_mode loop;
	bool huge_pages;
	uint32_t memory_mb;
	uint32_t lanes;
	uint32_t flow_capacity;
	uint32_t queue_packets;
	struct wire_config wires[N_WIRES];
	bool offline;		       /* no control socket, one lane, and: */
	struct lane_config bottleneck; /* of its only lane */
};

/* Names for messages and answers; each list ends with NULL. */
extern const char *const driver_names[];
extern const char *const role_names[];
extern const char *const pipeline_names[];
extern const char *const wire_names[];

/* Whether the role has this wire. */
bool config_has_wire(const struct config *config, enum wire_id id);

/* The device of a packet loop at a wire. */
const char *config_device(const struct wire_config *wire, uint32_t loop);

/* Read and check. The failure names the file, the key and what is allowed. */
int config_read(const char *path, bool offline, struct config *config, struct failure *failure);

/* The effective configuration as JSON on standard output. */
void config_print(const struct config *config);

#endif
