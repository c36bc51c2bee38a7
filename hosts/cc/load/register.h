/* SPDX-License-Identifier: Apache-2.0 */
/* CCAs of eBPF, registered for as long as a BPF link is held. */
#ifndef CC_LOAD_REGISTER_H
#define CC_LOAD_REGISTER_H

#include <stdint.h>

#include <bpf/libbpf.h>

#define CC_NAME_BYTES 16	      /* TCP_CA_NAME_MAX of the kernel */
#define VERIFIER_LOG_BYTES (16 << 20) /* what a million instructions may leave */

enum refusal {
	REFUSED_BY_VERIFIER,
	REFUSED_NAME_TAKEN,
	REFUSED_NOT_A_CCA,
	REFUSED_NOT_PERMITTED,
	REFUSED_BY_KERNEL,
};

/* Why an object is refused. */
struct refused {
	enum refusal reason;
	char message[256]; /* one line */
	char *log;	   /* the verifier's, VERIFIER_LOG_BYTES of it */
};

/* One that is registered; the kernel unregisters it when the process has ended, however it ends. */
struct registered {
	struct bpf_object *object;
	int link;
	char name[CC_NAME_BYTES];
	uint32_t state_map;   /* its number; 0: it keeps nothing of a connection */
	uint32_t state_bytes; /* what it keeps of each */
};

/* The libbpf messages of the last object go to `refused`; call once. */
void register_quietly(void);

int register_cca(const char *path, struct registered *registered, struct refused *refused);
void unregister_cca(struct registered *registered);

#endif
