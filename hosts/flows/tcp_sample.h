/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what the kernel knows about a flow (TCP_INFO, TCP_CC_INFO) into a record. */
#ifndef FLOWS_TCP_SAMPLE_H
#define FLOWS_TCP_SAMPLE_H

#include <stdbool.h>

#include "common/shared.h"

/*
 * Fills in everything but flow and tick. is_bbr: ask for BBR's variables too. What an older
 * kernel does not report is 0. Returns 0 or a negative errno.
 */
int tcp_sample_read(int fd, bool is_bbr, struct flow_sample *sample);

/* Whether TCP_CC_INFO of this congestion control is BBR's: "bbr" and its later versions. */
bool tcp_sample_is_bbr(const char *cc);

#endif
