/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The data plane as a library inside a guest's process: hosts/uml/nashbed_virtual.h is its seam to
 * the guest's kernel, which owns the clock. The control socket is served while the guest waits for
 * a request, and so at one instant of virtual time; requests that are not the data plane's are
 * the guest's.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_errno.h>
#include <rte_mbuf_dyn.h>

#include "control/control.h"
#include "driver.h"
#include "pipeline/native.h"
#include "uml/nashbed_virtual.h"

/* The kernel's stack is aligned to 8 bytes only. */
#define ENTRY __attribute__((force_align_arg_pointer)) static
#define PROGRAM "nashbed-virtual"
#define WAIT_MS 1000

static const enum wire_id wire_ids[NASHBED_VIRTUAL_WIRES] = {
	[NASHBED_VIRTUAL_SENDERS] = WIRE_SENDERS,
	[NASHBED_VIRTUAL_RECEIVERS] = WIRE_RECEIVERS,
};

static struct {
	struct virtual_driver driver;
	struct control *control;
	int zeros_offset; /* in an mbuf: how many bytes at its end are zeros that nobody wrote */
	bool is_ready;
	/* The guest's request, handed over in parts. */
	char *request;
	size_t bytes;
	size_t read;
} library;

static uint16_t *
zeros_of(struct rte_mbuf *mbuf)
{
	return RTE_MBUF_DYNFIELD(mbuf, library.zeros_offset, uint16_t *);
}

ENTRY void *
alloc_frame(unsigned int bytes, void **data)
{
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(library.driver.dp.loops[0].pool);

	if (mbuf == NULL) {
		library.driver.dp.loops[0].wires[WIRE_SENDERS].count.rx_no_mbuf++;
		return NULL;
	}
	*data = rte_pktmbuf_append(mbuf, (uint16_t)bytes);
	if (*data != NULL)
		return mbuf;
	rte_pktmbuf_free(mbuf);
	return NULL;
}

ENTRY void
receive_frame(int wire, void *frame, unsigned int zeros, unsigned long long now_ns)
{
	*zeros_of(frame) = (uint16_t)zeros;
	virtual_driver_receive(&library.driver, wire_ids[wire], frame, now_ns);
}

ENTRY unsigned long long
next_event(void)
{
	return virtual_driver_next_event(&library.driver);
}

ENTRY void
advance(unsigned long long now_ns)
{
	virtual_driver_advance(&library.driver, now_ns);
}

ENTRY void *
take_frame(int *wire, void **data, unsigned int *bytes, unsigned int *zeros)
{
	enum wire_id id;
	struct rte_mbuf *mbuf = virtual_driver_take(&library.driver, &id);

	if (mbuf == NULL)
		return NULL;
	*wire = id == WIRE_SENDERS ? NASHBED_VIRTUAL_SENDERS : NASHBED_VIRTUAL_RECEIVERS;
	*data = rte_pktmbuf_mtod(mbuf, void *);
	*bytes = mbuf->pkt_len;
	*zeros = *zeros_of(mbuf);
	return mbuf;
}

ENTRY void
release_frame(void *frame)
{
	rte_pktmbuf_free(frame);
}

/* The control socket has a request for the guest. */
static void
take_request(void *context, const char *line, size_t bytes)
{
	library.request = malloc(bytes + 1);
	if (library.request == NULL)
		abort();
	memcpy(library.request, line, bytes);
	library.request[bytes] = '\n';
	library.bytes = bytes + 1;
	library.read = 0;
}

static void
print_ready(void)
{
	if (library.is_ready)
		return;
	library.is_ready = true;
	printf("{\"event\":\"ready\",\"pid\":%d,\"epoch_ns\":%" PRIu64 "}\n", (int)getpid(),
	       library.driver.dp.epoch_ns);
	fflush(stdout);
}

ENTRY unsigned int
wait_request(char *text, unsigned int bytes, unsigned long long now_ns)
{
	size_t n;

	library.driver.now_ns = now_ns;
	print_ready();
	while (library.request == NULL && !atomic_load(&library.driver.dp.stop) &&
	       !control_is_deserted(library.control))
		control_serve(library.control, WAIT_MS);
	if (library.request == NULL)
		return 0;
	n = RTE_MIN(library.bytes - library.read, bytes);
	memcpy(text, library.request + library.read, n);
	library.read += n;
	if (library.read == library.bytes) {
		free(library.request);
		library.request = NULL;
	}
	return (unsigned int)n;
}

ENTRY void
answer(const char *text, unsigned int bytes)
{
	control_answer(library.control, text, bytes);
}

ENTRY void
close_library(void)
{
	control_close(library.control);
	virtual_driver_close(&library.driver);
}

static const struct nashbed_virtual functions = {
	.abi = NASHBED_VIRTUAL_ABI,
	.alloc = alloc_frame,
	.receive = receive_frame,
	.next_event = next_event,
	.advance = advance,
	.take = take_frame,
	.release = release_frame,
	.request = wait_request,
	.answer = answer,
	.close = close_library,
};

static int
register_zeros(struct failure *failure)
{
	static const struct rte_mbuf_dynfield field = {
		.name = "nashbed_zeros",
		.size = sizeof(uint16_t),
		.align = __alignof__(uint16_t),
	};

	library.zeros_offset = rte_mbuf_dynfield_register(&field);
	if (library.zeros_offset >= 0)
		return 0;
	return failure_set(failure, EXIT_STATUS_INTERNAL, "packets have no room for %s: %s",
			   field.name, rte_strerror(rte_errno));
}

static int
open_library(const char *configuration, struct failure *failure)
{
	static const struct control_other guest = {.take = take_request};
	struct config *config = &library.driver.dp.config;
	struct native_note note;

	if (config_read(configuration, false, config, failure) < 0 ||
	    native_choose(config, &note, failure) < 0)
		return -1;
	if (note.text[0] != '\0')
		fprintf(stderr, "%s: %s\n", PROGRAM, note.text);
	if (virtual_driver_open(&library.driver, failure) < 0 || register_zeros(failure) < 0)
		return -1;
	library.control = control_open(&library.driver.dp, &guest, failure);
	return library.control != NULL ? 0 : -1;
}

__attribute__((visibility("default"))) const struct nashbed_virtual *
nashbed_virtual_open(const char *configuration)
{
	struct failure failure = {0};

	if (open_library(configuration, &failure) == 0)
		return &functions;
	exit(failure_print(&failure, PROGRAM));
}
