/* SPDX-License-Identifier: Apache-2.0 */
/* Postcards from the data thread to a file: all of those before the stop are in it once it is
 * finished, and where no chunk is free they are counted as lost and nothing waits.
 * Usage: test-telemetry DIRECTORY
 */
#include <string.h>

#include <rte_eal.h>
#include <rte_memory.h>

#include "common/check.h"
#include "plane/telemetry.h"

/* More lanes than there are chunks. */
#define LANES 1100u
#define LANE 7u

static void
start_dpdk(void)
{
	char *arguments[] = {"test",	       "--no-huge",	 "--no-pci",
			     "--no-shconf",    "--no-telemetry", "-m64",
			     "--iova-mode=va", "--log-level=3",	 NULL};

	CHECK(rte_eal_init(8, arguments) >= 0);
}

static void
add(struct telemetry *t, uint32_t lane, uint32_t n)
{
	uint8_t bytes[POSTCARD_BYTES] = {POSTCARD_VERSION};

	for (uint32_t i = 0; i < n; i++) {
		put_be(bytes + 32, 4, i); /* lane_seq */
		telemetry_add(t, lane, bytes);
	}
}

static struct collector *
collect_all(const char *path)
{
	struct collector_config all = {.mode = COLLECT_ALL};
	struct collector *collector = collector_open(path, &all);

	CHECK(collector != NULL);
	return collector;
}

static long
bytes_of(const char *path)
{
	FILE *file = fopen(path, "rb");
	long bytes;

	CHECK(file != NULL && fseek(file, 0, SEEK_END) == 0);
	bytes = ftell(file);
	fclose(file);
	return bytes;
}

/* Of n postcards all are written, and none that comes after the stop. */
static void
check_all_are_written(struct telemetry *t, const char *path, uint32_t n)
{
	struct collector_stats stats;
	uint64_t lost;

	telemetry_start(t, LANE, collect_all(path));
	CHECK(telemetry_is_collecting(t, LANE));
	add(t, LANE, n);
	telemetry_stop(t, LANE);
	add(t, LANE, 1);
	stats = telemetry_finish(t, LANE, &lost);
	CHECK(!telemetry_is_collecting(t, LANE));
	CHECK(stats.seen == n && stats.written == n && stats.gaps == 0 && stats.error == 0);
	CHECK(lost == 0 && bytes_of(path) == (long)(n * POSTCARD_BYTES));
}

/* Every chunk is with a lane that has begun to fill it: another lane's postcards are lost, and
 * its stop returns all the same.
 */
static void
check_no_chunk_is_free(struct telemetry *t, const char *path)
{
	struct collector_stats stats;
	uint64_t lost;

	for (uint32_t lane = LANE + 1; lane < LANES; lane++) {
		telemetry_start(t, lane, NULL); /* nothing of it is ever handed over */
		add(t, lane, 1);
	}
	telemetry_start(t, LANE, collect_all(path));
	add(t, LANE, 5);
	telemetry_stop(t, LANE);
	stats = telemetry_finish(t, LANE, &lost);
	CHECK(stats.seen == 0 && lost == 5 && bytes_of(path) == 0);
}

int
main(int argc, char **argv)
{
	struct telemetry *t;
	char path[4096];

	CHECK(argc == 2);
	snprintf(path, sizeof(path), "%s/postcards.raw", argv[1]);
	start_dpdk();
	t = telemetry_create(LANES, 0);
	CHECK(t != NULL);
	check_all_are_written(t, path, 0);
	check_all_are_written(t, path, 1);
	check_all_are_written(t, path, 1024);
	check_all_are_written(t, path, 200000);
	check_no_chunk_is_free(t, path);
	telemetry_destroy(t);
	rte_eal_cleanup();
	return 0;
}
