/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* nashbed-addresses.so, preloaded into a guest's kernel: addresses that the host draws at random
 * change nothing in the guest, so nobody has to forbid that they are drawn, which containers may not.
 *
 * The one that counts is the end of the heap: the kernel puts the guest's memory behind it. A kernel
 * that is started through its dynamic loader has its heap far above that memory, and gets here the
 * answer of a process without any heap.
 */
#include <stddef.h>
#include <stdint.h>
#include <sys/personality.h>

void *
sbrk(intptr_t increment)
{
	return NULL;
}

/* From 6.15 on a kernel would start itself again without random addresses, and find its loader. */
int
personality(unsigned long persona)
{
	return PER_LINUX | ADDR_NO_RANDOMIZE;
}
