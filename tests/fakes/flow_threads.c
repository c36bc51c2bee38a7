/* SPDX-License-Identifier: Apache-2.0 */
/* A program that is a strategy: one thread sends a datagram every 2 ms, another one waits for as
 * long. Each keeps a number of its own in a floating-point register meanwhile, and the program ends
 * with 3 when it finds the other's.
 *
 * flow_threads ADDRESS PORT
 */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* What xmm15 has after a wait, in which the other thread runs. */
static unsigned long
after_wait(unsigned long number)
{
	struct timespec pause = {.tv_nsec = 2000000};
	unsigned long after;
	long result = SYS_nanosleep;

	__asm__ volatile("movq %2, %%xmm15\n\tsyscall\n\tmovq %%xmm15, %1"
			 : "+a"(result), "=&r"(after)
			 : "r"(number), "D"(&pause), "S"(0)
			 : "rcx", "r11", "xmm15", "memory");
	return after;
}

static void
require_own(unsigned long number)
{
	unsigned long after = after_wait(number);

	if (after == number)
		return;
	printf("a thread's register has %lx, not %lx\n", after, number);
	fflush(stdout);
	_exit(3);
}

static void *
wait_always(void *unused)
{
	for (unsigned long number = 1;; number++)
		require_own(number << 32);
	return unused;
}

int
main(int argc, char **argv)
{
	static const char payload[1000];
	struct sockaddr_in to = {.sin_family = AF_INET};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	pthread_t other;

	if (argc < 3 || inet_pton(AF_INET, argv[1], &to.sin_addr) != 1)
		return 2;
	to.sin_port = htons((unsigned short)atoi(argv[2]));
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0 ||
	    pthread_create(&other, NULL, wait_always, NULL) != 0)
		return 2;
	for (unsigned long number = 1;; number++) {
		if (send(fd, payload, sizeof(payload), 0) < 0)
			return 2;
		require_own(number);
	}
}
