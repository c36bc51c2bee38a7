/* SPDX-License-Identifier: Apache-2.0 */
/* How soon the senders' host answers: an ICMP echo to one lane after the other, every half millisecond,
 * at the port that its flows come from. The kernel answers in the softirq that also takes in
 * acknowledgements, so a core of the flows that is taken away is seen here, whatever TCP has to send.
 *
 * A lane is asked while it sends, by the addresses of its own frames. The answers go no further than
 * this: neither P4 nor a delay line sees them. Only at ports that stamp arrivals: elsewhere a pause of
 * the loop would count as the host's.
 */
#ifndef NASHBED_ECHO_H
#define NASHBED_ECHO_H

#include <stdint.h>

#include <rte_mbuf.h>

struct echo;
struct loop;

/* NULL when memory has run out. */
struct echo *echo_create(uint32_t n_lanes);
void echo_destroy(struct echo *e);

/* Look at what has come from the senders: learn addresses, take answers out. Returns how many of the
 * frames are left, at the beginning of both arrays.
 */
uint32_t echo_take(struct echo *e, struct loop *loop, struct rte_mbuf **mbufs,
		   uint64_t *arrivals_ns, uint32_t n);

/* Ask a lane, when it is time. */
void echo_ask(struct echo *e, struct loop *loop, uint64_t now_ns);

#endif
