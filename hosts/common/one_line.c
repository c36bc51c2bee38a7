/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "one_line.h"

#include <stdbool.h>

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

void
one_line(char *text)
{
	while (*text != '\0') {
		unsigned int bytes = bytes_of((unsigned char)*text);

		if (is_whole(text, bytes))
			text += bytes;
		else
			*text++ = '?';
	}
}
