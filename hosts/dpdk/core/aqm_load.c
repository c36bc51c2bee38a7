/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "aqm_load.h"

#include <dlfcn.h>
#include <stdio.h>

#include "discipline.h"

/* What is wrong with a discipline; NULL: nothing that can be seen. */
static const char *
problem_of(const struct aqm_ops *ops)
{
	if (ops == NULL || ops->abi != AQM_ABI)
		return "is of another version of aqm.h; compile it again";
	if (ops->name == NULL || ops->params == NULL || ops->init == NULL || ops->enqueue == NULL ||
	    ops->dequeue == NULL)
		return "has no name, params, init, enqueue or dequeue in its struct aqm_ops";
	if (ops->config_bytes > AQM_CONFIG_BYTES)
		return "has too large a configuration; keep tables in its state";
	if (ops->state_bytes == 0)
		return "has no state_bytes in its struct aqm_ops";
	for (const struct aqm_param *p = ops->params; p->name != NULL; p++)
		if (p->kind > AQM_FLAG || p->offset >= ops->config_bytes || !(p->min <= p->max) ||
		    !(p->first <= p->max) || p->help == NULL)
			return "has a parameter outside its configuration or its own range, or "
			       "without help";
	return NULL;
}

const struct aqm_ops *
aqm_load(const char *path, char *problem, size_t problem_bytes)
{
	void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	const struct aqm_ops *(*exported)(void);
	const struct aqm_ops *ops;
	const char *why;

	if (object == NULL) {
		snprintf(problem, problem_bytes, "%s", dlerror());
		return NULL;
	}
	*(void **)&exported = dlsym(object, "nashbed_aqm");
	ops = exported == NULL ? NULL : exported();
	why = exported == NULL ? "exports no discipline: end it with AQM_EXPORT(ops);" :
				 problem_of(ops);
	if (why == NULL)
		return ops;
	snprintf(problem, problem_bytes, "%s", why);
	dlclose(object);
	return NULL;
}
