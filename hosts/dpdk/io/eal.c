/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "eal.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_errno.h>

#include "wire.h"

/* Those of any start, and a port's for each loop. */
#define ARGUMENTS_MAX (16 + N_WIRES * LOOPS_MAX)
#define ARGUMENT_BYTES WIRE_ARGUMENT_BYTES
#define POOL_CACHE 256
/* Packet buffers beyond those in queues: in the ports' rings and bursts, or in a burst alone. */
#define RING_PACKETS 32768u
#define VIRTUAL_PACKETS 1024u

struct arguments {
	char texts[ARGUMENTS_MAX][ARGUMENT_BYTES];
	char *pointers[ARGUMENTS_MAX + 1];
	int n;
};

static void __attribute__((format(printf, 2, 3))) add(struct arguments *a, const char *format, ...)
{
	va_list values;

	va_start(values, format);
	vsnprintf(a->texts[a->n], ARGUMENT_BYTES, format, values);
	va_end(values);
	a->pointers[a->n] = a->texts[a->n];
	a->n++;
}

/* In virtual time it runs on any core, and there are no ports' rings. */
static bool
is_virtual(const struct config *config)
{
	return config->wires[WIRE_SENDERS].driver == DRIVER_VIRTUAL;
}

static int
first_allowed_core(void)
{
	cpu_set_t cores;

	if (sched_getaffinity(0, sizeof(cores), &cores) == 0)
		for (int core = 0; core < CPU_SETSIZE; core++)
			if (CPU_ISSET(core, &cores))
				return core;
	return 0;
}

/* A thread for each loop; in a guest all loops are its caller's thread's. */
static void
add_cores(struct arguments *a, const struct config *config)
{
	char list[ARGUMENT_BYTES] = "";
	size_t used = 0;

	if (is_virtual(config) && !(config->offline && config->n_loops > 1)) {
		add(a, "-l%d", first_allowed_core());
		return;
	}
	for (uint32_t i = 0; i < config->n_loops; i++)
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%u", i ? "," : "",
					 config->cores[i]);
	add(a, "-l%s", list);
	add(a, "--main-lcore=%u", config->cores[0]);
}

static bool
any_pci(const struct config *config)
{
	for (int id = 0; id < N_WIRES; id++)
		if (config_has_wire(config, (enum wire_id)id) &&
		    config->wires[id].driver == DRIVER_PCI)
			return true;
	return false;
}

static void
add_wires(struct arguments *a, const struct config *config)
{
	for (int id = 0; id < N_WIRES; id++) {
		const struct wire_config *wire = &config->wires[id];
		char text[ARGUMENT_BYTES];

		if (!config_has_wire(config, (enum wire_id)id) || wire->driver == DRIVER_VIRTUAL)
			continue;
		for (uint32_t i = 0; i < wire->devices.n; i++) {
			wire_eal_argument(wire, (enum wire_id)id, i, text, sizeof(text));
			add(a, "%s", text);
		}
	}
}

int
eal_start(const struct config *config, struct failure *failure)
{
	struct arguments a = {0};

	add(&a, "nashbed-dataplane");
	add(&a, "--no-telemetry");
	add(&a, "--log-level=*:error");
	add_cores(&a, config);
	add(&a, "-m%u", config->memory_mb);
	/* Either way nothing is left in a file system and runs do not meet. */
	if (!config->huge_pages) {
		add(&a, "--no-huge");
		add(&a, "--no-shconf");
	} else {
		add(&a, "--in-memory");
	}
	if (!any_pci(config)) {
		add(&a, "--no-pci");
		add(&a, "--iova-mode=va");
	}
	add_wires(&a, config);
	if (rte_eal_init(a.n, a.pointers) >= 0)
		return 0;
	return failure_set(failure, EXIT_STATUS_HOST,
			   "DPDK does not start: %s; are core %u%s and %u MB of %s there, and the "
			   "ports' interfaces? ('make hugepages', 'nashbed doctor')",
			   rte_strerror(rte_errno), config->cores[0],
			   config->n_loops > 1 ? ", its other cores" : "", config->memory_mb,
			   config->huge_pages ? "huge pages" : "memory");
}

struct rte_mempool *
eal_packet_pool(const struct config *config, uint32_t loop, struct failure *failure)
{
	uint32_t queued = (config->queue_packets + config->n_loops - 1) / config->n_loops;
	uint32_t n = queued + (is_virtual(config) ? VIRTUAL_PACKETS : RING_PACKETS);
	char name[RTE_MEMPOOL_NAMESIZE];
	struct rte_mempool *pool;

	snprintf(name, sizeof(name), "packets_%u", loop);
	pool = rte_pktmbuf_pool_create(name, n, POOL_CACHE, 0, RTE_MBUF_DEFAULT_BUF_SIZE,
				       SOCKET_ID_ANY);
	if (pool == NULL)
		failure_set(failure, EXIT_STATUS_HOST,
			    "no memory for %u packets in memory_mb=%u; raise it or lower "
			    "queue_packets",
			    n, config->memory_mb);
	return pool;
}
