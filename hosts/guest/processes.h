/* SPDX-License-Identifier: Apache-2.0 */
/* The programs that a guest runs: their standard input and output are pipes of ours. */
#ifndef GUEST_PROCESSES_H
#define GUEST_PROCESSES_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "common/failure.h"
#include "host.h"

int processes_open(struct failure *failure);

/* Start a program; args ends with NULL. log: where its standard error goes, or "" for the
 * console. Returns its number, or -1.
 */
int process_start(enum side side, char *const *args, const char *log, struct failure *failure);

int process_send(uint32_t number, const char *line, struct failure *failure);
int process_signal(uint32_t number, uint32_t signal_number, struct failure *failure);

/* Let time pass until a program says something or ends, at latest until this time. Returns what
 * happened, in the order of the programs' numbers: {"process": 1, "line": "..."} or
 * {"process": 1, "exit": 0}; NULL with the failure set.
 */
json_t *processes_run(uint64_t until_ns, struct failure *failure);

#endif
