/* SPDX-License-Identifier: Apache-2.0 */
#include "lane_json.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char *const unit_names[] = {
	[LIMIT_BYTES] = "bytes",
	[LIMIT_PACKETS] = "packets",
	[LIMIT_CELLS] = "cells",
};

static int
read_unit(const char *name, enum limit_unit *unit)
{
	for (int i = LIMIT_BYTES; i <= LIMIT_CELLS; i++) {
		if (strcmp(name, unit_names[i]) == 0) {
			*unit = (enum limit_unit)i;
			return 0;
		}
	}
	return -EINVAL;
}

static int
refuse(char *error, size_t error_bytes, const char *text)
{
	snprintf(error, error_bytes, "%s", text);
	return -EINVAL;
}

int
lane_json_read(json_t *object, struct discipline_config *lane, char *error, size_t error_bytes)
{
	json_int_t rate = 0, value = 0, cell = 0, overhead = 0;
	const char *unit = "";
	json_error_t where;

	if (json_unpack_ex(object, &where, JSON_STRICT, "{s:I, s:{s:s, s:I, s?I !}, s?I !}",
			   "rate_bps", &rate, "limit", "unit", &unit, "value", &value, "cell_bytes",
			   &cell, "overhead_bytes", &overhead) < 0)
		return refuse(error, error_bytes, where.text);
	if (read_unit(unit, &lane->unit) < 0)
		return refuse(error, error_bytes, "limit.unit must be bytes, packets or cells");
	if (rate < 1 || rate > (json_int_t)RATE_BPS_MAX)
		return refuse(error, error_bytes, "rate_bps must be 1 to 400000000000");
	if (value < 1 || value >= (json_int_t)LIMIT_MAX)
		return refuse(error, error_bytes, "limit.value must be 1 to 4294967295");
	if (overhead < 0 || overhead > 4096 || cell < 0 || cell > 65536)
		return refuse(error, error_bytes,
			      "overhead_bytes must be 0 to 4096, limit.cell_bytes 0 to 65536");
	if (lane->unit == LIMIT_CELLS && cell == 0)
		return refuse(error, error_bytes, "limit.cell_bytes must be given with cells");
	lane->rate_bps = (uint64_t)rate;
	lane->limit = (uint64_t)value;
	lane->cell_bytes = (uint32_t)cell;
	lane->overhead_bytes = (uint32_t)overhead;
	return 0;
}

json_t *
lane_json_write(const struct discipline_config *lane)
{
	return json_pack("{s:I, s:{s:s, s:I, s:I}, s:I}", "rate_bps", (json_int_t)lane->rate_bps,
			 "limit", "unit", unit_names[lane->unit], "value", (json_int_t)lane->limit,
			 "cell_bytes", (json_int_t)lane->cell_bytes, "overhead_bytes",
			 (json_int_t)lane->overhead_bytes);
}
