/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "register_json.h"

#include <stdio.h>

/* One past the last bin that counts something; -1 on a failure. */
static int
used_bins(struct pipeline *p, uint32_t lane, struct failure *failure)
{
	for (uint32_t n = HISTOGRAM_BINS; n > 0; n--) {
		uint64_t count;

		if (registers_histogram(p, lane, n - 1, &count, failure) < 0)
			return -1;
		if (count > 0)
			return (int)n;
	}
	return 0;
}

int
register_json_add_histogram(json_t *object, struct pipeline *p, uint32_t lane,
			    struct failure *failure)
{
	int n = used_bins(p, lane, failure);
	json_t *counts = json_array();

	json_object_set_new(object, "histogram_bin_ns", json_integer((json_int_t)HISTOGRAM_BIN_NS));
	json_object_set_new(object, "histogram", counts);
	for (int bin = 0; bin < n; bin++) {
		uint64_t count;

		if (registers_histogram(p, lane, (uint32_t)bin, &count, failure) < 0)
			return -1;
		json_array_append_new(counts, json_integer((json_int_t)count));
	}
	return n < 0 ? -1 : 0;
}

int
register_json_add_unshaped(json_t *object, struct pipeline *p, struct failure *failure)
{
	for (int reason = UNSHAPED_NOT + 1; reason < N_UNSHAPED_REASONS; reason++) {
		uint64_t packets, bytes;
		char key[64];

		if (registers_unshaped(p, (enum unshaped_reason)reason, &packets, &bytes, failure) <
		    0)
			return -1;
		snprintf(key, sizeof(key), "%s_packets", unshaped_names[reason]);
		json_object_set_new(object, key, json_integer((json_int_t)packets));
		snprintf(key, sizeof(key), "%s_bytes", unshaped_names[reason]);
		json_object_set_new(object, key, json_integer((json_int_t)bytes));
	}
	return 0;
}
