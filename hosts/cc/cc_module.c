/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What is linked into each congestion control that is a module of a guest's kernel, be it written with
 * cc.h or an ordinary one. The other files of the module are compiled with
 * -Dtcp_register_congestion_control=cc_register, so that an ordinary one, a copy of the kernel's own
 * included, has the name that the scenario has for it. Where the kernel panics, the console says where.
 */
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/version.h>
#include <net/tcp.h>
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 14, 0)
#include <linux/panic_notifier.h>
#endif

int cc_register(struct tcp_congestion_ops *type);

/* User-Mode Linux panics without a trace. The registers are those of a bad access to memory. */
static int
cc_panic(struct notifier_block *block, unsigned long event, void *message)
{
	struct pt_regs *regs = current->thread.segv_regs;

	if (regs)
		pr_emerg("RIP: %pS\n", (void *)PT_REGS_IP(regs));
	dump_stack();
	return NOTIFY_DONE;
}

/* Before User-Mode Linux's own, which does not return. */
static struct notifier_block cc_on_panic = {.notifier_call = cc_panic, .priority = INT_MAX};

/* The name is of the first one that a module registers. */
int
cc_register(struct tcp_congestion_ops *type)
{
	static bool is_named;

	if (!is_named) {
		is_named = true;
		atomic_notifier_chain_register(&panic_notifier_list, &cc_on_panic);
		strscpy(type->name, CC_NAME, sizeof(type->name));
	}
	return tcp_register_congestion_control(type);
}
