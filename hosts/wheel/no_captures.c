/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* libpcap for a DPDK that is linked in: its ports that read and write captures refer to it, and no
 * bottleneck has such ports. libpcap itself would bring ten libraries into a wheel.
 */
#include <stdlib.h>

#define ABSENT(name)                                                                               \
	void name(void);                                                                           \
	void name(void)                                                                            \
	{                                                                                          \
		abort();                                                                           \
	}

ABSENT(pcap_close)
ABSENT(pcap_dump)
ABSENT(pcap_dump_close)
ABSENT(pcap_dump_flush)
ABSENT(pcap_dump_open)
ABSENT(pcap_next)
ABSENT(pcap_open_dead)
ABSENT(pcap_open_offline)
