/* SPDX-License-Identifier: Apache-2.0 */
/* What a NIC needs that no port on this machine does: room for the trailers of time stamps, silence
 * when its ring is full, frames that are long enough, and an eye on its link.
 */
#ifndef NASHBED_NIC_H
#define NASHBED_NIC_H

#include <rte_ethdev.h>

#include "io/wire.h"

/* What the port is to be configured with. The failure names the device and the remedy. */
int nic_configure(const struct wire *wire, const char *device, struct rte_eth_conf *conf,
		  struct failure *failure);

/* Set up what can be only once the port has started. */
int nic_started(struct wire *wire, const char *device, struct failure *failure);

/* Watch it no more. */
void nic_close(struct wire *wire);

/* Make a frame as long as Ethernet wants it. Many NICs do, but a virtual one sends a runt. */
void nic_pad(struct rte_mbuf *mbuf);

#endif
