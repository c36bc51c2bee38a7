/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "aqm_load.h"

#include <dlfcn.h>
#include <stdio.h>

#define MEMORY_FUNCTION "nashbed_memory"

static const char *
problem_of_params(const struct aqm_param *params, size_t config_bytes)
{
	if (config_bytes > AQM_CONFIG_BYTES)
		return "has too large a configuration; keep tables in its state";
	for (const struct aqm_param *p = params; p->name != NULL; p++)
		if (p->kind > AQM_FLAG || p->offset >= config_bytes || !(p->min <= p->max) ||
		    !(p->first <= p->max) || p->help == NULL)
			return "has a parameter outside its configuration or its own range, or "
			       "without help";
	return NULL;
}

/* What is wrong with a discipline; NULL: nothing that can be seen. */
static const char *
problem_of_aqm(const struct aqm_ops *ops)
{
	if (ops == NULL || ops->abi != AQM_ABI)
		return "is of another version of aqm.h; compile it again";
	if (ops->name == NULL || ops->params == NULL || ops->init == NULL || ops->enqueue == NULL ||
	    ops->dequeue == NULL)
		return "has no name, params, init, enqueue or dequeue in its struct aqm_ops";
	if (ops->state_bytes == 0)
		return "has no state_bytes in its struct aqm_ops";
	return problem_of_params(ops->params, ops->config_bytes);
}

static const char *
problem_of_memory(const struct memory_ops *ops)
{
	if (ops == NULL || ops->abi != MEMORY_ABI)
		return "is of another version of memory.h; compile it again";
	if (ops->name == NULL || ops->params == NULL || ops->threshold == NULL)
		return "has no name, params or threshold in its struct memory_ops";
	return problem_of_params(ops->params, ops->config_bytes);
}

/* A shared object's function of a name; NULL with a line for people. */
static void *
open_function(const char *path, const char *name, const char *missing, void **object, char *problem,
	      size_t problem_bytes)
{
	void *function;

	*object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (*object == NULL) {
		snprintf(problem, problem_bytes, "%s", dlerror());
		return NULL;
	}
	function = dlsym(*object, name);
	if (function != NULL)
		return function;
	snprintf(problem, problem_bytes, "%s", missing);
	dlclose(*object);
	return NULL;
}

/* Whether nothing is wrong with what a shared object exports; else it is closed. */
static bool
is_kept(void *object, const char *why, char *problem, size_t problem_bytes)
{
	if (why == NULL)
		return true;
	snprintf(problem, problem_bytes, "%s", why);
	dlclose(object);
	return false;
}

const struct aqm_ops *
aqm_load(const char *path, char *problem, size_t problem_bytes)
{
	const struct aqm_ops *(*function)(void);
	const struct aqm_ops *ops;
	void *object;

	*(void **)&function = open_function(path, "nashbed_aqm",
					    "exports no discipline: end it with AQM_EXPORT(ops);",
					    &object, problem, problem_bytes);
	if (function == NULL)
		return NULL;
	ops = function();
	return is_kept(object, problem_of_aqm(ops), problem, problem_bytes) ? ops : NULL;
}

const struct memory_ops *
memory_load(const char *path, char *problem, size_t problem_bytes)
{
	const struct memory_ops *(*function)(void);
	const struct memory_ops *ops;
	void *object;

	*(void **)&function = open_function(path, MEMORY_FUNCTION,
					    "exports no policy: end it with MEMORY_EXPORT(ops);",
					    &object, problem, problem_bytes);
	if (function == NULL)
		return NULL;
	ops = function();
	return is_kept(object, problem_of_memory(ops), problem, problem_bytes) ? ops : NULL;
}

bool
memory_is_in(const char *path)
{
	void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	bool is_in = object != NULL && dlsym(object, MEMORY_FUNCTION) != NULL;

	if (object != NULL)
		dlclose(object);
	return is_in;
}
