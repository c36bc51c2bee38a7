/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The text of a p4c-dpdk .spec: lines of words, and blocks of lines between braces. Every
 * failure names the line of the file.
 */
#ifndef NASHBED_SPEC_TEXT_H
#define NASHBED_SPEC_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/failure.h"

#define SPEC_LINE_BYTES 1024
#define SPEC_WORDS_MAX 24
#define SPEC_ITEMS_MAX 1024

struct spec_text {
	FILE *file;
	uint32_t line_number;
	struct failure *failure;
};

/* One line without its comment, split at white space. */
struct spec_line {
	char text[SPEC_LINE_BYTES];
	char *words[SPEC_WORDS_MAX];
	uint32_t n;
};

/* Strings that are freed together. */
struct spec_items {
	char *texts[SPEC_ITEMS_MAX];
	uint32_t n;
};

/* Always returns -1. */
int spec_refuse(struct spec_text *spec, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Whether the line has this word at this place. */
bool spec_line_is(const struct spec_line *line, uint32_t index, const char *word);

/* The next line that is not blank: 1; 0 at the end of the file; -1 on a failure. */
int spec_next_line(struct spec_text *spec, struct spec_line *line);

/* The next line of a block: 1; 0 at its closing brace; -1 on a failure. */
int spec_next_in_block(struct spec_text *spec, struct spec_line *line);

/* NULL with the failure set. */
struct spec_items *spec_items_create(struct spec_text *spec);
int spec_items_add(struct spec_text *spec, struct spec_items *items, const char *text);
/* NULL is allowed. */
void spec_items_destroy(struct spec_items *items);

#endif
