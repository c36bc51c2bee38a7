/* SPDX-License-Identifier: Apache-2.0 */
/* The exit status of every nashbed program. */
#ifndef COMMON_EXIT_STATUS_H
#define COMMON_EXIT_STATUS_H

enum exit_status {
	EXIT_STATUS_OK = 0,
	EXIT_STATUS_CONFIG = 2,
	EXIT_STATUS_TARGET = 3, /* the P4 program */
	EXIT_STATUS_HOST = 4,
	EXIT_STATUS_INTERNAL = 5,
	EXIT_STATUS_SIGNAL_BASE = 128, /* plus the signal's number */
};

#endif
