/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "spec_text.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

int
spec_refuse(struct spec_text *spec, const char *format, ...)
{
	char problem[256];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(problem, sizeof(problem), format, arguments);
	va_end(arguments);
	return failure_set(spec->failure, EXIT_STATUS_TARGET, "line %u: %s", spec->line_number,
			   problem);
}

bool
spec_line_is(const struct spec_line *line, uint32_t index, const char *word)
{
	return index < line->n && strcmp(line->words[index], word) == 0;
}

static int
split(struct spec_text *spec, struct spec_line *line)
{
	char *rest = NULL;
	char *comment = strchr(line->text, ';');

	if (comment != NULL)
		*comment = '\0';
	line->n = 0;
	for (char *word = strtok_r(line->text, " \t\r\n", &rest); word != NULL;
	     word = strtok_r(NULL, " \t\r\n", &rest)) {
		if (line->n == SPEC_WORDS_MAX)
			return spec_refuse(spec, "more than %d words", SPEC_WORDS_MAX);
		line->words[line->n++] = word;
	}
	return 0;
}

int
spec_next_line(struct spec_text *spec, struct spec_line *line)
{
	while (fgets(line->text, sizeof(line->text), spec->file) != NULL) {
		spec->line_number++;
		if (split(spec, line) < 0)
			return -1;
		if (line->n > 0)
			return 1;
	}
	return 0;
}

int
spec_next_in_block(struct spec_text *spec, struct spec_line *line)
{
	int result = spec_next_line(spec, line);

	if (result == 0)
		return spec_refuse(spec, "the file ends inside a block");
	return result > 0 && spec_line_is(line, 0, "}") ? 0 : result;
}

struct spec_items *
spec_items_create(struct spec_text *spec)
{
	struct spec_items *items = calloc(1, sizeof(*items));

	if (items == NULL)
		spec_refuse(spec, "out of memory");
	return items;
}

int
spec_items_add(struct spec_text *spec, struct spec_items *items, const char *text)
{
	if (items->n == SPEC_ITEMS_MAX)
		return spec_refuse(spec, "more than %d items in one block", SPEC_ITEMS_MAX);
	items->texts[items->n] = strdup(text);
	if (items->texts[items->n] == NULL)
		return spec_refuse(spec, "out of memory");
	items->n++;
	return 0;
}

void
spec_items_destroy(struct spec_items *items)
{
	for (uint32_t i = 0; items != NULL && i < items->n; i++)
		free(items->texts[i]);
	free(items);
}
