/* SPDX-License-Identifier: Apache-2.0 */
#include "application.h"

#include "common/clock.h"
#include "common/shared.h"
#include "datagram.h"

__extension__ typedef unsigned __int128 wide;

static const char *const kind_names[] = {"rate", "on_off", "video", "udp", NULL};

static int
read_rung(const struct json_place *place, const json_t *value, uint64_t below, uint64_t *rung)
{
	json_int_t bps = json_integer_value(value);

	if (!json_is_integer(value) || bps < 1 || (uint64_t)bps > RATE_BPS_MAX)
		return json_place_error(place, "must be a list of rates of 1 to %llu bit/s",
					(unsigned long long)RATE_BPS_MAX);
	if ((uint64_t)bps <= below)
		return json_place_error(place, "must be ascending");
	*rung = (uint64_t)bps;
	return 0;
}

static int
read_ladder(const struct json_place *place, const struct json_field *field, const json_t *value,
	    void *target)
{
	struct ladder *ladder = target;
	size_t count = json_array_size(value);

	if (!json_is_array(value) || count < 1 || count > LADDER_MAX)
		return json_place_error(place, "must be a list of 1 to %d rates", LADDER_MAX);
	for (size_t i = 0; i < count; i++)
		if (read_rung(place, json_array_get(value, i), i > 0 ? ladder->bps[i - 1] : 0,
			      &ladder->bps[i]) < 0)
			return -1;
	ladder->rungs = (uint32_t)count;
	return 0;
}

#define FIELD(key, member, reader, ...)                                                            \
	JSON_FIELD(struct application, key, member, reader, ##__VA_ARGS__)
#define TIME_FIELD(key, member)                                                                    \
	FIELD(key, member, json_read_i64, .max = DURATION_NS_MAX, .optional = true)

const struct json_field application_fields[APPLICATION_FIELDS] = {
	FIELD("group", group, json_read_u32, .max = UINT16_MAX),
	FIELD("kind", kind, json_read_choice, .choices = kind_names),
	FIELD("rate_bps", rate_bps, json_read_i64, .max = RATE_BPS_MAX, .optional = true),
	TIME_FIELD("on_ns", on_ns),
	TIME_FIELD("off_ns", off_ns),
	FIELD("ladder", ladder, read_ladder, .optional = true),
	TIME_FIELD("segment_ns", segment_ns),
	TIME_FIELD("buffer_ns", buffer_ns),
	FIELD("packet_bytes", packet_bytes, json_read_u32, .min = DATAGRAM_BYTES_MIN,
	      .max = DATAGRAM_BYTES_MAX, .optional = true),
	TIME_FIELD("every_ns", every_ns),
};

static int
check_video(const struct application *application, const struct json_place *place)
{
	if (application->ladder.rungs == 0 || application->segment_ns < MILLISECOND_NS)
		return json_place_error(place, "a video needs a ladder, and segments of 1 ms or "
					       "more");
	if (application->buffer_ns < 2 * application->segment_ns)
		return json_place_error(place, "the buffer must have room for two segments");
	return 0;
}

int
application_check(const struct application *application, const struct json_place *place)
{
	switch (application->kind) {
	case APPLICATION_RATE:
		return application->rate_bps > 0 ?
			       0 :
			       json_place_error(place, "rate_bps must be more than 0");
	case APPLICATION_ON_OFF:
		return application->on_ns > 0 && application->off_ns > 0 ?
			       0 :
			       json_place_error(place, "on_ns and off_ns must be more than 0");
	case APPLICATION_VIDEO:
		return check_video(application, place);
	case APPLICATION_UDP:
		return application->packet_bytes > 0 &&
				       (application->rate_bps > 0 || application->every_ns > 0) ?
			       0 :
			       json_place_error(place, "packet_bytes, and rate_bps or every_ns, "
						       "must be more than 0");
	}
	return 0;
}

json_t *
application_to_json(const struct application *application)
{
	json_t *ladder = json_array();
	json_t *object = json_pack("{s:I, s:s}", "group", (json_int_t)application->group, "kind",
				   kind_names[application->kind]);
	const struct {
		const char *key;
		int64_t value;
	} numbers[] = {
		{"rate_bps", (int64_t)application->rate_bps},
		{"on_ns", application->on_ns},
		{"off_ns", application->off_ns},
		{"segment_ns", application->segment_ns},
		{"buffer_ns", application->buffer_ns},
		{"packet_bytes", application->packet_bytes},
		{"every_ns", application->every_ns},
	};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (numbers[i].value > 0)
			json_object_set_new(object, numbers[i].key, json_integer(numbers[i].value));
	for (uint32_t i = 0; i < application->ladder.rungs; i++)
		json_array_append_new(ladder, json_integer((json_int_t)application->ladder.bps[i]));
	if (application->ladder.rungs > 0)
		json_object_set(object, "ladder", ladder);
	json_decref(ladder);
	return object;
}

uint64_t
application_bytes(uint64_t rate_bps, uint64_t intervals, int64_t interval_ns)
{
	return (uint64_t)((wide)rate_bps * intervals * (uint64_t)interval_ns / 8 / SECOND_NS);
}
