# contact.sh: shuts this machine down when its cluster has not been in contact for too long.
#
# Part of the user-data of every machine: cloud-init runs it as root at every boot, before sshd
# starts, so it works also when no program of Shoal ever arrives. On Compute Engine it is the
# startup-script, which Google's agent runs after sshd has started. It needs no credentials. What
# counts as contact, and why: docs/decisions/0016-contact.md. contact.c puts two lines before this
# text: the role of the machine ("head" or "worker") and how many checks in a row may fail. On an
# own machine (role "host") it runs as the user while the host is leased, and stops Ray instead.
#
# It counts failed checks and never reads a clock: a machine that was frozen, or whose clock was
# set, has not missed the checks of that time.
every=15
# For tests: another root folder.
r=${SHOAL_CONTACT_ROOT-}
told=$r/run/shoal/contact
[ "$role" != host ] || told=${SHOAL_HOST_FOLDER:-/var/tmp/shoal-host}/contact
# A head that was set up once stays. Per instance, so that an image of this head does not have it.
kept=$r/var/lib/cloud/instance/shoal-kept
[ -d "${kept%/*}" ] || kept=$r/var/lib/shoal-kept-$(cat "$r"/sys/class/dmi/id/product_serial)
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin

say() {
    echo "shoal: $*" >"$r/dev/console"
    logger -t shoal "$*"
} 2>/dev/null

# A raylet ends by itself a minute after its GCS stopped answering; after ten minutes with
# metadata.shoal.gcs_store: disk.
has_raylet() {
    for p in $(grep -slx raylet "$r"/proc/[0-9]*/comm); do
        if is_own "${p%/comm}"; then return; fi
    done
    return 1
}

# An own machine may have other users. Processes in a container can have any user.
is_own() {
    [ "$role" != host ] || [ -O "$1" ] || grep -sqE '^NSpid:([[:space:]]+[0-9]+){2}' "$1/status"
}

# The ports of the clients of this user's ssh sessions, in one line.
own_ports() {
    echo $(for p in "$r"/proc/[0-9]*; do
        if [ -O "$p" ]; then tr '\0' '\n' <"$p/environ"; fi
    done 2>/dev/null | sed -n 's/^SSH_CONNECTION=[^ ]* \([0-9]*\) .*/\1/p' | sort -u)
}

# An ssh connection whose other end has sent something, or acknowledged something, since the last
# check but one. The connection of a head that vanished stays open for two hours and does neither.
has_ssh() {
    ports=
    if [ "$role" = host ]; then
        ports=$(own_ports)
        [ -n "$ports" ] || return 1
    fi
    if command -v ss >/dev/null; then
        ss -tin state established '( sport = :22 )' 2>/dev/null | awk -v most=$((every * 2000)) \
            -v ports="$ports" '
            !/rto:/ { peer = $4; sub(/.*:/, "", peer) }
            /rto:/ && (ports == "" || index(" " ports " ", " " peer " ")) {
                last["rcv"] = last["ack"] = 0
                for (i = 1; i <= NF; i++)
                    if ($i ~ /^last(rcv|ack):/) last[substr($i, 5, 3)] = substr($i, 9) + 0
                if (last["rcv"] < most || last["ack"] < most) found = 1
            }
            END { exit !found }'
    else
        hex=
        for p in $ports; do hex="$hex|$(printf %04X "$p")"; done
        hex=${hex#|}
        grep -sqE "^ *[0-9]+: [0-9A-F]+:0016 [0-9A-F]+:(${hex:-[0-9A-F]+}) 01 " \
            "$r/proc/net/tcp" "$r/proc/net/tcp6"
    fi
}

# The cluster's service, or the program that it starts here, wrote into the file.
was_told() {
    [ -s "$told" ] || return 1
    if [ "$role" = head ] && grep -q keep "$told"; then
        : >"$kept"
    fi
    : >"$told"
}

is_kept() {
    [ "$role" = head ] && [ -e "$kept" ]
}

switch_off() {
    if [ "$role" = host ]; then
        say "no contact with the cluster for $limit checks of $every s: Ray is stopped"
        sh "${told%/*}/lost" >/dev/null 2>&1
        exit
    fi
    say "no contact with the cluster for $limit checks of $every s: this $role shuts down"
    ! command -v end_instance >/dev/null || end_instance
    shutdown -h now || poweroff || halt -p
}

watch() {
    missed=0
    until is_kept; do
        sleep "$every"
        if [ "$role" = host ] && [ ! -e "$told" ]; then exit; fi
        # All three are asked: a message is read even when a raylet runs.
        contact=0
        if was_told; then contact=1; fi
        if has_raylet || has_ssh; then contact=1; fi
        if [ "$contact" = 1 ]; then
            missed=0
        else
            missed=$((missed + 1))
        fi
        if [ "$missed" -ge $((limit + 20)) ]; then
            poweroff -f # the orderly way has hung for five minutes
        elif [ "$missed" -ge "$limit" ]; then
            switch_off
        fi
    done
}

# Runs in the background: cloud-init continues the boot when this returns.
start() {
    mkdir -p "${told%/*}"
    : >"$told"
    chmod 622 "$told"
    if is_kept; then
        return
    fi
    if [ -d "$r/run/systemd/system" ] &&
        systemd-run --quiet --no-block --unit=shoal-contact -p DefaultDependencies=no \
            -p Restart=on-failure -p OOMScoreAdjust=-900 \
            --description='Shuts down a machine that lost its cluster' /bin/sh "$0" watch; then
        return
    fi
    /bin/sh "$0" watch </dev/null >/dev/null 2>&1 &
}

case ${1-} in
watch) watch ;;
*) start ;;
esac
