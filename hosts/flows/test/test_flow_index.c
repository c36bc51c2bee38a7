/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>

#include "common/check.h"
#include "flow_index.h"

#define FLOWS 1000

static struct flow_config flows[FLOWS];
static struct config config = {.flows = flows, .n_flows = FLOWS};

/* Flow numbers run downwards, so that their order is not the order of positions. */
static void
fill(void)
{
	for (unsigned int i = 0; i < FLOWS; i++) {
		flows[i].flow = FLOWS - i;
		flows[i].source.sin_addr.s_addr = htonl(0x0a400001u + i % 7);
		flows[i].source.sin_port = htons((uint16_t)(10000 + i));
	}
}

static void
finds_every_flow_by_its_source(void)
{
	struct failure failure = {0};
	struct flow_index index;

	CHECK(flow_index_build(&index, &config, &failure) == 0);
	for (size_t i = 0; i < FLOWS; i++)
		CHECK(flow_index_find(&index, flow_key_address(&flows[i].source)) == i);
	CHECK(flow_index_find(&index, 0) == FLOW_INDEX_NONE);
	flow_index_free(&index);
}

int
main(void)
{
	fill();
	finds_every_flow_by_its_source();
	return 0;
}
