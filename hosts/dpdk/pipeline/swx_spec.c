/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "swx_spec.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "spec_text.h"

#define STRUCT_FIELDS_MAX 64
#define TABLE_FIELDS_MAX 16
#define ACTIONS_MAX 16

static int
join(struct spec_text *spec, const struct spec_line *line, char *text, size_t text_bytes)
{
	size_t used = 0;

	for (uint32_t i = 0; i < line->n; i++) {
		int n = snprintf(text + used, text_bytes - used, i ? " %s" : "%s", line->words[i]);

		if (n < 0 || (size_t)n >= text_bytes - used)
			return spec_refuse(spec, "instruction too long");
		used += (size_t)n;
	}
	return 0;
}

/* SWX 22.11 leaves out the array's number where index and value of a regadd or
 * regwr are both constants, and so changes the first array of the program.
 */
static bool
is_miscompiled(const struct spec_line *line)
{
	uint32_t at = spec_line_is(line, 1, ":") ? 2 : 0;

	return (spec_line_is(line, at, "regadd") || spec_line_is(line, at, "regwr")) &&
	       at + 3 < line->n && isdigit(line->words[at + 2][0]) &&
	       isdigit(line->words[at + 3][0]);
}

/* All lines up to the closing brace, each joined to one string; NULL on a failure. */
static struct spec_items *
read_instructions(struct spec_text *spec)
{
	struct spec_items *instructions = spec_items_create(spec);
	char text[RTE_SWX_INSTRUCTION_SIZE];
	struct spec_line line;
	int result = -1;

	while (instructions != NULL && (result = spec_next_in_block(spec, &line)) > 0) {
		if (is_miscompiled(&line))
			result = spec_refuse(spec, "%s with a constant index and value",
					     line.words[0]);
		else if (join(spec, &line, text, sizeof(text)) < 0)
			result = -1;
		else
			result = spec_items_add(spec, instructions, text);
		if (result < 0)
			break;
	}
	if (result == 0)
		return instructions;
	spec_items_destroy(instructions);
	return NULL;
}

/* bit<N> FIELD, up to the closing brace. */
static int
read_fields(struct spec_text *spec, struct spec_items *names, struct rte_swx_field_params *fields)
{
	struct spec_line line;
	int result;

	while ((result = spec_next_in_block(spec, &line)) > 0) {
		uint32_t bits;

		if (line.n != 2 || sscanf(line.words[0], "bit<%u>", &bits) != 1 ||
		    names->n == STRUCT_FIELDS_MAX)
			return spec_refuse(spec, "expected bit<N> NAME");
		if (spec_items_add(spec, names, line.words[1]) < 0)
			return -1;
		fields[names->n - 1].n_bits = bits;
		fields[names->n - 1].name = names->texts[names->n - 1];
	}
	return result;
}

/* struct NAME { bit<N> FIELD ... } */
static int
load_struct(struct spec_text *spec, struct rte_swx_pipeline *pipeline, const struct spec_line *head)
{
	struct rte_swx_field_params fields[STRUCT_FIELDS_MAX];
	struct spec_items *names = spec_items_create(spec);
	const char *name = head->words[1];
	int error, result = -1;

	if (names != NULL)
		result = read_fields(spec, names, fields);
	if (result == 0) {
		error = rte_swx_pipeline_struct_type_register(pipeline, name, fields, names->n, 0);
		if (error)
			result = spec_refuse(spec, "SWX refused struct %s: %s", name,
					     strerror(abs(error)));
	}
	spec_items_destroy(names);
	return result;
}

/* header NAME instanceof STRUCT */
static int
load_header(struct spec_text *spec, struct rte_swx_pipeline *pipeline, const struct spec_line *line)
{
	if (rte_swx_pipeline_packet_header_register(pipeline, line->words[1], line->words[3]) != 0)
		return spec_refuse(spec, "SWX refused header %s", line->words[1]);
	return 0;
}

/* metadata instanceof STRUCT */
static int
load_metadata(struct spec_text *spec, struct rte_swx_pipeline *pipeline,
	      const struct spec_line *line)
{
	if (rte_swx_pipeline_packet_metadata_register(pipeline, line->words[2]) != 0)
		return spec_refuse(spec, "SWX refused the metadata");
	return 0;
}

/* regarray NAME size SIZE initval VALUE */
static int
load_regarray(struct spec_text *spec, struct rte_swx_pipeline *pipeline,
	      const struct spec_line *line)
{
	uint32_t size = (uint32_t)strtoul(line->words[3], NULL, 0);
	uint64_t initial = strtoull(line->words[5], NULL, 0);

	if (rte_swx_pipeline_regarray_config(pipeline, line->words[1], size, initial) != 0)
		return spec_refuse(spec, "SWX refused regarray %s", line->words[1]);
	return 0;
}

/* action NAME args none | instanceof STRUCT { INSTRUCTION ... } */
static int
load_action(struct spec_text *spec, struct rte_swx_pipeline *pipeline, const struct spec_line *head)
{
	const char *name = head->words[1];
	const char *arguments = spec_line_is(head, 3, "instanceof") ? head->words[4] : NULL;
	struct spec_items *code = read_instructions(spec);
	int result = 0;

	if (code == NULL)
		return -1;
	if (rte_swx_pipeline_action_config(pipeline, name, arguments,
					   (const char **)(uintptr_t)code->texts, code->n) != 0)
		result = spec_refuse(spec, "SWX refused action %s", name);
	spec_items_destroy(code);
	return result;
}

struct table {
	char name[RTE_SWX_NAME_SIZE];
	struct rte_swx_match_field_params fields[TABLE_FIELDS_MAX];
	int for_entries[ACTIONS_MAX];
	int for_default[ACTIONS_MAX];
	struct spec_items *keys;
	struct spec_items *actions;
	char default_action[RTE_SWX_NAME_SIZE];
	int default_is_const;
	uint32_t size;
};

static int
read_table_keys(struct spec_text *spec, struct table *t)
{
	struct spec_line line;
	int result;

	while ((result = spec_next_in_block(spec, &line)) > 0) {
		if (line.n != 2 || t->keys->n == TABLE_FIELDS_MAX ||
		    !spec_line_is(&line, 1, "exact"))
			return spec_refuse(spec, "expected FIELD exact");
		t->fields[t->keys->n].match_type = RTE_SWX_TABLE_MATCH_EXACT;
		if (spec_items_add(spec, t->keys, line.words[0]) < 0)
			return -1;
	}
	for (uint32_t i = 0; i < t->keys->n; i++)
		t->fields[i].name = t->keys->texts[i];
	return result;
}

static int
read_table_actions(struct spec_text *spec, struct table *t)
{
	struct spec_line line;
	int result;

	while ((result = spec_next_in_block(spec, &line)) > 0) {
		if (t->actions->n == ACTIONS_MAX)
			return spec_refuse(spec, "more than %d actions", ACTIONS_MAX);
		t->for_entries[t->actions->n] = !spec_line_is(&line, 1, "@defaultonly");
		t->for_default[t->actions->n] = !spec_line_is(&line, 1, "@tableonly");
		if (spec_items_add(spec, t->actions, line.words[0]) < 0)
			return -1;
	}
	return result;
}

/* default_action NAME args none [const] */
static int
read_default_action(struct spec_text *spec, struct table *t, const struct spec_line *line)
{
	if (line->n < 4 || !spec_line_is(line, 2, "args") || !spec_line_is(line, 3, "none"))
		return spec_refuse(spec, "a default action with arguments is not supported");
	snprintf(t->default_action, sizeof(t->default_action), "%s", line->words[1]);
	t->default_is_const = spec_line_is(line, 4, "const");
	return 0;
}

static int
read_table_part(struct spec_text *spec, struct table *t, const struct spec_line *line)
{
	if (spec_line_is(line, 0, "key"))
		return read_table_keys(spec, t);
	if (spec_line_is(line, 0, "actions"))
		return read_table_actions(spec, t);
	if (spec_line_is(line, 0, "default_action"))
		return read_default_action(spec, t, line);
	if (!spec_line_is(line, 0, "size") || line->n != 2)
		return spec_refuse(spec, "'%s' is not supported in a table", line->words[0]);
	t->size = (uint32_t)strtoul(line->words[1], NULL, 0);
	return 0;
}

static int
read_table(struct spec_text *spec, struct table *t)
{
	struct spec_line line;
	int result;

	while ((result = spec_next_in_block(spec, &line)) > 0)
		if (read_table_part(spec, t, &line) < 0)
			return -1;
	return result;
}

static int
configure_table(struct spec_text *spec, struct rte_swx_pipeline *pipeline, struct table *t)
{
	struct rte_swx_pipeline_table_params params = {
		.fields = t->fields,
		.n_fields = t->keys->n,
		.action_names = (const char **)(uintptr_t)t->actions->texts,
		.action_is_for_table_entries = t->for_entries,
		.action_is_for_default_entry = t->for_default,
		.n_actions = t->actions->n,
		.default_action_name = t->default_action,
		.default_action_is_const = t->default_is_const,
	};

	if (rte_swx_pipeline_table_config(pipeline, t->name, &params, NULL, NULL, t->size) != 0)
		return spec_refuse(spec, "SWX refused table %s", t->name);
	return 0;
}

/* table NAME { key {} actions {} default_action NAME args none [const] size N } */
static int
load_table(struct spec_text *spec, struct rte_swx_pipeline *pipeline, const struct spec_line *head)
{
	struct table t = {
		.keys = spec_items_create(spec),
		.actions = spec_items_create(spec),
	};
	int result = -1;

	snprintf(t.name, sizeof(t.name), "%s", head->words[1]);
	if (t.keys != NULL && t.actions != NULL && read_table(spec, &t) == 0)
		result = configure_table(spec, pipeline, &t);
	spec_items_destroy(t.keys);
	spec_items_destroy(t.actions);
	return result;
}

/* apply { INSTRUCTION ... } */
static int
load_apply(struct spec_text *spec, struct rte_swx_pipeline *pipeline, const struct spec_line *head)
{
	struct spec_items *code = read_instructions(spec);
	int result = 0;

	if (code == NULL)
		return -1;
	if (rte_swx_pipeline_instructions_config(pipeline, (const char **)(uintptr_t)code->texts,
						 code->n) != 0)
		result = spec_refuse(spec, "SWX refused the apply block");
	spec_items_destroy(code);
	return result;
}

static const struct declaration {
	const char *keyword;
	uint32_t words; /* at least */
	int (*load)(struct spec_text *spec, struct rte_swx_pipeline *pipeline,
		    const struct spec_line *head);
} declarations[] = {
	{"struct", 3, load_struct},	{"header", 4, load_header}, {"metadata", 3, load_metadata},
	{"regarray", 6, load_regarray}, {"action", 5, load_action}, {"table", 3, load_table},
	{"apply", 2, load_apply},
};

static int
load_declaration(struct spec_text *spec, struct rte_swx_pipeline *pipeline,
		 const struct spec_line *line)
{
	for (size_t i = 0; i < RTE_DIM(declarations); i++) {
		const struct declaration *d = &declarations[i];

		if (!spec_line_is(line, 0, d->keyword))
			continue;
		if (line->n < d->words)
			return spec_refuse(spec, "%s: too few words", d->keyword);
		return d->load(spec, pipeline, line);
	}
	return spec_refuse(spec, "'%s' is not known to this loader", line->words[0]);
}

int
swx_spec_load(struct rte_swx_pipeline *pipeline, FILE *file, struct failure *failure)
{
	struct spec_text spec = {.file = file, .failure = failure};
	struct spec_line line;
	int result;

	while ((result = spec_next_line(&spec, &line)) > 0)
		if (load_declaration(&spec, pipeline, &line) < 0)
			return -1;
	return result;
}

void
swx_spec_digest(FILE *file, char digest[SWX_DIGEST_BYTES])
{
	char text[SPEC_LINE_BYTES];

	digest[0] = '\0';
	if (fgets(text, sizeof(text), file) != NULL)
		sscanf(text, "; sources sha256:%79s", digest);
	rewind(file);
}
