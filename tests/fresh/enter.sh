#!/bin/sh
# The first process of a bare machine: makes its mounts, changes into its root, runs a command.
#
#     enter.sh ROOT NAME CACHE USER COMMAND...
#
# machine.py starts it in namespaces of its own (mount, PID, IPC, UTS). All that is mounted here is
# seen here alone and is gone with the last process: nothing has to be unmounted. CACHE: a folder of
# downloaded .deb files, or "". The environment is handed on as it is.
set -eu
root=$1 name=$2 cache=$3 user=$4
shift 4

mount --bind "$root" "$root" # pivot_root wants a mount point
cd "$root"
mount -t proc -o nosuid,nodev,noexec proc proc
mount -t sysfs -o nosuid,nodev,noexec sysfs sys
mount -t bpf bpf sys/fs/bpf 2> /dev/null || true # a kernel without it has no such folder
mount --rbind /sys/fs/cgroup sys/fs/cgroup 2> /dev/null || true

mount -t tmpfs -o mode=755 tmpfs dev
mkdir dev/pts dev/shm dev/hugepages dev/net
for node in null zero full random urandom tty net/tun cpu_dma_latency; do
	if [ -e "/dev/$node" ]; then
		: > "dev/$node"
		mount --bind "/dev/$node" "dev/$node"
	fi
done
mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts dev/pts
mount -t tmpfs -o mode=1777,nosuid,nodev tmpfs dev/shm
mount -t hugetlbfs hugetlbfs dev/hugepages
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
for stream in 0:stdin 1:stdout 2:stderr; do
	ln -s "/proc/self/fd/${stream%:*}" "dev/${stream#*:}"
done

mount -t tmpfs -o mode=755,nosuid,nodev tmpfs run
mkdir -m 1777 run/lock
[ -z "$cache" ] || mount --bind "$cache" var/cache/apt/archives

mkdir run/host
pivot_root . run/host
cd /
umount --lazy run/host
rmdir run/host
echo "$name" > /proc/sys/kernel/hostname

# Not exec: this process takes in those whose parents have ended, as init does.
status=0
setpriv --reuid "$user" --regid "$user" --init-groups -- "$@" &
wait $! || status=$?
exit $status
