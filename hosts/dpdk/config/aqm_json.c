/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "aqm_json.h"

#include <stdio.h>
#include <string.h>

#include "core/aqm_load.h"
#include "core/disciplines.h"
#include "core/line.h"
#include "params_json.h"

static int
unknown_name(const struct json_place *place, const char *name)
{
	char known[256] = "";
	size_t used = 0;

	for (uint32_t i = 0; aqm_disciplines[i] != NULL && used < sizeof(known); i++)
		used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%s",
					 i == 0 ? "" : ", ", aqm_disciplines[i]->name);
	return json_place_error(place, "unknown discipline '%s' (one of %s)", name, known);
}

/* By its file, or by its name among ours. */
static int
choose(const struct json_place *place, const struct named *named, const struct aqm_ops **aqm)
{
	struct json_place of_file = json_place_of_key(place, "file");
	struct json_place of_name = json_place_of_key(place, "name");
	char problem[256];

	if (named->file[0] == '\0') {
		*aqm = aqm_find(named->name);
		return *aqm == NULL ? unknown_name(&of_name, named->name) : 0;
	}
	*aqm = aqm_load(named->file, problem, sizeof(problem));
	return *aqm == NULL ? json_place_error(&of_file, "%s: %s", named->file, problem) : 0;
}

int
aqm_json_read_setup(const struct json_place *place, const json_t *value,
		    const struct aqm_line *line, struct aqm_setup *setup)
{
	struct json_place inner = json_place_inside(place);
	struct named named = {.seed = setup->seed};
	const char *wrong;

	if (params_json_read_named(&inner, value, &named) < 0)
		return -1;
	setup->seed = named.seed;
	if (named.file[0] == '\0' && strcmp(named.name, droptail_ops.name) == 0)
		return 0;
	if (choose(&inner, &named, &setup->ops) < 0)
		return -1;
	aqm_defaults(setup->ops->params, setup->config);
	if (params_json_read(&inner, value, setup->ops->params, setup->config) < 0)
		return -1;
	wrong = setup->ops->check == NULL ? NULL : setup->ops->check(setup->config, line);
	return wrong == NULL ? 0 : json_place_error(&inner, "%s", wrong);
}

int
aqm_json_read(const struct json_place *place, const struct json_field *field, const json_t *value,
	      void *target)
{
	struct discipline_config *config = target;
	struct aqm_line line = {0};

	(void)field;
	line_describe(config, &line);
	return aqm_json_read_setup(place, value, &line, &config->aqm);
}

json_t *
aqm_json_write(const struct aqm_setup *setup)
{
	json_t *object = json_pack("{s:s}", "name", setup->ops->name);

	params_json_write(object, setup->ops->params, setup->config);
	return object;
}
