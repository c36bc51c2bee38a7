/* SPDX-License-Identifier: GPL-2.0-only */
/* One of the kernel's files, and where the operations of its queue disciplines are. */
#include "kernel.h"

#include QDISC_FILE

#define NAMED(name) const struct Qdisc_ops *const oracle_##name = &name##_qdisc_ops;

QDISCS
