/* SPDX-License-Identifier: Apache-2.0 */
#include "swx_spec.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#define LINE_BYTES 1024
#define TOKENS_MAX 24
#define ITEMS_MAX 1024

/* One line of the file, split at white space. */
struct line {
	char text[LINE_BYTES];
	char *tokens[TOKENS_MAX];
	uint32_t n;
};

struct reader {
	FILE *file;
	uint32_t number; /* of the line, for messages */
	char *error;
	size_t error_bytes;
	struct rte_swx_pipeline *pipeline;
};

/* A list of strings that are freed together. */
struct names {
	char *items[ITEMS_MAX];
	uint32_t n;
};

static int
fail(struct reader *r, int code, const char *format, ...)
{
	va_list arguments;
	int used = snprintf(r->error, r->error_bytes, "line %u: ", r->number);

	va_start(arguments, format);
	if (used > 0 && (size_t)used < r->error_bytes)
		vsnprintf(r->error + used, r->error_bytes - (size_t)used, format, arguments);
	va_end(arguments);
	return code;
}

static bool
is(const struct line *line, uint32_t index, const char *word)
{
	return index < line->n && strcmp(line->tokens[index], word) == 0;
}

static int
split(struct reader *r, struct line *line)
{
	char *rest = NULL;
	char *comment = strchr(line->text, ';');

	if (comment != NULL)
		*comment = '\0';
	line->n = 0;
	for (char *token = strtok_r(line->text, " \t\r\n", &rest); token != NULL;
	     token = strtok_r(NULL, " \t\r\n", &rest)) {
		if (line->n == TOKENS_MAX)
			return fail(r, -EINVAL, "more than %d words", TOKENS_MAX);
		line->tokens[line->n++] = token;
	}
	return 0;
}

/* The next line that holds anything: 1; 0 at the end of the file. */
static int
next_line(struct reader *r, struct line *line)
{
	while (fgets(line->text, sizeof(line->text), r->file) != NULL) {
		int error;

		r->number++;
		error = split(r, line);
		if (error < 0)
			return error;
		if (line->n > 0)
			return 1;
	}
	return 0;
}

/* The next line of a block: 1; 0 at its closing brace. */
static int
next_in_block(struct reader *r, struct line *line)
{
	int got = next_line(r, line);

	if (got == 0)
		return fail(r, -EINVAL, "the file ends inside a block");
	if (got < 0)
		return got;
	return is(line, 0, "}") ? 0 : 1;
}

static int
names_add(struct reader *r, struct names *names, const char *text)
{
	if (names->n == ITEMS_MAX)
		return fail(r, -ENOSPC, "more than %d items in one block", ITEMS_MAX);
	names->items[names->n] = strdup(text);
	if (names->items[names->n] == NULL)
		return fail(r, -ENOMEM, "out of memory");
	names->n++;
	return 0;
}

static void
names_free(struct names *names)
{
	for (uint32_t i = 0; i < names->n; i++)
		free(names->items[i]);
	free(names);
}

static int
join(struct reader *r, const struct line *line, char *text, size_t text_bytes)
{
	size_t used = 0;

	for (uint32_t i = 0; i < line->n; i++) {
		int n = snprintf(text + used, text_bytes - used, i ? " %s" : "%s", line->tokens[i]);

		if (n < 0 || (size_t)n >= text_bytes - used)
			return fail(r, -EINVAL, "instruction too long");
		used += (size_t)n;
	}
	return 0;
}

/* SWX 22.11 leaves out the array's number where index and value of a regadd or
 * regwr are both constants, and so changes the first array of the program.
 */
static bool
is_miscompiled(const struct line *line)
{
	uint32_t at = is(line, 1, ":") ? 2 : 0;

	return (is(line, at, "regadd") || is(line, at, "regwr")) && at + 3 < line->n &&
	       isdigit(line->tokens[at + 2][0]) && isdigit(line->tokens[at + 3][0]);
}

/* All lines up to the closing brace, each joined to one string. */
static int
read_instructions(struct reader *r, struct names *instructions)
{
	struct line line;
	char text[RTE_SWX_INSTRUCTION_SIZE];
	int got, error;

	while ((got = next_in_block(r, &line)) > 0) {
		if (is_miscompiled(&line))
			return fail(r, -ENOTSUP, "%s with a constant index and value",
				    line.tokens[0]);
		error = join(r, &line, text, sizeof(text));
		if (error == 0)
			error = names_add(r, instructions, text);
		if (error < 0)
			return error;
	}
	return got;
}

/* struct NAME { bit<N> FIELD ... } */
static int
load_struct(struct reader *r, const struct line *head)
{
	struct rte_swx_field_params fields[64];
	struct names *names = calloc(1, sizeof(*names));
	char *name = strdup(head->tokens[1]);
	struct line line;
	int got, error = -ENOMEM;

	if (names == NULL || name == NULL)
		goto out;
	while ((got = next_in_block(r, &line)) > 0) {
		uint32_t bits;

		if (line.n != 2 || sscanf(line.tokens[0], "bit<%u>", &bits) != 1 ||
		    names->n == RTE_DIM(fields)) {
			error = fail(r, -EINVAL, "expected bit<N> NAME");
			goto out;
		}
		error = names_add(r, names, line.tokens[1]);
		if (error < 0)
			goto out;
		fields[names->n - 1].n_bits = bits;
	}
	error = got;
	if (error < 0)
		goto out;
	for (uint32_t i = 0; i < names->n; i++)
		fields[i].name = names->items[i];
	error = rte_swx_pipeline_struct_type_register(r->pipeline, name, fields, names->n, 0);
	if (error)
		error = fail(r, error, "struct %s refused by SWX: %s", name, strerror(-error));
out:
	if (names != NULL)
		names_free(names);
	free(name);
	return error;
}

/* header NAME instanceof STRUCT */
static int
load_header(struct reader *r, const struct line *line)
{
	int error = rte_swx_pipeline_packet_header_register(r->pipeline, line->tokens[1],
							    line->tokens[3]);

	return error ? fail(r, error, "header %s refused by SWX", line->tokens[1]) : 0;
}

/* metadata instanceof STRUCT */
static int
load_metadata(struct reader *r, const struct line *line)
{
	int error = rte_swx_pipeline_packet_metadata_register(r->pipeline, line->tokens[2]);

	return error ? fail(r, error, "metadata refused by SWX") : 0;
}

/* regarray NAME size SIZE initval VALUE */
static int
load_regarray(struct reader *r, const struct line *line)
{
	uint32_t size = (uint32_t)strtoul(line->tokens[3], NULL, 0);
	uint64_t initial = strtoull(line->tokens[5], NULL, 0);
	int error = rte_swx_pipeline_regarray_config(r->pipeline, line->tokens[1], size, initial);

	return error ? fail(r, error, "regarray %s refused by SWX", line->tokens[1]) : 0;
}

/* action NAME args none | instanceof STRUCT { INSTRUCTION ... } */
static int
load_action(struct reader *r, const struct line *head)
{
	bool has_arguments = is(head, 3, "instanceof");
	struct names *code = calloc(1, sizeof(*code));
	char *name = strdup(head->tokens[1]);
	char *arguments = has_arguments ? strdup(head->tokens[4]) : NULL;
	int error = -ENOMEM;

	if (code == NULL || name == NULL || (has_arguments && arguments == NULL))
		goto out;
	error = read_instructions(r, code);
	if (error < 0)
		goto out;
	error = rte_swx_pipeline_action_config(r->pipeline, name, arguments,
					       (const char **)(uintptr_t)code->items, code->n);
	if (error)
		error = fail(r, error, "action %s refused by SWX", name);
out:
	if (code != NULL)
		names_free(code);
	free(name);
	free(arguments);
	return error;
}

#define TABLE_FIELDS_MAX 16
#define TABLE_ACTIONS_MAX 16

struct table {
	struct rte_swx_match_field_params fields[TABLE_FIELDS_MAX];
	int for_entries[TABLE_ACTIONS_MAX];
	int for_default[TABLE_ACTIONS_MAX];
	struct names *keys;
	struct names *actions;
	char default_action[RTE_SWX_NAME_SIZE];
	int default_is_const;
	uint32_t size;
};

static int
read_keys(struct reader *r, struct table *t)
{
	struct line line;
	int got, error;

	while ((got = next_in_block(r, &line)) > 0) {
		if (line.n != 2 || t->keys->n == TABLE_FIELDS_MAX || !is(&line, 1, "exact"))
			return fail(r, -ENOTSUP, "expected FIELD exact");
		t->fields[t->keys->n].match_type = RTE_SWX_TABLE_MATCH_EXACT;
		error = names_add(r, t->keys, line.tokens[0]);
		if (error < 0)
			return error;
	}
	for (uint32_t i = 0; i < t->keys->n; i++)
		t->fields[i].name = t->keys->items[i];
	return got;
}

static int
read_actions(struct reader *r, struct table *t)
{
	struct line line;
	int got, error;

	while ((got = next_in_block(r, &line)) > 0) {
		if (t->actions->n == TABLE_ACTIONS_MAX)
			return fail(r, -ENOSPC, "more than %d actions", TABLE_ACTIONS_MAX);
		t->for_entries[t->actions->n] = !is(&line, 1, "@defaultonly");
		t->for_default[t->actions->n] = !is(&line, 1, "@tableonly");
		error = names_add(r, t->actions, line.tokens[0]);
		if (error < 0)
			return error;
	}
	return got;
}

/* default_action NAME args none [const] */
static int
read_default_action(struct reader *r, struct table *t, const struct line *line)
{
	if (line->n < 4 || !is(line, 2, "args") || !is(line, 3, "none"))
		return fail(r, -ENOTSUP, "a default action with arguments");
	snprintf(t->default_action, sizeof(t->default_action), "%s", line->tokens[1]);
	t->default_is_const = is(line, 4, "const");
	return 0;
}

static int
read_table(struct reader *r, struct table *t)
{
	struct line line;
	int got, error = 0;

	while ((got = next_in_block(r, &line)) > 0) {
		if (is(&line, 0, "key"))
			error = read_keys(r, t);
		else if (is(&line, 0, "actions"))
			error = read_actions(r, t);
		else if (is(&line, 0, "default_action"))
			error = read_default_action(r, t, &line);
		else if (is(&line, 0, "size") && line.n == 2)
			t->size = (uint32_t)strtoul(line.tokens[1], NULL, 0);
		else
			error = fail(r, -ENOTSUP, "'%s' in a table", line.tokens[0]);
		if (error < 0)
			return error;
	}
	return got;
}

static int
configure_table(struct reader *r, const char *name, struct table *t)
{
	struct rte_swx_pipeline_table_params params = {
		.fields = t->fields,
		.n_fields = t->keys->n,
		.action_names = (const char **)(uintptr_t)t->actions->items,
		.action_is_for_table_entries = t->for_entries,
		.action_is_for_default_entry = t->for_default,
		.n_actions = t->actions->n,
		.default_action_name = t->default_action,
		.default_action_is_const = t->default_is_const,
	};
	int error = rte_swx_pipeline_table_config(r->pipeline, name, &params, NULL, NULL, t->size);

	return error ? fail(r, error, "table %s refused by SWX", name) : 0;
}

/* table NAME { key {} actions {} default_action ... size N } */
static int
load_table(struct reader *r, const struct line *head)
{
	struct table t = {
		.keys = calloc(1, sizeof(struct names)),
		.actions = calloc(1, sizeof(struct names)),
	};
	char *name = strdup(head->tokens[1]);
	int error = -ENOMEM;

	if (t.keys == NULL || t.actions == NULL || name == NULL)
		goto out;
	error = read_table(r, &t);
	if (error == 0)
		error = configure_table(r, name, &t);
out:
	if (t.keys != NULL)
		names_free(t.keys);
	if (t.actions != NULL)
		names_free(t.actions);
	free(name);
	return error;
}

/* apply { INSTRUCTION ... } */
static int
load_apply(struct reader *r, const struct line *head)
{
	struct names *code = calloc(1, sizeof(*code));
	int error = -ENOMEM;

	(void)head;
	if (code == NULL)
		return error;
	error = read_instructions(r, code);
	if (error == 0) {
		error = rte_swx_pipeline_instructions_config(
			r->pipeline, (const char **)(uintptr_t)code->items, code->n);
		if (error)
			error = fail(r, error, "the apply block was refused by SWX");
	}
	names_free(code);
	return error;
}

struct declaration {
	const char *keyword;
	uint32_t words; /* at least */
	int (*load)(struct reader *r, const struct line *line);
};

static const struct declaration declarations[] = {
	{"struct", 3, load_struct},	{"header", 4, load_header}, {"metadata", 3, load_metadata},
	{"regarray", 6, load_regarray}, {"action", 5, load_action}, {"table", 3, load_table},
	{"apply", 2, load_apply},
};

static int
load_declaration(struct reader *r, const struct line *line)
{
	for (size_t i = 0; i < RTE_DIM(declarations); i++) {
		const struct declaration *d = &declarations[i];

		if (!is(line, 0, d->keyword))
			continue;
		if (line->n < d->words)
			return fail(r, -EINVAL, "%s: too few words", d->keyword);
		return d->load(r, line);
	}
	return fail(r, -ENOTSUP, "'%s' is not known to this loader", line->tokens[0]);
}

int
swx_spec_load(struct rte_swx_pipeline *pipeline, FILE *spec, char *error, size_t error_bytes)
{
	struct reader r = {
		.file = spec,
		.error = error,
		.error_bytes = error_bytes,
		.pipeline = pipeline,
	};
	struct line line;
	int got, result;

	while ((got = next_line(&r, &line)) > 0) {
		result = load_declaration(&r, &line);
		if (result < 0)
			return result;
	}
	return got;
}

void
swx_spec_digest(FILE *spec, char digest[SWX_DIGEST_BYTES])
{
	char text[LINE_BYTES];

	digest[0] = '\0';
	if (fgets(text, sizeof(text), spec) != NULL)
		sscanf(text, "; sources sha256:%79s", digest);
	rewind(spec);
}
