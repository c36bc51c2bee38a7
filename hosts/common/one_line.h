/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Messages quote what others wrote: keys, paths, names. */
#ifndef COMMON_ONE_LINE_H
#define COMMON_ONE_LINE_H

/* Make it one line of valid UTF-8 in place: control characters, and bytes of a
 * character that was cut in two, become question marks.
 */
void one_line(char *text);

#endif
