/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "failure.h"

/* Bytes of the character that starts with this one; 0: none does. */
static unsigned int
bytes_of(unsigned char first)
{
	if (first < 0x80)
		return first >= 0x20 && first != 0x7f ? 1 : 0;
	if (first < 0xc2 || first > 0xf4)
		return 0;
	return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

static bool
is_whole(const char *text, unsigned int bytes)
{
	for (unsigned int i = 1; i < bytes; i++)
		if (((unsigned char)text[i] & 0xc0) != 0x80)
			return false;
	return bytes > 0;
}

static void
make_one_line(char *text)
{
	while (*text != '\0') {
		unsigned int bytes = bytes_of((unsigned char)*text);

		if (is_whole(text, bytes))
			text += bytes;
		else
			*text++ = '?';
	}
}

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
	make_one_line(failure->text);
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
	make_one_line(failure->text);
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
