/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "spec_table.h"

#include <stdlib.h>

#define FIELDS_MAX 16
#define ACTIONS_MAX 16

struct table {
	char name[RTE_SWX_NAME_SIZE];
	struct rte_swx_match_field_params fields[FIELDS_MAX];
	int for_entries[ACTIONS_MAX];
	int for_default[ACTIONS_MAX];
	struct spec_items *keys;
	struct spec_items *actions;
	char default_action[RTE_SWX_NAME_SIZE];
	int default_is_const;
	uint32_t size;
};

static int
read_keys(struct spec_text *spec, struct table *t)
{
	struct spec_line line;
	int result;

	while ((result = spec_next_in_block(spec, &line)) > 0) {
		if (line.n != 2 || t->keys->n == FIELDS_MAX || !spec_line_is(&line, 1, "exact"))
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
read_actions(struct spec_text *spec, struct table *t)
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
read_part(struct spec_text *spec, struct table *t, const struct spec_line *line)
{
	if (spec_line_is(line, 0, "key"))
		return read_keys(spec, t);
	if (spec_line_is(line, 0, "actions"))
		return read_actions(spec, t);
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
		if (read_part(spec, t, &line) < 0)
			return -1;
	return result;
}

static int
configure(struct spec_text *spec, struct rte_swx_pipeline *pipeline, struct table *t)
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

int
spec_table_load(struct spec_text *spec, struct rte_swx_pipeline *pipeline,
		const struct spec_line *head)
{
	struct table t = {
		.keys = spec_items_create(spec),
		.actions = spec_items_create(spec),
	};
	int result = -1;

	snprintf(t.name, sizeof(t.name), "%s", head->words[1]);
	if (t.keys != NULL && t.actions != NULL && read_table(spec, &t) == 0)
		result = configure(spec, pipeline, &t);
	spec_items_destroy(t.keys);
	spec_items_destroy(t.actions);
	return result;
}
