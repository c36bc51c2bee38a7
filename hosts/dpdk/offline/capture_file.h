/* SPDX-License-Identifier: Apache-2.0 */
/* The packets of a pcap or pcapng file as they stand in it. libpcap cannot read them: it refuses
 * interfaces that differ in their snap lengths, and tells nobody of a frame's FCS.
 */
#ifndef NASHBED_CAPTURE_FILE_H
#define NASHBED_CAPTURE_FILE_H

#include <stdint.h>

#include "common/failure.h"

struct file_packet {
	const uint8_t *frame; /* until the next packet is read */
	uint64_t time_ns;     /* since 1970, below 2^63 */
	uint32_t captured;    /* bytes of the frame that are there; may be more than there were */
	uint32_t bytes;	      /* of the frame on its wire */
	uint32_t fcs_bytes;   /* of these, an FCS at their end, as the file declares it */
	uint32_t link_type;
};

struct capture_file;

/* NULL with the failure set. */
struct capture_file *capture_file_open(const char *path, struct failure *failure);

/* The next packet: 1; 0 at the end of the file; -1 with the failure set. */
int capture_file_next(struct capture_file *file, struct file_packet *packet,
		      struct failure *failure);

void capture_file_close(struct capture_file *file);

#endif
