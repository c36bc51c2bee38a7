/* SPDX-License-Identifier: Apache-2.0 */
/* The smallest unit-test helper: a failed check names its place and ends the test. */
#ifndef COMMON_CHECK_H
#define COMMON_CHECK_H

#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);  \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

#endif
