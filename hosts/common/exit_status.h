/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The exit status of every nashbed program. */
#ifndef COMMON_EXIT_STATUS_H
#define COMMON_EXIT_STATUS_H

#include "common/shared.h"

enum exit_status {
	EXIT_STATUS_OK = 0,
	EXIT_STATUS_CONFIG = EXIT_CONFIG,
	EXIT_STATUS_TARGET = EXIT_TARGET, /* the P4 program */
	EXIT_STATUS_HOST = EXIT_HOST,
	EXIT_STATUS_INTERNAL = EXIT_INTERNAL,
	EXIT_STATUS_SIGNAL_BASE = 128, /* plus the signal's number */
};

#endif
