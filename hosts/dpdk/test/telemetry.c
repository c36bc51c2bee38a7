/* SPDX-License-Identifier: Apache-2.0 */
/* Postcards from the data thread to a file: all of those before the stop are in it once it is
 * finished; where a file takes nothing they are counted as lost, and no other lane notices.
 * Usage: test-telemetry DIRECTORY
 */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rte_memory.h>

#include "core/postcard.h"
#include "plane/telemetry.h"
#include "start_dpdk.h"

#define LANES 64u
#define LANE 7u
#define OTHER_LANE 8u
/* More than all lanes together can hold. */
#define TOO_MANY (2u << 20)

static void
add_version(struct telemetry *t, uint32_t lane, uint32_t n, uint8_t version)
{
	uint8_t bytes[POSTCARD_BYTES_MAX] = {version};

	for (uint32_t i = 0; i < n; i++) {
		put_be(bytes + 32, 4, i); /* lane_seq */
		telemetry_add(t, lane, bytes);
	}
}

static void
add(struct telemetry *t, uint32_t lane, uint32_t n)
{
	add_version(t, lane, n, POSTCARD_VERSION);
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

static void
start(struct telemetry *t, uint32_t lane, const char *path)
{
	CHECK(telemetry_open(t, lane, collect_all(path)) == 0);
	telemetry_start(t, lane);
	CHECK(telemetry_is_collecting(t, lane) && !telemetry_is_stopped(t, lane));
}

/* Take what is in a pipe; without one, let the writer run. */
static long
drain(int pipe)
{
	static uint8_t bytes[1 << 16];
	ssize_t n = pipe < 0 ? 0 : read(pipe, bytes, sizeof(bytes));

	if (n <= 0)
		usleep(1000);
	return n > 0 ? n : 0;
}

/* Stop, and wait until all is in the file; of a pipe, the bytes that came out of it. */
static struct collector_stats
finish(struct telemetry *t, uint32_t lane, int pipe, uint64_t *lost, long *bytes)
{
	struct collector_stats stats;
	long n;

	*bytes = 0;
	telemetry_stop(t, lane);
	CHECK(telemetry_is_stopped(t, lane));
	while (!telemetry_finish(t, lane, &stats, lost))
		*bytes += drain(pipe);
	while (pipe >= 0 && (n = drain(pipe)) > 0)
		*bytes += n;
	CHECK(!telemetry_is_collecting(t, lane));
	return stats;
}

/* Of n postcards all are written, and none that comes after the stop. */
static void
check_all_are_written(struct telemetry *t, const char *path, uint32_t n)
{
	struct collector_stats stats;
	uint64_t lost;
	long bytes;

	start(t, LANE, path);
	add(t, LANE, n);
	telemetry_stop(t, LANE);
	add(t, LANE, 1);
	stats = finish(t, LANE, -1, &lost, &bytes);
	CHECK(stats.seen == n && stats.written == n && stats.gaps == 0 && stats.error == 0);
	CHECK(lost == 0 && bytes_of(path) == (long)(n * POSTCARD_BYTES));
}

/* The same of a lane with several queues, whose postcards are longer. */
static void
check_all_of_queues_are_written(struct telemetry *t, const char *path, uint32_t n)
{
	struct collector_stats stats;
	uint64_t lost;
	long bytes;

	start(t, LANE, path);
	add_version(t, LANE, n, POSTCARD_VERSION_QUEUES);
	telemetry_stop(t, LANE);
	stats = finish(t, LANE, -1, &lost, &bytes);
	CHECK(stats.seen == n && stats.written == n && stats.gaps == 0 && lost == 0);
	CHECK(bytes_of(path) == (long)(n * POSTCARD_BYTES_MAX));
}

static void
check_other_lane(struct telemetry *t, const char *path)
{
	struct collector_stats stats;
	uint64_t lost;
	long bytes;

	start(t, OTHER_LANE, path);
	add(t, OTHER_LANE, 10000);
	stats = finish(t, OTHER_LANE, -1, &lost, &bytes);
	CHECK(stats.seen == 10000 && lost == 0);
	CHECK(bytes_of(path) == 10000L * POSTCARD_BYTES);
}

/* A lane's file is a pipe that nobody reads: it loses what memory does not hold, and stays
 * unfinished; another lane is recorded and finished meanwhile. Once the pipe is read, all that was
 * not lost comes out of it.
 */
static void
check_a_slow_file(struct telemetry *t, const char *path, const char *pipe_path)
{
	struct collector_stats stats;
	uint64_t lost;
	long bytes;
	int pipe;

	unlink(pipe_path);
	CHECK(mkfifo(pipe_path, 0600) == 0);
	pipe = open(pipe_path, O_RDONLY | O_NONBLOCK);
	CHECK(pipe >= 0);
	start(t, LANE, pipe_path);
	add(t, LANE, TOO_MANY);
	telemetry_stop(t, LANE);
	CHECK(!telemetry_finish(t, LANE, &stats, &lost));
	check_other_lane(t, path);
	CHECK(!telemetry_finish(t, LANE, &stats, &lost));
	stats = finish(t, LANE, pipe, &lost, &bytes);
	CHECK(lost > 0 && stats.seen + lost == TOO_MANY && stats.written == stats.seen);
	CHECK(stats.error == 0 && bytes == (long)(stats.written * POSTCARD_BYTES));
	close(pipe);
	unlink(pipe_path);
}

int
main(int argc, char **argv)
{
	struct telemetry *t;
	char path[4096], pipe_path[4096];

	CHECK(argc == 2);
	snprintf(path, sizeof(path), "%s/postcards.raw", argv[1]);
	snprintf(pipe_path, sizeof(pipe_path), "%s/postcards.pipe", argv[1]);
	start_dpdk(1);
	t = telemetry_create(LANES, 1, 0);
	CHECK(t != NULL);
	check_all_are_written(t, path, 0);
	check_all_are_written(t, path, 1);
	check_all_are_written(t, path, 1024);
	check_all_are_written(t, path, 200000);
	check_a_slow_file(t, path, pipe_path);
	check_all_are_written(t, path, 1025);
	check_all_of_queues_are_written(t, path, 853);
	check_all_of_queues_are_written(t, path, 100000);
	telemetry_destroy(t);
	rte_eal_cleanup();
	return 0;
}
