#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Edit a Linux source tree so that User-Mode Linux runs a trial in exact, repeatable virtual time.

Each edit is found by a short piece of the source that it replaces. A piece that is missing, or
is there more often than it should be, ends the script before anything is written: the source
differs from every release that the edits were made for. Plain Python without packages.

Example:
    python3 hosts/uml/edits.py linux-source-6.1
"""

# ruff: noqa: T201 -- a command line program says what it does.

from __future__ import annotations

import argparse
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
DRIVER = (
    "nashbed_clock.h",
    "nashbed_cpu.c",
    "nashbed_cpu.h",
    "nashbed_flows.c",
    "nashbed_flows.h",
    "nashbed_kern.c",
    "nashbed_user.c",
    "nashbed_user.h",
    "nashbed_virtual.h",
)
"""Our driver's files, which go into the tree unchanged."""
DRIVERS = "arch/um/drivers"
STAMP = ".nashbed-edited"
"""In a tree that has been edited."""

Release = tuple[int, int]


class EditError(Exception):
    """The tree cannot be edited; the message says where, why, and what to do."""


@dataclass(frozen=True)
class Change:
    """One replacement in one file.

    Attributes:
        path: The file, from the top of the tree.
        anchor: The text that is replaced, which the file has exactly once.
        text: What replaces it.
    """

    path: str
    anchor: str
    text: str


@dataclass(frozen=True)
class Edit:
    """Changes that serve one purpose.

    Attributes:
        reason: What they are for.
        changes: The changes.
        since: The first release that needs them.
        until: The last release that needs them.
    """

    reason: str
    changes: tuple[Change, ...]
    since: Release = (0, 0)
    until: Release = (999, 0)

    def applies_to(self, release: Release) -> bool:
        """Whether a release needs this edit."""
        return self.since <= release <= self.until


TIME_H = "arch/um/include/linux/time-internal.h"
TIME_C = "arch/um/kernel/time.c"
PROCESS_C = "arch/um/os-Linux/skas/process.c"
START_UP_C = "arch/um/os-Linux/start_up.c"
SIGNAL_C = "arch/x86/um/signal.c"
SYSCALLS_C = "arch/x86/um/syscalls_64.c"
SWITCH_C = "arch/um/kernel/process.c"
THREAD_H = "arch/um/include/asm/processor-generic.h"
REGISTERS_C = "arch/x86/um/os-Linux/registers.c"
UTIL_C = "arch/um/os-Linux/util.c"
UM_ARCH_C = "arch/um/kernel/um_arch.c"
MEM_C = "arch/um/kernel/mem.c"
RANDOM_C = "drivers/char/random.c"
SOCKET_C = "net/socket.c"
VDSO_C = "arch/x86/um/vdso/um_vdso.c"
VMA_C = "arch/x86/um/vdso/vma.c"

SEEDED_GETRANDOM = """\
	static unsigned long long state;
	unsigned char *to = buf;
	size_t i;

	if (!state) {
		const char *seed = getenv("NASHBED_SEED");

		state = (seed ? strtoull(seed, NULL, 10) : 0) * 0x9e3779b97f4a7c15ull + 1;
	}
	for (i = 0; i < len; i++) {
		unsigned long long z = (state += 0x9e3779b97f4a7c15ull);

		z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
		z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
		to[i] = (z ^ (z >> 31)) >> 24;
	}
	return len;
"""
"""SplitMix64, one step for each byte: all that is random comes from the seed."""

BUILD = Edit(
    "the driver is built into the kernel",
    (
        Change(
            f"{DRIVERS}/Makefile",
            "obj-y := stdio_console.o",
            "obj-y := nashbed_kern.o nashbed_cpu.o nashbed_flows.o nashbed_user.o stdio_console.o",
        ),
        Change(f"{DRIVERS}/Makefile", "USER_OBJS := fd.o", "USER_OBJS := nashbed_user.o fd.o"),
    ),
)
CLOCK = (
    Edit(
        "times are exact to the nanosecond, instead of in steps of 256 ns; and the driver can "
        "read the time of events",
        (
            Change(TIME_H, "#define TIMER_MULTIPLIER 256", "#define TIMER_MULTIPLIER 1"),
            Change(
                TIME_H,
                "#define TIMER_MIN_DELTA  500",
                "#define TIMER_MIN_DELTA  1\n\nunsigned long long time_travel_now(void);\n"
                "unsigned long long time_travel_next(void);",
            ),
            Change(
                TIME_C,
                "static u64 timer_read(struct clocksource *cs)\n",
                '#include "../drivers/nashbed_clock.h"\n\n'
                "unsigned long long time_travel_now(void)\n{\n\treturn time_travel_time;\n}\n\n"
                "unsigned long long time_travel_next(void)\n{\n"
                "\tstruct time_travel_event *e = time_travel_first_event();\n\n"
                "\treturn e ? e->time : time_travel_time;\n}\n\n"
                "static u64 timer_read(struct clocksource *cs)\n",
            ),
        ),
    ),
    Edit(
        "a reading of the clock still takes 256 ns, so that nobody waits for ever for it to move",
        (
            Change(
                TIME_C,
                "time_travel_update_time_rel(TIMER_MULTIPLIER);",
                "time_travel_update_time_rel(NASHBED_CLOCK_READ_NS);",
            ),
        ),
        since=(5, 11),
    ),
    Edit(
        "a reading of the clock still takes 256 ns, so that nobody waits for ever for it to move",
        (
            Change(
                TIME_C,
                "\t\t\t\t\t\tTIMER_MULTIPLIER,\n",
                "\t\t\t\t\t\tNASHBED_CLOCK_READ_NS,\n",
            ),
        ),
        until=(5, 10),
    ),
    Edit(
        "the tick is that of a usual host: delayed ACKs and the shortest time-out go by it",
        (
            Change(
                "arch/um/Kconfig",
                "config HZ\n\tint\n\tdefault 100\n",
                "config HZ\n\tint\n\tdefault 250\n",
            ),
        ),
    ),
    Edit(
        "a timer does not signal the process on the host that is stopped anyway: it cost a stop "
        "more on its way (the source has it since 7.0)",
        (
            Change(
                TIME_C,
                "\tif (get_current()->mm != NULL)\n",
                "\tif (time_travel_mode != TT_MODE_INFCPU && get_current()->mm != NULL)\n",
            ),
        ),
        until=(6, 12),
    ),
    Edit(
        "an event that comes while the clock is being read is delivered at its time, not when the "
        "reading is over: the bottleneck is never late",
        (
            Change(
                TIME_C,
                "\tlocal_irq_save(flags);\n"
                "\ttime_travel_update_time(time_travel_time + offs, false);\n"
                "\tlocal_irq_restore(flags);\n",
                "\tunsigned long long end;\n"
                "\tstruct time_travel_event *e;\n\n"
                "\tlocal_irq_save(flags);\n"
                "\tend = time_travel_time + offs;\n"
                "\twhile ((e = time_travel_first_event()) && !e->onstack && e->time < end) {\n"
                "\t\ttime_travel_update_time(e->time, false);\n"
                "\t\tlocal_irq_restore(flags);\n"
                "\t\tlocal_irq_save(flags);\n"
                "\t}\n"
                "\tif (time_travel_time < end)\n"
                "\t\ttime_travel_update_time(end, false);\n"
                "\tlocal_irq_restore(flags);\n",
            ),
        ),
        since=(5, 11),
    ),
    Edit(
        "an idle kernel does not ask the host for its own process number, each time and for nobody",
        (
            Change(
                "arch/um/kernel/process.c",
                "\tcpu_tasks[current_thread_info()->cpu].pid = os_getpid();\n",
                "",
            ),
        ),
        until=(6, 9),
    ),
)
RANDOM = (
    Edit(
        "what is random depends on the seed alone, not on the host",
        (Change(UTIL_C, "\treturn getrandom(buf, len, flags);\n", SEEDED_GETRANDOM),),
        since=(5, 18),
    ),
    Edit(
        "what is random does not depend on paths and on who compiled the kernel, which the "
        "command line and the kernel's name tell",
        (
            Change(
                RANDOM_C,
                "\t_mix_pool_bytes(init_utsname(), sizeof(*(init_utsname())));\n"
                "\t_mix_pool_bytes(command_line, strlen(command_line));\n",
                "",
            ),
        ),
        since=(5, 18),
    ),
)


def _no_list_of_modules(path: str) -> tuple[Change, ...]:
    """Nobody reads /proc/modules, but each step of a start takes 256 ns and adds to what is random.

    Args:
        path: The file that makes it.
    """
    function = "static int __init proc_modules_init(void)\n"
    return (
        Change(path, function, function.replace("__init", "__init __maybe_unused")),
        Change(path, "module_init(proc_modules_init);\n", ""),
    )


MODULES = (
    Edit(
        "a kernel that takes modules starts at the same nanosecond as one that does not, and all "
        "that is random in it is the same",
        _no_list_of_modules("kernel/module/procfs.c"),
        since=(5, 19),
    ),
    Edit(
        "the same, where the file was another",
        _no_list_of_modules("kernel/module.c"),
        until=(5, 18),
    ),
)


def _earlier(path: str, function: str, level: str = "__initcall") -> Change:
    """Have a function of the kernel's start called before the clock's steps are counted."""
    return Change(path, f"{level}({function})", f"subsys_initcall({function})")


_NOT_COUNTED = (
    "queue disciplines, asynchronous input and output and io_uring add no step to a start: each "
    "would take 256 ns, and so move everything after it"
)
STEPS = (
    Edit(
        _NOT_COUNTED,
        (
            _earlier("fs/aio.c", "aio_setup"),
            _earlier("net/sched/sch_blackhole.c", "blackhole_init", "device_initcall"),
        ),
    ),
    Edit(_NOT_COUNTED, (_earlier("io_uring/io_uring.c", "io_uring_init"),), since=(6, 0)),
    Edit(_NOT_COUNTED, (_earlier("fs/io_uring.c", "io_uring_init"),), until=(5, 19)),
)
MEMORY = Edit(
    "the size of the memory depends on `mem=` alone, not on the library's heap, which lies between "
    "the kernel and its memory: 64 MiB of addresses are set aside for it",
    (
        Change(
            UM_ARCH_C,
            "\tbrk_start = (unsigned long) sbrk(0);\n",
            "\tbrk_start = max((unsigned long) sbrk(0) + (1 << 20),\n"
            "\t\t\t(unsigned long) &_end + (64 << 20));\n",
        ),
        Change(MEM_C, "sbrk(0)", "brk_start"),
    ),
)
PARENT = """\
#include <sys/wait.h>
#include <sys/prctl.h>

static int parent;
"""
"""Whose child a process is to be."""
DIE_WITH_PARENT = """\
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent) /* It was killed before: init would trace us, and never go on. */
		kill(getpid(), SIGKILL);
"""
SAVE_FP = """\
static void save_fp(struct task_struct *task, int pid)
{
	if (get_fp_registers(pid, task->thread.regs.regs.fp) < 0)
		panic("nashbed: the registers of process %d cannot be read", pid);
	task->thread.has_saved_fp = 1;
}

"""


def _registers_of_threads(pid: str) -> tuple[Change, ...]:
    """Threads of one process, which are one process on the host, have each their own.

    Args:
        pid: The process on the host, of an mm's `context.id`.
    """
    return (
        Change(
            THREAD_H,
            "\tstruct pt_regs *segv_regs;\n",
            "\tstruct pt_regs *segv_regs;\n\tint has_saved_fp;\n",
        ),
        Change(
            SWITCH_C,
            "#include <linux/time-internal.h>\n",
            "#include <linux/time-internal.h>\n\n" + SAVE_FP,
        ),
        Change(
            SWITCH_C,
            "\tto->thread.prev_sched = from;\n",
            "\tif (from->mm && atomic_read(&from->mm->mm_users) > 1)\n"
            f"\t\tsave_fp(from, from->mm->context.id.{pid});\n"
            "\tto->thread.prev_sched = from;\n",
        ),
        Change(
            SWITCH_C,
            "\t\tclear_flushed_tls(p);\n",
            "\t\tif (clone_flags & CLONE_VM)\n"
            f"\t\t\tsave_fp(p, current->mm->context.id.{pid});\n\n"
            "\t\tclear_flushed_tls(p);\n",
        ),
        Change(
            SYSCALLS_C,
            "void arch_switch_to(struct task_struct *to)\n{\n",
            "void arch_switch_to(struct task_struct *to)\n{\n"
            "\tif (to->mm && to->thread.has_saved_fp) {\n"
            f"\t\tif (put_fp_registers(to->mm->context.id.{pid}, to->thread.regs.regs.fp) < 0)\n"
            '\t\t\tpanic("nashbed: the registers of a thread cannot be written");\n'
            "\t\tto->thread.has_saved_fp = 0;\n"
            "\t}\n",
        ),
    )


PIN_H = '#include "../../drivers/nashbed_user.h"\n'
CLOCK_H = '#include "../../drivers/nashbed_clock.h"\n'
"""The driver's, as a file of os-Linux/skas names them."""
READ_CLOCK = """\
#include "../../../um/drivers/nashbed_clock.h"

/* Its time after a reading; 0 where the kernel is to read it, because something happens before. */
static unsigned long long read_clock(struct nashbed_clock **clock)
{
	volatile struct nashbed_clock *c;
	unsigned long long now;

	asm("lea (%%rip), %0" : "=r" (c));
	*clock = (void *)(((unsigned long)c & ~4095ul) + NASHBED_CLOCK_PLACE);
	c = *clock;
	now = c->now + NASHBED_CLOCK_READ_NS;
	if (now >= c->next)
		return 0;
	c->now = now;
	return now;
}
"""
CLOCK_GETTIME = """\
	struct nashbed_clock *c;
	unsigned long long now;

	if ((clock == CLOCK_MONOTONIC || clock == CLOCK_REALTIME) && (now = read_clock(&c))) {
		now += clock == CLOCK_MONOTONIC ? c->monotonic : c->realtime;
		ts->tv_sec = now / 1000000000;
		ts->tv_nsec = now % 1000000000;
		return 0;
	}
"""
GETTIMEOFDAY = """\
	struct nashbed_clock *c;
	unsigned long long now;

	if (tv && !tz && (now = read_clock(&c))) {
		now += c->realtime;
		tv->tv_sec = now / 1000000000;
		tv->tv_usec = now % 1000000000 / 1000;
		return 0;
	}
"""
_BUT_THREADS = "but threads of one process, which are one process on the host, have each their own"
PROCESSES = (
    Edit(
        "processes of the guest that wait on the host die with the kernel's process, however it "
        "ends (the source sees to it since 6.10)",
        (
            Change(
                PROCESS_C,
                "\tif (ptrace(PTRACE_OLDSETOPTIONS, pid, NULL,\n"
                "\t\t   (void *) PTRACE_O_TRACESYSGOOD) < 0) {\n",
                "\tif (ptrace(PTRACE_OLDSETOPTIONS, pid, NULL,\n"
                "\t\t   (void *) (PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL)) < 0) {\n",
            ),
            Change(
                PROCESS_C,
                "\t\t   (void *)PTRACE_O_TRACESYSGOOD) < 0) {\n",
                "\t\t   (void *) (PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL)) < 0) {\n",
            ),
        ),
        until=(6, 9),
    ),
    Edit(
        "nor do the children of its early checks outlive it, if it is killed before it traces them",
        (
            Change(START_UP_C, "#include <sys/wait.h>\n", PARENT),
            Change(START_UP_C, "\tpid = fork();\n", "\tparent = getpid();\n\tpid = fork();\n"),
            Change(
                START_UP_C,
                "\tif (change_sig(SIGWINCH, 0) < 0 ||\n",
                f"{DIE_WITH_PARENT}\tif (change_sig(SIGWINCH, 0) < 0 ||\n",
            ),
        ),
    ),
    Edit(
        "nor a process of the guest's that is killed so",
        (
            Change(PROCESS_C, "#include <sys/wait.h>\n", PARENT),
            Change(
                PROCESS_C,
                "\tflags = CLONE_FILES | SIGCHLD;\n",
                "\tflags = CLONE_FILES | SIGCHLD;\n\tparent = getpid();\n",
            ),
            Change(
                PROCESS_C,
                "\tptrace(PTRACE_TRACEME, 0, 0, 0);\n",
                f"{DIE_WITH_PARENT}\tptrace(PTRACE_TRACEME, 0, 0, 0);\n",
            ),
        ),
        until=(6, 12),
    ),
    Edit(
        "floating-point registers are saved in full on processors with AMX, whose state is larger "
        "than the area for it: the host refuses a part of it (errno 14)",
        (
            Change(
                REGISTERS_C,
                "int have_xstate_support;\n",
                "int have_xstate_support;\n\nstatic char whole_state[16384];\n",
            ),
            Change(
                REGISTERS_C,
                "\t\tif (ptrace(PTRACE_GETREGSET, pid, NT_X86_XSTATE, &iov) < 0)\n"
                "\t\t\treturn -errno;\n",
                "\t\tiov.iov_base = whole_state;\n"
                "\t\tiov.iov_len = sizeof(whole_state);\n"
                "\t\tif (ptrace(PTRACE_GETREGSET, pid, NT_X86_XSTATE, &iov) < 0)\n"
                "\t\t\treturn -errno;\n"
                "\t\t__builtin_memcpy(fp_regs, whole_state, FP_SIZE * sizeof(unsigned long));\n",
            ),
            Change(
                REGISTERS_C,
                "\t\tif (ptrace(PTRACE_SETREGSET, pid, NT_X86_XSTATE, &iov) < 0)\n",
                "\t\t__builtin_memcpy(whole_state, fp_regs, FP_SIZE * sizeof(unsigned long));\n"
                "\t\tiov.iov_base = whole_state;\n"
                "\t\tiov.iov_len = sizeof(whole_state);\n"
                "\t\tif (ptrace(PTRACE_SETREGSET, pid, NT_X86_XSTATE, &iov) < 0)\n",
            ),
        ),
        until=(6, 12),
    ),
    Edit(
        "floating-point registers stay in the process on the host, but for page faults and "
        "signals: two calls of ptrace less for each system call",
        (
            Change(
                PROCESS_C,
                "\t\tif (put_fp_registers(pid, regs->fp)) {\n",
                "\t\tif (0) {\n",
            ),
            Change(
                PROCESS_C,
                "\t\tif (get_fp_registers(pid, regs->fp)) {\n",
                "\t\tif (0) {\n",
            ),
            Change(
                SIGNAL_C,
                "\t\terr = copy_from_user(regs->regs.fp, (void *)sc.fpstate,\n"
                "\t\t\t\t     sizeof(struct _xstate));\n",
                "\t\terr = get_fp_registers(userspace_pid[0], regs->regs.fp);\n"
                "\t\tif (!err)\n"
                "\t\t\terr = copy_from_user(regs->regs.fp, (void *)sc.fpstate,\n"
                "\t\t\t\t\t     sizeof(struct _xstate));\n"
                "\t\tif (!err)\n"
                "\t\t\terr = put_fp_registers(userspace_pid[0], regs->regs.fp);\n",
            ),
            Change(
                SIGNAL_C,
                "\t\tif (copy_to_user(to_fp, regs->regs.fp, sizeof(struct _xstate)))\n",
                "\t\tif (get_fp_registers(userspace_pid[0], regs->regs.fp) ||\n"
                "\t\t    copy_to_user(to_fp, regs->regs.fp, sizeof(struct _xstate)))\n",
            ),
        ),
        until=(6, 12),
    ),
    Edit(
        "and a child has its parent's",
        (
            Change(
                PROCESS_C,
                "\terr = put_fp_registers(pid, thread_fp_regs);\n",
                "\terr = 0;\n",
            ),
        ),
        until=(6, 9),
    ),
    Edit(_BUT_THREADS, _registers_of_threads("u.pid"), until=(6, 9)),
    Edit(_BUT_THREADS, _registers_of_threads("pid"), since=(6, 10), until=(6, 12)),
    Edit(
        "a program reads the clock without a stop; it takes the same time",
        (
            Change(VDSO_C, "#include <asm/unistd.h>\n", "#include <asm/unistd.h>\n" + READ_CLOCK),
            Change(
                VDSO_C,
                "struct __kernel_old_timespec *ts)\n{\n\tlong ret;\n",
                "struct __kernel_old_timespec *ts)\n{\n\tlong ret;\n" + CLOCK_GETTIME,
            ),
            Change(
                VDSO_C,
                "struct timezone *tz)\n{\n\tlong ret;\n",
                "struct timezone *tz)\n{\n\tlong ret;\n" + GETTIMEOFDAY,
            ),
            Change(
                VMA_C,
                "unsigned long um_vdso_addr;\n",
                'unsigned long um_vdso_addr;\n#include "../../../um/drivers/nashbed_clock.h"\n',
            ),
            Change(
                VMA_C,
                "BUG_ON(vdso_end - vdso_start > PAGE_SIZE);",
                "BUG_ON(vdso_end - vdso_start > NASHBED_CLOCK_PLACE);",
            ),
            Change(
                VMA_C,
                "\tcopy_page(page_address(um_vdso), vdso_start);\n",
                "\tmemcpy(page_address(um_vdso), vdso_start, vdso_end - vdso_start);\n"
                "\tnashbed_clock = page_address(um_vdso) + NASHBED_CLOCK_PLACE;\n"
                "\tmemset(nashbed_clock, 0, sizeof(*nashbed_clock));\n",
            ),
            Change(VMA_C, "\t\tVM_READ|VM_EXEC|\n", "\t\tVM_READ|VM_WRITE|VM_SHARED|VM_EXEC|\n"),
            Change(PROCESS_C, "#include <as-layout.h>\n", "#include <as-layout.h>\n" + CLOCK_H),
            Change(
                PROCESS_C,
                "\t\tif (ptrace(op, pid, 0, 0)) {\n",
                "\t\tnashbed_clock_set();\n\t\tif (ptrace(op, pid, 0, 0)) {\n",
            ),
            Change(
                PROCESS_C,
                "\t\tUPT_SYSCALL_NR(regs) = -1; /* Assume: It's not a syscall */\n",
                "\t\tUPT_SYSCALL_NR(regs) = -1; /* Assume: It's not a syscall */\n"
                "\t\tnashbed_clock_take();\n",
            ),
        ),
        until=(6, 12),
    ),
    Edit(
        "/proc/cpuinfo does not tell what the host is",
        (
            Change(
                UM_ARCH_C,
                '\tseq_printf(m, "host\\t\\t: %s\\n", host_info);\n',
                "\treturn 0;\n",
            ),
        ),
        until=(6, 12),
    ),
    Edit(
        "a program may be told what the processor is, and what its clock says, by the driver",
        (
            Change(PROCESS_C, "#include <registers.h>\n", "#include <registers.h>\n" + PIN_H),
            Change(
                PROCESS_C,
                "\tkill(os_getpid(), SIGSTOP);\n",
                "\tnashbed_pin();\n\tkill(os_getpid(), SIGSTOP);\n",
            ),
            Change(
                PROCESS_C,
                "\t\t\t\tif (PTRACE_FULL_FAULTINFO) {\n",
                "\t\t\t\tif (nashbed_answer(pid, si.si_code, regs->gp))\n"
                "\t\t\t\t\tbreak;\n"
                "\t\t\t\tif (PTRACE_FULL_FAULTINFO) {\n",
            ),
        ),
        until=(6, 12),
    ),
)
_PRICE_OF_RECEIVED = "and that of those that are received"
CPU = (
    Edit(
        "the processor time of datagrams may have a price",
        (
            Change(
                SOCKET_C,
                "static inline int sock_sendmsg_nosec(struct socket *sock, struct msghdr *msg)\n",
                '#include "../arch/um/drivers/nashbed_cpu.h"\n\n'
                "static inline int sock_sendmsg_nosec(struct socket *sock, struct msghdr *msg)\n",
            ),
            Change(
                SOCKET_C,
                "\t\t\t\t     msg_data_left(msg));\n\tBUG_ON(ret == -EIOCBQUEUED);\n",
                "\t\t\t\t     msg_data_left(msg));\n\tBUG_ON(ret == -EIOCBQUEUED);\n"
                "\tnashbed_charge_sent(sock, msg, ret);\n",
            ),
        ),
        until=(6, 12),
    ),
    Edit(
        _PRICE_OF_RECEIVED,
        (
            Change(
                SOCKET_C,
                "\treturn INDIRECT_CALL_INET(sock->ops->recvmsg, inet6_recvmsg,\n"
                "\t\t\t\t  inet_recvmsg, sock, msg, msg_data_left(msg),\n"
                "\t\t\t\t  flags);\n",
                "\tint ret = INDIRECT_CALL_INET(sock->ops->recvmsg, inet6_recvmsg,\n"
                "\t\t\t\t     inet_recvmsg, sock, msg, msg_data_left(msg),\n"
                "\t\t\t\t     flags);\n\n"
                "\tnashbed_charge_received(sock, ret, flags);\n"
                "\treturn ret;\n",
            ),
        ),
        until=(6, 2),
    ),
    Edit(
        _PRICE_OF_RECEIVED,
        (
            Change(
                SOCKET_C,
                "\tif (trace_sock_recv_length_enabled())\n"
                "\t\tcall_trace_sock_recv_length(sock->sk, ret, flags);\n",
                "\tnashbed_charge_received(sock, ret, flags);\n"
                "\tif (trace_sock_recv_length_enabled())\n"
                "\t\tcall_trace_sock_recv_length(sock->sk, ret, flags);\n",
            ),
        ),
        since=(6, 3),
        until=(6, 12),
    ),
)
BEFORE_5_18 = (
    Edit(
        "what is random comes from the seed, and is there from the start",
        (
            Change(
                UTIL_C,
                "void os_dump_core(void)\n",
                "ssize_t os_getrandom(void *buf, size_t len, unsigned int flags)\n"
                f"{{\n{SEEDED_GETRANDOM}}}\n\n"
                "void os_dump_core(void)\n",
            ),
            Change(
                UM_ARCH_C,
                "void __init setup_arch(char **cmdline_p)\n{\n",
                "ssize_t os_getrandom(void *buf, size_t len, unsigned int flags);\n\n"
                "void __init setup_arch(char **cmdline_p)\n{\n"
                "\tchar rng_seed[32];\n\n"
                "\tos_getrandom(rng_seed, sizeof(rng_seed), 0);\n"
                "\tadd_bootloader_randomness(rng_seed, sizeof(rng_seed));\n",
            ),
            Change(
                UM_ARCH_C,
                "#include <linux/seq_file.h>\n",
                "#include <linux/seq_file.h>\n#include <linux/random.h>\n",
            ),
            Change(
                RANDOM_C,
                "\t_mix_pool_bytes(utsname(), sizeof(*(utsname())));\n"
                "\t_mix_pool_bytes(command_line, strlen(command_line));\n",
                "",
            ),
        ),
        until=(5, 17),
    ),
    Edit(
        "the driver can add and remove events",
        (
            Change(
                TIME_H,
                "void time_travel_sleep(unsigned long long duration);\n",
                "void time_travel_sleep(unsigned long long duration);\n"
                "void time_travel_add_event_rel(struct time_travel_event *e,\n"
                "\t\t\t       unsigned long long delay_ns);\n"
                "bool time_travel_del_event(struct time_travel_event *e);\n",
            ),
            Change(
                TIME_C,
                "static bool time_travel_del_event(struct time_travel_event *e)\n{",
                "void time_travel_add_event_rel(struct time_travel_event *e,\n"
                "\t\t\t       unsigned long long delay_ns)\n{\n"
                "\ttime_travel_add_event(e, time_travel_time + delay_ns);\n}\n\n"
                "bool time_travel_del_event(struct time_travel_event *e)\n{",
            ),
        ),
        until=(5, 10),
    ),
)
EDITS = (BUILD, *CLOCK, *RANDOM, *MODULES, *STEPS, MEMORY, *PROCESSES, *CPU, *BEFORE_5_18)


def release_of(tree: Path) -> Release:
    """The release that a tree is of: its first two numbers.

    Raises:
        EditError: It is not a Linux source tree.
    """
    try:
        makefile = (tree / "Makefile").read_text()
    except OSError as error:
        raise EditError(f"{tree}: not a Linux source tree: it has no Makefile") from error
    numbers = dict(re.findall(r"(?m)^(VERSION|PATCHLEVEL) = (\d+)$", makefile))
    if len(numbers) < 2 or not (tree / "arch/um").is_dir():
        raise EditError(f"{tree}: not a Linux source tree, or one without arch/um")
    return int(numbers["VERSION"]), int(numbers["PATCHLEVEL"])


def edits_of(release: Release) -> list[Edit]:
    """The edits that a release needs, in order."""
    return [edit for edit in EDITS if edit.applies_to(release)]


def edited_files(tree: Path) -> dict[str, str]:
    """The new text of each file that is edited, by its path in the tree; writes nothing.

    Raises:
        EditError: The source is not as the edits know it.
    """
    release = release_of(tree)
    texts: dict[str, str] = {}
    for edit in edits_of(release):
        for change in edit.changes:
            if change.path not in texts:
                texts[change.path] = _read(tree, change.path, release)
            texts[change.path] = _changed(texts[change.path], change, edit, release)
    return texts


def _read(tree: Path, path: str, release: Release) -> str:
    try:
        return (tree / path).read_text()
    except OSError as error:
        raise EditError(f"{path}: missing; {_unknown(release)}") from error


def _changed(text: str, change: Change, edit: Edit, release: Release) -> str:
    count = text.count(change.anchor)
    if count != 1:
        first = next(line.strip() for line in change.anchor.splitlines() if line.strip())
        state = f"is there {count} times" if count else "is not there"
        raise EditError(
            f"{change.path}: `{first}` {state}, so this edit cannot be made: {edit.reason}; "
            f"{_unknown(release)}"
        )
    return text.replace(change.anchor, change.text)


def _unknown(release: Release) -> str:
    return (
        f"the source of release {release[0]}.{release[1]} is not one that hosts/uml/edits.py "
        "knows: choose another kernel, or add this one (hosts/uml/README.md)"
    )


def edit_tree(tree: Path, driver: Path = HERE) -> Release:
    """Edit a source tree and put the driver into it; returns its release.

    Args:
        tree: The top of the tree.
        driver: The folder with the driver's files.

    Raises:
        EditError: It was edited before, or its source is unknown; nothing has been written.
    """
    if (tree / STAMP).exists():
        raise EditError(f"{tree}: has been edited before; start from a fresh source tree")
    texts = edited_files(tree)
    for path, text in texts.items():
        (tree / path).write_text(text)
    for name in DRIVER:
        shutil.copyfile(driver / name, tree / DRIVERS / name)
    (tree / STAMP).touch()
    return release_of(tree)


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("tree", type=Path, help="the top of a fresh source tree")
    tree = parser.parse_args().tree
    try:
        release = edit_tree(tree)
    except EditError as error:
        print(f"edits.py: {error}", file=sys.stderr)
        return 2
    for edit in edits_of(release):
        print(f"{edit.reason} ({', '.join(sorted({change.path for change in edit.changes}))})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
