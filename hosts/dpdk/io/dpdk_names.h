/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Where DPDK's releases differ in names: those of 24.11, for 22.11 and 23.11 too. 24.11 deprecates
 * the older ones.
 */
#ifndef DPDK_NAMES_H
#define DPDK_NAMES_H

#include <rte_icmp.h>

#ifndef RTE_ICMP_TYPE_ECHO_REPLY
#define RTE_ICMP_TYPE_ECHO_REPLY RTE_IP_ICMP_ECHO_REPLY
#define RTE_ICMP_TYPE_ECHO_REQUEST RTE_IP_ICMP_ECHO_REQUEST
#endif

#endif
