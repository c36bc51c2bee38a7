/* SPDX-License-Identifier: Apache-2.0 */
#include "write_all.h"

#include <errno.h>
#include <unistd.h>

int
write_all(int fd, const char *text, size_t bytes)
{
	while (bytes > 0) {
		ssize_t n = write(fd, text, bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		text += n;
		bytes -= (size_t)n;
	}
	return 0;
}
