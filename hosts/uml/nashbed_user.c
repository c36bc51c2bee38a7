// SPDX-License-Identifier: GPL-2.0-only
/* `nashbed=LIBRARY:CONFIGURATION` on the command line: loads the library before the kernel starts,
 * on the host's own stack and with the host's own memory.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <init.h>
#include <os.h>
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
