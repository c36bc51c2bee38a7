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

#define FLAG(n) (1u << (n))

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

/* The processor's features without its random numbers, without transactions and waits that end by
 * chance, without what does not fit into a thread's registers, and without the core's number.
 */
static void answer_cpuid(unsigned long *gp)
{
	unsigned int leaf = REGS_AX(gp), part = REGS_CX(gp);
	unsigned int a, b, c, d;

	__cpuid_count(leaf, part, a, b, c, d);
	if (leaf == 1) {
		b &= FLAG(24) - 1; /* the core */
		c &= ~FLAG(30);	   /* RDRAND */
	} else if (leaf == 7 && part == 0) {
		b &= ~(FLAG(4) | FLAG(11) | FLAG(18));	/* HLE, RTM, RDSEED */
		c &= ~(FLAG(5) | FLAG(22));		/* WAITPKG, RDPID */
		d &= ~(FLAG(22) | FLAG(24) | FLAG(25)); /* AMX */
	} else if (leaf == 0xb || leaf == 0x1f) {
		d = 0; /* the core */
	} else if (leaf == 0x15 || leaf == 0x16) {
		a = b = c = d = 0; /* frequencies: the clock's is virtual time's */
	}
	REGS_AX(gp) = a;
	REGS_BX(gp) = b;
	REGS_CX(gp) = c;
	REGS_DX(gp) = d;
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
