/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "disciplines.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

extern const struct aqm_ops step_ops, red_ops, codel_ops, pie_ops, fq_codel_ops, dualpi2_ops;

const struct aqm_ops *const aqm_disciplines[] = {
	&droptail_ops, &step_ops, &red_ops, &codel_ops, &pie_ops, &fq_codel_ops, &dualpi2_ops, NULL,
};

const struct aqm_ops *
aqm_find(const char *name)
{
	for (uint32_t i = 0; aqm_disciplines[i] != NULL; i++)
		if (strcmp(aqm_disciplines[i]->name, name) == 0)
			return aqm_disciplines[i];
	return NULL;
}

static void
put(const struct aqm_param *param, void *config, double value)
{
	uint8_t *target = (uint8_t *)config + param->offset;

	switch (param->kind) {
	case AQM_PROBABILITY:
	case AQM_REAL:
		memcpy(target, &value, sizeof(value));
		break;
	case AQM_FLAG:
		*(bool *)target = value != 0;
		break;
	case AQM_TIME:
	case AQM_BYTES:
	case AQM_PACKETS:
	case AQM_NUMBER:
	default:
		*(uint64_t *)target = (uint64_t)value;
	}
}

void
aqm_defaults(const struct aqm_param *params, void *config)
{
	memset(config, 0, AQM_CONFIG_BYTES);
	for (const struct aqm_param *p = params; p->name != NULL; p++)
		put(p, config, p->first);
}

double
aqm_get(const struct aqm_param *param, const void *config)
{
	const uint8_t *value = (const uint8_t *)config + param->offset;

	switch (param->kind) {
	case AQM_PROBABILITY:
	case AQM_REAL:
		return *(const double *)value;
	case AQM_FLAG:
		return *(const bool *)value;
	case AQM_TIME:
	case AQM_BYTES:
	case AQM_PACKETS:
	case AQM_NUMBER:
	default:
		return (double)*(const uint64_t *)value;
	}
}

bool
aqm_set(const struct aqm_param *param, void *config, double value)
{
	bool is_real = param->kind == AQM_PROBABILITY || param->kind == AQM_REAL;

	if (!(value >= param->min && value <= param->max))
		return false;
	if (!is_real && value != (double)(uint64_t)value)
		return false;
	put(param, config, value);
	return true;
}

void
describe_add(struct description *d, const char *format, ...)
{
	size_t room = d->at < d->bytes ? d->bytes - d->at : 0;
	va_list arguments;

	va_start(arguments, format);
	d->at += (size_t)vsnprintf(d->text + d->bytes - room, room, format, arguments);
	va_end(arguments);
}

/* These words are in the digest of each trial of a guest: they stay as they are. */
void
describe_name(struct description *d, const struct aqm_ops *discipline)
{
	describe_add(d, "%s", discipline == &droptail_ops ? "drop-tail" : discipline->name);
}

void
describe_params(struct description *d, const struct aqm_param *params, const void *config)
{
	for (const struct aqm_param *p = params; p->name != NULL; p++) {
		const void *value = (const uint8_t *)config + p->offset;

		if (p->kind == AQM_PROBABILITY || p->kind == AQM_REAL)
			describe_add(d, ", %s %g", p->name, *(const double *)value);
		else if (p->kind == AQM_FLAG)
			describe_add(d, ", %s%s", *(const bool *)value ? "" : "no ", p->name);
		else
			describe_add(d, ", %s %" PRIu64 "%s", p->name, *(const uint64_t *)value,
				     p->kind == AQM_TIME ? " ns" : "");
	}
}
