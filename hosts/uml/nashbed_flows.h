/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What the flow generator asks of a guest's kernel: /proc/nashbed_flows takes over the data of TCP
 * sockets that it is given, so that no system call is made for a segment. Plain C, because a
 * kernel's and a libc's side include it. Times are CLOCK_MONOTONIC in nanoseconds.
 */
#ifndef NASHBED_FLOWS_H
#define NASHBED_FLOWS_H

#ifdef __KERNEL__
#include <linux/ioctl.h>
#include <linux/types.h>

struct page;

/* What flows send: a compound page of NASHBED_FLOWS_WRITE_BYTES zeros, which nobody writes. */
struct page *nashbed_flows_zeros(void);
#else
#include <linux/types.h>
#include <sys/ioctl.h>
#endif

#define NASHBED_FLOWS_PATH "/proc/nashbed_flows"
#define NASHBED_FLOWS_WRITE_BYTES (128u << 10)

enum nashbed_flows_mode {
	NASHBED_FLOWS_SEND,	/* writes bulk data as long as the socket takes it */
	NASHBED_FLOWS_RECEIVE,	/* reads and drops when SO_RCVLOWAT bytes wait */
	NASHBED_FLOWS_ON_ORDER, /* reads and drops when NASHBED_FLOWS_READ says so */
};

struct nashbed_flows_take {
	__s32 fd;
	__u32 mode;
};

/* What a received flow has come to. */
struct nashbed_flows_count {
	__s32 fd;
	__s32 ended; /* what recv() returned at the end: 0 (FIN) or a negative errno; 1: it is open
		      */
	__u64 bytes; /* since it was taken */
	__s64 first_ns; /* 0: none */
	__s64 last_ns;
};

#define NASHBED_FLOWS_INFO_BYTES 384u
#define NASHBED_FLOWS_CC_BYTES 32u

/* TCP_INFO and TCP_CC_INFO of a socket, taken over or not, as long as this kernel has them. */
struct nashbed_flows_sample {
	__s32 fd;
	__u32 cc_bytes;
	__s64 t_ns;
	__u8 info[NASHBED_FLOWS_INFO_BYTES];
	__u8 cc[NASHBED_FLOWS_CC_BYTES];
};

struct nashbed_flows_rows {
	__u64 rows; /* address */
	__u64 count;
};

/*
 * A system call of several that are made at once: what changes to and from a process is most of
 * what a system call takes here.
 */
struct nashbed_flows_call {
	__s64 number;
	__u64 arguments[6];
	__s64 expected; /* another result ends the list; NASHBED_FLOWS_ANY: an error does */
	__s64 result;
	__s32 fd_of;	   /* one argument is the result of that call of the list; negative: none */
	__u32 fd_argument; /* which one */
};

#define NASHBED_FLOWS_ANY (-4096)
#define NASHBED_FLOWS_CALLS_MAX 16u

#define NASHBED_FLOWS_TAKE _IOW('n', 1, struct nashbed_flows_take)
/* Give a socket back, as it was: before it is closed. */
#define NASHBED_FLOWS_GIVE_BACK _IOW('n', 2, __s32)
/* Read what is there of each flow; rows are struct nashbed_flows_count. */
#define NASHBED_FLOWS_READ _IOW('n', 3, struct nashbed_flows_rows)
/* Rows are struct nashbed_flows_sample. */
#define NASHBED_FLOWS_SAMPLE _IOW('n', 4, struct nashbed_flows_rows)
/* Make these calls, one after the other; returns how many. Rows are struct nashbed_flows_call. */
#define NASHBED_FLOWS_CALL _IOW('n', 5, struct nashbed_flows_rows)

#endif
