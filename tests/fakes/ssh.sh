#!/bin/sh
# Stands in for ssh: takes its options, and gives the command to a shell as sshd does.
# FAKE_SSH_LOG: its arguments go there. FAKE_SSH_LOST: there is no connection.
log=${FAKE_SSH_LOG:-/dev/null}
printf '%s\n' "$*" >> "$log"
master=
while [ $# -gt 0 ]; do
    case $1 in
        -o) [ "$2" = ControlMaster=yes ] && master=1; shift 2 ;;
        -N) shift ;;
        --) shift; break ;;
        *) echo "fake ssh: option $1 is not known" >&2; exit 2 ;;
    esac
done
shift  # the destination
if [ -n "$FAKE_SSH_LOST" ]; then
    echo "ssh: connect to host lab port 22: No route to host" >&2
    exit 255
fi
[ -n "$master" ] && exec sleep 3600
exec sh -c "$*"
