/* SPDX-License-Identifier: GPL-2.0-only */
/* Instructions of a guest's programs that the kernel answers for the processor, if NASHBED_PINNED
 * is in its environment: RDTSC is virtual time in nanoseconds, and CPUID tells one processor
 * everywhere.
 */
#ifndef NASHBED_USER_H
#define NASHBED_USER_H

/* In a new process of the host, for programs of the guest: have these instructions stop it. */
void nashbed_pin(void);

/* Whether a process of the host was stopped by one of these, by SIGSEGV with this si_code; then its
 * registers are as after it.
 */
int nashbed_answer(int pid, int code, unsigned long *gp);

/* nashbed_kern.c */
unsigned long long nashbed_tsc(void);

#endif
