/* SPDX-License-Identifier: GPL-2.0-only */
/* The processor time that programs of the guest are charged for datagrams (nashbed_cpu.c). */
#ifndef NASHBED_CPU_H
#define NASHBED_CPU_H

struct msghdr;
struct socket;

/* What a process has just sent or received with one call; it has nothing to pay for an error. */
void nashbed_charge_sent(struct socket *sock, struct msghdr *msg, int bytes);
void nashbed_charge_received(struct socket *sock, int bytes, int flags);

#endif
