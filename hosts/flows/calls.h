/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System calls that are made one after the other, with one change to the kernel where that is ours
 * (hosts/uml/nashbed_flows.c), and one by one elsewhere.
 */
#ifndef FLOWS_CALLS_H
#define FLOWS_CALLS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "uml/nashbed_flows.h"

struct calls {
	struct nashbed_flows_call list[NASHBED_FLOWS_CALLS_MAX];
	int count;
};

/* An argument, whatever its type. */
#define CALL_ARGUMENT(value) ((uint64_t)(uintptr_t)(value))

/* Add a call of up to six arguments, any error of which ends the list. Returns its number. */
#define CALLS_ADD(calls, name, ...) calls_add(calls, SYS_##name, (const uint64_t[6]){__VA_ARGS__})
int calls_add(struct calls *calls, long number, const uint64_t arguments[6]);

/* An argument of the last call is the result of another one. */
void calls_fd_of(struct calls *calls, unsigned int argument, int call);

/* Any result of the last call but this one ends the list. */
void calls_expect(struct calls *calls, int64_t result);

/* Make them. Returns true if all were made, with the results that they should have. */
bool calls_make(int service, struct calls *calls);

/* The errno of the call that ended the list. */
int calls_error(const struct calls *calls);

/* The result of a call that was made, a negative errno included; of one that was not, -ECANCELED. */
int64_t calls_result(const struct calls *calls, int call);

#endif
