/* SPDX-License-Identifier: GPL-2.0-only */
/* The clock in the page of the vDSO, which the guest's kernel and all of its processes share: a
 * program reads it without a stop as long as nothing happens before the reading is over. Plain C
 * without headers.
 */
#ifndef NASHBED_CLOCK_H
#define NASHBED_CLOCK_H

/* What reading the clock takes, as in the unedited source. */
#define NASHBED_CLOCK_READ_NS 256
/* Where it is in the page, behind the code. */
#define NASHBED_CLOCK_PLACE 0xf80

/* Times of time travel, in nanoseconds; all zero until the driver has started. */
struct nashbed_clock {
	unsigned long long now;
	unsigned long long next; /* when something happens: an event of the kernel's */
	/* What it is ahead of `now`. */
	unsigned long long monotonic;
	unsigned long long realtime;
};

/* In the kernel's own mapping of the page; it is there where the kernel has been edited for it. */
extern struct nashbed_clock *nashbed_clock;

/* nashbed_kern.c: before a process goes on, and after it has stopped. */
void nashbed_clock_set(void);
void nashbed_clock_take(void);

#endif
