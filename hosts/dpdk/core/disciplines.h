/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The disciplines, one C file each in disciplines/, and what is the same for a user's own. */
#ifndef NASHBED_DISCIPLINES_H
#define NASHBED_DISCIPLINES_H

#include "aqm.h"

extern const struct aqm_ops droptail_ops;

/* Ended by NULL. */
extern const struct aqm_ops *const aqm_disciplines[];

/* NULL where there is none of the name. */
const struct aqm_ops *aqm_find(const char *name);

/* A configuration of AQM_CONFIG_BYTES with nothing given. */
void aqm_defaults(const struct aqm_param *params, void *config);

/* A parameter as a number: a flag is 0 or 1. */
double aqm_get(const struct aqm_param *param, const void *config);

/* Set it; false where it is out of range, or no whole number and has to be one. */
bool aqm_set(const struct aqm_param *param, void *config, double value);

/* A line for people that grows as far as there is room. */
struct description {
	char *text;
	size_t bytes;
	size_t at; /* how long it would be, as snprintf() says it */
};

void describe_add(struct description *d, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* A discipline's name. */
void describe_name(struct description *d, const struct aqm_ops *discipline);

/* Each parameter with its value, behind a comma. */
void describe_params(struct description *d, const struct aqm_param *params, const void *config);

#endif
