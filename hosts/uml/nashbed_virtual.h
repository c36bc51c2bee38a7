/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The seam between a guest's kernel and the bottleneck, a library of the host that is loaded into
 * the same process. Plain C without headers, because a kernel's, a libc's and DPDK's side include
 * it. Times are the guest's CLOCK_MONOTONIC in nanoseconds. Every function is called with the
 * guest's interrupts off, on a kernel stack.
 */
#ifndef NASHBED_VIRTUAL_H
#define NASHBED_VIRTUAL_H

#define NASHBED_VIRTUAL_ABI 2u
#define NASHBED_VIRTUAL_NEVER (~0ull)
/* What the library exports: it takes the path of the configuration, and ends the process with a
 * message where that is wrong.
 */
#define NASHBED_VIRTUAL_OPEN "nashbed_virtual_open"

enum nashbed_virtual_wire {
	NASHBED_VIRTUAL_SENDERS,
	NASHBED_VIRTUAL_RECEIVERS,
	NASHBED_VIRTUAL_WIRES,
};

struct nashbed_virtual {
	unsigned int abi;

	/* Room for a frame, whose bytes are to be written to *data. NULL: none is left. */
	void *(*alloc)(unsigned int bytes, void **data);
	/* A frame from the hosts of a wire; it is the library's from here on. Its last `zeros`
	 * bytes are payload of zeros that was not written: nobody looks at it.
	 */
	void (*receive)(int wire, void *frame, unsigned int zeros, unsigned long long now_ns);
	/* When the library next has something to do. */
	unsigned long long (*next_event)(void);
	void (*advance)(unsigned long long now_ns);
	/* The next frame that goes to the hosts of a wire; NULL when there is none. Of its bytes,
	 * the last *zeros are not at *data but zeros, as it came.
	 */
	void *(*take)(int *wire, void **data, unsigned int *bytes, unsigned int *zeros);
	void (*release)(void *frame);

	/* Wait for a request to the guest, while virtual time stands still: as much of it as there
	 * is room for. It ends with a newline; 0 bytes: the guest is to end.
	 */
	unsigned int (*request)(char *text, unsigned int bytes, unsigned long long now_ns);
	/* A part of the answer to it, which ends with a newline. */
	void (*answer)(const char *text, unsigned int bytes);
	void (*close)(void);
};

#endif
