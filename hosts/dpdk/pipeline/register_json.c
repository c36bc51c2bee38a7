/* SPDX-License-Identifier: Apache-2.0 */
#include "register_json.h"

#include <stdio.h>

json_t *
register_json_histogram(struct pipeline *p, uint32_t lane)
{
	json_t *counts = json_array();
	uint32_t n = HISTOGRAM_BINS;

	while (n > 0 && registers_histogram(p, lane, n - 1) == 0)
		n--;
	for (uint32_t bin = 0; bin < n; bin++)
		json_array_append_new(counts,
				      json_integer((json_int_t)registers_histogram(p, lane, bin)));
	return counts;
}

json_t *
register_json_unshaped(struct pipeline *p)
{
	json_t *unshaped = json_object();

	for (int reason = UNSHAPED_REVERSE; reason < N_UNSHAPED_REASONS; reason++) {
		uint64_t packets, bytes;
		char key[64];

		registers_unshaped(p, (enum unshaped_reason)reason, &packets, &bytes);
		snprintf(key, sizeof(key), "%s_packets", unshaped_names[reason]);
		json_object_set_new(unshaped, key, json_integer((json_int_t)packets));
		snprintf(key, sizeof(key), "%s_bytes", unshaped_names[reason]);
		json_object_set_new(unshaped, key, json_integer((json_int_t)bytes));
	}
	return unshaped;
}
