/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NASHBED_EXIT_CODES_H
#define NASHBED_EXIT_CODES_H

enum exit_code {
	EXIT_OK = 0,
	EXIT_CONFIG = 2,
	EXIT_TARGET = 3,
	EXIT_HOST = 4,
	EXIT_INTERNAL = 5,
};

#endif
