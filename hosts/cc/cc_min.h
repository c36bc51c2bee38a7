/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The least value of a window of time that slides by a quarter of its length: it holds what was seen
 * in the last 3/4 to 4/4 of the window, in 24 bytes and without a loop. Of the largest value it is
 * the same with the bits turned over (~value).
 */
#ifndef NASHBED_CC_MIN_H
#define NASHBED_CC_MIN_H

struct cc_min {
	u64 since;	/* when the newest quarter began */
	u32 quarter[4]; /* newest first */
};

CC_INLINE void
cc_min_reset(struct cc_min *least, u64 now, u32 value)
{
	least->since = now;
	least->quarter[0] = value;
	least->quarter[1] = value;
	least->quarter[2] = value;
	least->quarter[3] = value;
}

CC_INLINE u32
cc_min_get(const struct cc_min *least)
{
	u32 newer = min(least->quarter[0], least->quarter[1]);
	u32 older = min(least->quarter[2], least->quarter[3]);

	return min(newer, older);
}

CC_INLINE u32
cc_min_add(struct cc_min *least, u64 now, u64 window, u32 value)
{
	u64 age = now - least->since;

	if (age >= window + window / 4) {
		cc_min_reset(least, now, value); /* all of it is old */
	} else if (age >= window / 4) {
		least->quarter[3] = least->quarter[2];
		least->quarter[2] = least->quarter[1];
		least->quarter[1] = least->quarter[0];
		least->quarter[0] = value;
		least->since = now;
	} else if (value < least->quarter[0]) {
		least->quarter[0] = value;
	}
	return cc_min_get(least);
}

#endif
