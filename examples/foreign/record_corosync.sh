#!/bin/sh
# Three corosync daemons and four clients of cpg_log.c; one client is killed, then one daemon.
#
#     gcc -o cpg_log cpg_log.c -lcpg
#     unshare -n -m sh record_corosync.sh FOLDER ./cpg_log
#
# Needs root and Debian's corosync. Each daemon has a network and a mount namespace of its own; all
# of it goes with the shell. FOLDER gets a log for each client.
set -eu
folder=$(realpath "$1")
client=$(realpath "$2")
work=$(mktemp -d)
nodes=
for n in 1 2 3; do
    nodes="$nodes node {
  nodeid: $n
  name: n$n
  ring0_addr: 10.7.8.$n
 }
"
done
cat > "$work/corosync.conf" <<END
totem {
 version: 2
 cluster_name: foreign
 transport: knet
 crypto_cipher: none
 crypto_hash: none
}
system {
 sched_rr: no
}
logging {
 to_stderr: no
 to_syslog: no
 to_logfile: yes
 logfile: /run/corosync.log
}
nodelist {
$nodes}
END
mount -t tmpfs none /run
mkdir /run/netns
ip link add bridge7 type bridge
ip link set bridge7 up

for n in 1 2 3; do
    ip netns add "n$n"
    ip link add "v$n" type veth peer name eth0 netns "n$n"
    ip link set "v$n" master bridge7 up
    ip -n "n$n" link set lo up
    ip -n "n$n" addr add "10.7.8.$n/24" dev eth0
    ip -n "n$n" link set eth0 up
    ip netns exec "n$n" unshare -m sh -c "mount -t tmpfs none /run; mount -t tmpfs none /dev/shm
        mount -t tmpfs none /var/lib/corosync; exec corosync -f -c $work/corosync.conf" &
    echo $! > "$work/daemon$n"
done
sleep 6

run() { # NAME NODE: start a client
    nsenter -t "$(cat "$work/daemon$2")" -n -m "$client" orders 60 50 > "$folder/$1.log" &
    echo $! > "$work/client-$1"
}

run a 1
sleep 1
run b 2
run c 3
run d 3
sleep 1.5
kill -9 "$(cat "$work/client-d")"
sleep 1
kill -9 "$(cat "$work/daemon3")"
sleep 6
kill "$(cat "$work/client-b")"
sleep 1
kill "$(cat "$work/client-a")"
sleep 1
kill "$(cat "$work/daemon1")" "$(cat "$work/daemon2")" "$(cat "$work/client-c")" || true
wait
rm -r "$work"
