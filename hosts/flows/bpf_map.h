/* SPDX-License-Identifier: Apache-2.0 */
/* Reading of eBPF maps, by the system call: libbpf would bring libraries that a guest's programs had
 * to find.
 */
#ifndef FLOWS_BPF_MAP_H
#define FLOWS_BPF_MAP_H

#include <linux/bpf.h>
#include <stdint.h>

/* All return -1 and set errno on failure. A descriptor of the map of this number: */
int bpf_map_open(uint32_t id);
int bpf_map_read_info(int map, struct bpf_map_info *info);
int bpf_map_read(int map, const void *key, void *value);

#endif
