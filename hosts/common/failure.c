/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "failure.h"
#include "one_line.h"

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
	one_line(failure->text);
	return -1;
}

void
failure_append(struct failure *failure, const char *format, ...)
{
	size_t used = strlen(failure->text);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(failure->text + used, sizeof(failure->text) - used, format, arguments);
	va_end(arguments);
	one_line(failure->text);
}

int
failure_add_context(struct failure *failure, const char *context)
{
	struct failure inner = *failure;

	failure->status = EXIT_STATUS_OK;
	return failure_set(failure, inner.status, "%s: %s", context, inner.text);
}

int
failure_print(const struct failure *failure, const char *program)
{
	fprintf(stderr, "%s: %s\n", program, failure->text);
	return (int)failure->status;
}
