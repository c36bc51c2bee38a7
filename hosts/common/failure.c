/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>

#include "failure.h"

int
failure_set(struct failure *failure, enum exit_status status, const char *format, ...)
{
	va_list arguments;

	if (failure->status != EXIT_STATUS_OK)
		return -1;

	failure->status = status;
	va_start(arguments, format);
	vsnprintf(failure->text, sizeof(failure->text), format, arguments);
	va_end(arguments);
	return -1;
}
