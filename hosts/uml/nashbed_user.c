// SPDX-License-Identifier: GPL-2.0-only
/* What the driver does as a program of the host.
 *
 * `nashbed=LIBRARY:CONFIGURATION` on the command line: loads the library before the kernel starts,
 * on the host's own stack and with the host's own memory.
 *
 * NASHBED_PINNED in the environment: what a program could learn from the processor, and that is
 * another at each start, is answered here (nashbed_user.h).
 */
#include <asm/prctl.h>
#include <cpuid.h>
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <init.h>
#include <os.h>
#include <sysdep/ptrace.h>
#include "nashbed_user.h"
#include "nashbed_virtual.h"

#define EXIT_HOST 4

static const struct nashbed_virtual *library;

const struct nashbed_virtual *nashbed_user_library(void)
{
	return library;
}

static const struct nashbed_virtual *load(const char *path, const char *configuration)
{
	const struct nashbed_virtual *(*open)(const char *configuration);
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (!handle) {
		fprintf(stderr, "nashbed: %s\n", dlerror());
		return NULL;
	}
	open = dlsym(handle, NASHBED_VIRTUAL_OPEN);
	if (!open) {
		fprintf(stderr, "nashbed: %s has no %s\n", path, NASHBED_VIRTUAL_OPEN);
		return NULL;
	}
	return open(configuration);
}

static int __init nashbed_setup(char *text, int *add)
{
	static char path[1024];
	sigset_t all, before;
	char *colon;

	*add = 0;
	/* A killed control plane leaves no guest. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	strncpy(path, text, sizeof(path) - 1);
	colon = strchr(path, ':');
	if (!colon) {
		fprintf(stderr, "nashbed: write nashbed=LIBRARY:CONFIGURATION\n");
		exit(EXIT_HOST);
	}
	*colon = '\0';
	/* The library's threads inherit that signals are blocked: those are the kernel's. */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	library = load(path, colon + 1);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (!library)
		exit(EXIT_HOST);
	return 0;
}
__uml_setup("nashbed=", nashbed_setup,
	    "nashbed=LIBRARY:CONFIGURATION\n"
	    "    The bottleneck between the interfaces nb0 and nb1.\n\n");

void nashbed_pin(void)
{
	if (!getenv("NASHBED_PINNED"))
		return;
	if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) < 0 ||
	    syscall(SYS_arch_prctl, ARCH_SET_CPUID, 0) < 0) {
		fprintf(stderr, "nashbed: this processor's CPUID cannot be answered for it: %s\n",
			strerror(errno));
		exit(EXIT_HOST);
	}
}

/* The processor that programs see: a Haswell of one core, without random numbers, transactions and
 * frequencies, and without the features that this processor lacks. Leaves that are not here are 0.
 */
static const struct {
	unsigned int leaf, part;
	unsigned int fixed[4]; /* EAX, EBX, ECX, EDX */
	unsigned int kept[4];  /* what comes from the processor */
} answers[] = {
	{0, 0, {0xd, 0x756e6547, 0x6c65746e, 0x49656e69}, {0}}, /* GenuineIntel */
	{1, 0, {0x306f2, 0x10800}, {0, 0, 0x3ed83203, 0x078bfbff}},
	{2, 0, {0xff01}, {0}}, /* the caches are in leaf 4 */
	{4, 0, {0x121, 0x1c0003f, 63}, {0}},
	{4, 1, {0x122, 0x1c0003f, 63}, {0}},
	{4, 2, {0x143, 0x1c0003f, 511}, {0}},
	{4, 3, {0x163, 0x3c0003f, 8191}, {0}},
	{7, 0, {0}, {0, 0x329}}, /* FSGSBASE, BMI1, AVX2, BMI2, ERMS */
	{0x80000000, 0, {0x80000008}, {0}},
	{0x80000001, 0, {0}, {0, 0, 0x21, 0x28100800}},
	{0x80000008, 0, {0x3027}, {0}},
};

static void answer_cpuid(unsigned long *gp)
{
	unsigned int leaf = REGS_AX(gp), part = REGS_CX(gp), said[4], answer[4] = {0};
	size_t i, each;

	__cpuid_count(leaf, part, said[0], said[1], said[2], said[3]);
	if (leaf == 0xd) /* how much is saved of a thread's registers */
		memcpy(answer, said, sizeof(answer));
	if (leaf != 4 && leaf != 7)
		part = 0;
	for (i = 0; i < sizeof(answers) / sizeof(answers[0]); i++)
		if (answers[i].leaf == leaf && answers[i].part == part)
			for (each = 0; each < 4; each++)
				answer[each] = answers[i].fixed[each] |
					       (said[each] & answers[i].kept[each]);
	REGS_AX(gp) = answer[0];
	REGS_BX(gp) = answer[1];
	REGS_CX(gp) = answer[2];
	REGS_DX(gp) = answer[3];
}

static void answer_tsc(unsigned long *gp)
{
	unsigned long long now = nashbed_tsc();

	REGS_AX(gp) = (unsigned int)now;
	REGS_DX(gp) = now >> 32;
}

int nashbed_answer(int pid, int code, unsigned long *gp)
{
	unsigned long text;

	if (code != SI_KERNEL)
		return false;
	text = ptrace(PTRACE_PEEKTEXT, pid, REGS_IP(gp), 0);
	if ((text & 0xffff) == 0xa20f) { /* CPUID */
		answer_cpuid(gp);
		REGS_IP(gp) += 2;
	} else if ((text & 0xffff) == 0x310f) { /* RDTSC */
		answer_tsc(gp);
		REGS_IP(gp) += 2;
	} else if ((text & 0xffffff) == 0xf9010f) { /* RDTSCP */
		answer_tsc(gp);
		REGS_CX(gp) = 0;
		REGS_IP(gp) += 3;
	} else {
		return false;
	}
	return true;
}
