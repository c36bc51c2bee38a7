/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf_map.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int
bpf(enum bpf_cmd command, union bpf_attr *attributes)
{
	return (int)syscall(SYS_bpf, command, attributes, sizeof(*attributes));
}

int
bpf_map_open(uint32_t id)
{
	union bpf_attr attributes;

	memset(&attributes, 0, sizeof(attributes));
	attributes.map_id = id;
	return bpf(BPF_MAP_GET_FD_BY_ID, &attributes);
}

int
bpf_map_read_info(int map, struct bpf_map_info *info)
{
	union bpf_attr attributes;

	memset(&attributes, 0, sizeof(attributes));
	attributes.info.bpf_fd = (uint32_t)map;
	attributes.info.info_len = sizeof(*info);
	attributes.info.info = (uintptr_t)info;
	return bpf(BPF_OBJ_GET_INFO_BY_FD, &attributes);
}

int
bpf_map_read(int map, const void *key, void *value)
{
	union bpf_attr attributes;

	memset(&attributes, 0, sizeof(attributes));
	attributes.map_fd = (uint32_t)map;
	attributes.key = (uintptr_t)key;
	attributes.value = (uintptr_t)value;
	return bpf(BPF_MAP_LOOKUP_ELEM, &attributes);
}
