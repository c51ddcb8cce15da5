/* host_script.c: composes scripts for a POSIX shell and reads their output. */
#include "provider/local/host_script.h"

#include "base/shell_quote.h"
#include "io/json_line.h"

#include <string.h>

#define FIRST_LINE "shoal-host 1"
#define LAST_LINE "shoal-end"

/* ---- parts ---- */

/*
 * The folder is its own lock. A process that waited for the lock of a folder that was removed
 * notices that and starts again. Another user's folder cannot be locked or changed. What its record
 * says is printed as one line, after everything else that is printed about the host.
 *
 * Without a record, the engines of Ray are listed that `ray stop` would end here: those of this
 * user, as root those of everybody.
 */
static const char prologue[] =
    "umask 022\n"
    "PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin\n"
    "d=${SHOAL_HOST_FOLDER:-" HOST_FOLDER "}\n"
    "echo '" FIRST_LINE "'\n"
    "echo \"now $(date +%s)\"\n"
    "end() { echo '" LAST_LINE "'; exit 0; }\n"
    "fail() { echo \"failed $*\"; end; }\n"
    "is_others() { [ -d \"$d\" ] && [ ! -O \"$d\" ]; }\n"
    "serial() {\n"
    "    s=; read -r s 2>/dev/null <\"$d/record\"\n"
    "    case $s in ''|*[!0-9]*) s=0 ;; esac\n"
    "    echo \"$s\"\n"
    "} 2>/dev/null\n"
    "engines() {\n"
    "    for p in /proc/[0-9]*; do\n"
    "        [ -O \"$p\" ] || [ \"$1\" = all ] || continue\n"
    "        c=; read -r c <\"$p/comm\" 2>/dev/null\n"
    "        case $c in raylet|gcs_server) echo \"${p#/proc/}\" ;; esac\n"
    "    done\n"
    "} 2>/dev/null\n"
    "rays() {\n"
    "    w=; [ \"$(id -u)\" != 0 ] || w=all\n"
    "    for i in $(engines $w); do\n"
    "        echo \"ray $i $(cat /proc/$i/comm) $(tr '\\0' '\\n' </proc/$i/environ |\n"
    "            sed -n '/^RAY_CLOUD_INSTANCE_ID=/{s///p;q;}')\"\n"
    "    done\n"
    "} 2>/dev/null\n"
    "show() {\n"
    "    if is_others || [ -L \"$d\" ]; then echo \"owner $(stat -c %U \"$d\")\"; fi\n"
    "    echo \"serial $(serial)\"\n"
    "    [ -e \"$d/record\" ] || rays\n"
    "    [ ! -f \"$d/record\" ] || printf 'record %s\\n' \"$(sed -n '2{p;q;}' \"$d/record\")\"\n"
    "    flock -n \"$d/watch\" true 2>/dev/null || [ ! -e \"$d/watch\" ] || echo 'watch yes'\n"
    "}\n"
    "lock() {\n"
    "    command -v flock >/dev/null || fail 'the program flock is missing: install util-linux'\n"
    "    while :; do\n"
    "        mkdir \"$d\" 2>/dev/null\n"
    "        if is_others; then show; echo conflict; end; fi\n"
    "        [ -d \"$d\" ] && [ ! -L \"$d\" ] || fail \"$d cannot be created\"\n"
    "        exec 9<\"$d\" || fail \"$d cannot be read\"\n"
    "        flock -w 30 9 || fail \"$d is locked by another process\"\n"
    "        [ \"$d\" -ef /dev/fd/9 ] && return\n"
    "        exec 9<&-\n"
    "    done\n"
    "}\n";

static const char facts[] =
    "echo \"architecture $(uname -m)\"\n"
    "echo \"cpus $(nproc 2>/dev/null || getconf _NPROCESSORS_ONLN)\"\n"
    "awk '/^MemTotal:/ { printf \"memory %.0f\\n\", $2 * 1024 }' /proc/meminfo\n"
    "gpus=$(nvidia-smi -L 2>/dev/null </dev/null | grep -c '^GPU ')\n"
    "echo \"gpus ${gpus:-0}\"\n"
    "command -v flock >/dev/null && echo 'flock yes'\n"
    "case $(stat -f -c %T \"$HOME\" 2>/dev/null) in\n"
    "nfs*|smb*|cifs|afs|lustre|ceph|gpfs|beegfs) echo 'shared yes' ;;\n"
    "esac\n"
    "for k in ed25519 ecdsa rsa; do\n"
    "    f=/etc/ssh/ssh_host_${k}_key.pub\n"
    "    if [ -r \"$f\" ]; then echo \"key $(head -n 1 \"$f\")\"; break; fi\n"
    "done\n";

/*
 * Only this user's processes. The service goes first, because it would start Ray again; its unit is
 * found through its control group. `ray stop` ends what it can in its own time; what is left of the
 * raylet and the GCS is killed.
 *
 * A container with the cluster's name for it may be another user's or another cluster's: ours is in
 * the record of the machine, has our label, or mounts our folder (node_container.c).
 */
static const char stopping[] =
    "mine() {\n"
    "    for p in /proc/[0-9]*; do\n"
    "        [ -O \"$p\" ] && [ \"${p#/proc/}\" != $$ ] || continue\n"
    "        c=$(tr '\\0' ' ' <\"$p/cmdline\" 2>/dev/null)\n"
    "        case $c in \"$HOME/.shoal/bin/shoal $1\"*) echo \"${p#/proc/}\" ;; esac\n"
    "    done\n"
    "}\n"
    "end_all() {\n"
    "    pids=$($1 \"$2\")\n"
    "    [ -n \"$pids\" ] || return 0\n"
    "    kill $pids 2>/dev/null\n"
    "    for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do\n"
    "        [ -n \"$($1 \"$2\")\" ] || return 0\n"
    "        sleep 0.2\n"
    "    done\n"
    "    pids=$($1 \"$2\")\n"
    "    [ -z \"$pids\" ] || kill -9 $pids 2>/dev/null\n"
    "}\n"
    "end_service() {\n"
    "    s=; [ \"$(id -u)\" = 0 ] || s='sudo -n'\n"
    "    touch \"$HOME/.shoal/cluster/stood-down\"\n"
    "    for p in $(mine autoscaler); do\n"
    "        u=$(sed -n 's,.*/\\(shoal-[0-9a-f]*\\.service\\)$,\\1,p' /proc/$p/cgroup)\n"
    "        [ -z \"$u\" ] || { $s systemctl --quiet disable --now \"$u\" &&\n"
    "            $s rm -f \"/etc/systemd/system/$u\"; }\n"
    "    done\n"
    "    end_all mine autoscaler\n"
    "} >/dev/null 2>&1 </dev/null\n"
    "end_ray() {\n"
    "    end_all mine node\n"
    "    if [ -n \"$(engines)\" ]; then\n"
    "        t=; command -v timeout >/dev/null && t='timeout -k 5 40'\n"
    "        $t bash -lc '[ ! -r ~/.shoal/env.sh ] || . ~/.shoal/env.sh; ray stop -g 10'\n"
    "        end_all engines\n"
    "    fi\n"
    "    rm -rf \"$HOME/.shoal/cluster\" \"$HOME/.shoal/steps\" \"$HOME/.shoal/gcs\" \\\n"
    "        \"$HOME/.shoal/head-start.json\" \"$HOME/.shoal/env.sh\"\n"
    "} >/dev/null 2>&1 </dev/null\n"
    "is_ours() {\n"
    "    grep -qs \"\\\"id\\\": *\\\"$1\\\"\" \"$HOME/.shoal/container.json\" ||\n"
    "        $p container inspect -f '{{json .Config.Labels}}{{range .Mounts}} {{.Source}}{{end}}' "
    "\"$1\" </dev/null 2>/dev/null |\n"
    "        grep -qF -e \"$label\" -e \" $HOME/.shoal/mounts/$cluster/\"\n"
    "}\n"
    "own_containers() {\n"
    "    if all=$($p ps -q --no-trunc -f \"name=^$slash$c\\$\" 2>&1 </dev/null); then\n"
    "        own=; for i in $all; do ! is_ours \"$i\" || own=\"$own $i\"; done\n"
    "        return\n"
    "    fi\n"
    "    case $all in\n"
    "    *'Is the docker daemon running'*) own= ;;\n"
    "    *) fail \"$p ps failed: $(printf %s \"$all\" | tail -n 1)\" ;;\n"
    "    esac\n"
    "}\n"
    "end_container() {\n"
    "    own_containers\n"
    "    [ -n \"$own\" ] || return 0\n"
    "    $p stop -t 10 $own >/dev/null 2>&1 </dev/null\n"
    "    own_containers\n"
    "    [ -z \"$own\" ] || fail \"the container $c still runs after $p stop\"\n"
    "}\n"
    "is_stopped() { [ -z \"$(engines)\" ] || fail 'Ray is still running after kill -9'; }\n";

/* ---- composing ---- */

static void add_stop(struct buf *out, const struct host_stop *stop)
{
    buf_add_c(out, stopping);
    if (stop->is_head) {
        buf_add_c(out, "end_service\n");
    }
    buf_add_c(out, "end_ray\n");
    if (stop->container.len > 0) {
        buf_addf(out, "p=%s\nslash=%s\nc=", stop->is_podman ? "podman" : "docker",
                 stop->is_podman ? "" : "/");
        shell_quote(out, stop->container);
        buf_add_c(out, "\ncluster=");
        shell_quote(out, stop->cluster);
        buf_add_c(out, "\nlabel='\"" HOST_CONTAINER_LABEL "\":\"'$cluster'\"'");
        buf_add_c(out, "\n! command -v $p >/dev/null || end_container\n");
    }
    buf_add_c(out, "is_stopped\n");
}

/* The switch runs what a removal of the record runs, if the record is still the same. */
static void add_watch(struct buf *out, const struct host_swap *swap)
{
    struct host_stop worker = {0};
    buf_add_c(out, "cat >\"$d/watch\" <<'SHOAL_WATCH' || fail 'the disk is full'\n");
    buf_add(out, swap->watch);
    buf_add_c(out, "\nSHOAL_WATCH\n{ echo \"n=$n\" && cat <<'SHOAL_LOST'; } >\"$d/lost\" || "
                   "fail 'the disk is full'\n");
    buf_add_c(out, prologue);
    buf_add_c(out, "lock\n[ \"$(serial)\" = \"$n\" ] || end\n");
    add_stop(out, swap->stop ? swap->stop : &worker);
    buf_add_c(out, "rm -rf \"$d\"\nSHOAL_LOST\n"
                   ": >\"$d/contact\"\n"
                   "SHOAL_HOST_FOLDER=$d setsid flock -n \"$d/watch\" sh \"$d/watch\" watch "
                   "</dev/null >/dev/null 2>&1 9<&- &\n");
}

void host_script_probe(struct buf *out)
{
    buf_add_c(out, prologue);
    buf_add_c(out, facts);
    buf_add_c(out, "show\nend\n");
}

/* systemd-tmpfiles deletes files in /var/tmp that no process used for 30 days (tmpfiles.d(5); "q
 * /var/tmp 1777 root root 30d" in /usr/lib/tmpfiles.d/tmp.conf). Reading does not help on a file
 * system without access times. */
void host_script_check(struct buf *out)
{
    buf_add_c(out, prologue);
    buf_add_c(out, "is_others || [ -L \"$d\" ] || touch -c \"$d\" \"$d\"/* 2>/dev/null\n");
    buf_add_c(out, facts);
    buf_add_c(out, "show\nend\n");
}

void host_script_swap(struct buf *out, const struct host_swap *swap)
{
    buf_add_c(out, prologue);
    buf_addf(out, "lock\n[ \"$(serial)\" = %lld ] || { show; echo conflict; end; }\n",
             (long long)swap->expected);
    if (swap->expected == 0 && !swap->keeps_ray) {
        /* Without the folder, which other users could not use. */
        buf_add_c(out, "[ -z \"$(rays)\" ] || { show; [ -e \"$d/record\" ] || rm -rf \"$d\"; "
                       "echo conflict; end; }\n");
    }
    if (swap->stop) {
        add_stop(out, swap->stop);
    }
    if (!swap->record) {
        buf_add_c(out, "rm -rf \"$d\" || fail \"$d cannot be removed\"\nend\n");
        return;
    }
    /* A new record never has a serial number that an earlier record of the host had. */
    if (swap->expected == 0) {
        buf_add_c(out, "n=$(date +%s)$(od -An -N2 -tu2 /dev/urandom | tr -d ' ')\n");
    } else {
        buf_addf(out, "n=%lld\n", (long long)swap->expected + 1);
    }
    buf_add_c(out, "{ echo \"$n\" && cat <<'SHOAL_RECORD'; } >\"$d/new\" || "
                   "fail 'the disk is full'\n");
    if (!json_add(swap->record, out)) {
        out->is_full = true;
    }
    buf_add_c(out, "\nSHOAL_RECORD\nsync \"$d/new\" 2>/dev/null\n");
    if (swap->watch.len > 0) {
        add_watch(out, swap);
    }
    buf_add_c(out, "mv \"$d/new\" \"$d/record\" || fail \"$d/record cannot be written\"\nend\n");
}

/* Lower-case hexadecimal digits, as many as the provider makes. */
static bool is_host_uid(struct str uid)
{
    for (size_t i = 0; i < uid.len; i++) {
        if (!memchr("0123456789abcdef", uid.ptr[i], 16)) {
            return false;
        }
    }
    return uid.len == HOST_UID_CHARS;
}

void host_script_stop(struct buf *out, struct str uid, const struct host_stop *stop)
{
    buf_add_c(out, prologue);
    if (!is_host_uid(uid)) {
        buf_add_c(out, "fail 'the uid of the cluster is not valid'\n");
        return;
    }
    buf_addf(out, "grep -qsF '\"uid\":\"%.*s\"' \"$d/record\" || end\n", STR_ARG(uid));
    add_stop(out, stop);
    buf_add_c(out, "end\n");
}

/* The file is only replaced by a whole copy, under a lock that all clusters of the user share. */
static const char authorizing[] =
    "umask 077\n"
    "[ -z \"$k\" ] || mkdir -p \"$HOME/.ssh\" || fail \"$HOME/.ssh cannot be created\"\n"
    "[ -d \"$HOME/.ssh\" ] || end\n"
    "command -v flock >/dev/null || fail 'the program flock is missing: install util-linux'\n"
    "exec 8<\"$HOME/.ssh\" && flock -w 30 8 || fail \"$HOME/.ssh is locked by another process\"\n"
    "f=$(readlink -f \"$HOME/.ssh/authorized_keys\") || fail \"$HOME/.ssh cannot be read\"\n"
    "without() {\n"
    "    cp -p \"$f\" \"$f.shoal\" || return 1\n"
    "    grep -vF -- \" $m\" \"$f\" >\"$f.shoal\"\n"
    "    [ $? -le 1 ] && mv \"$f.shoal\" \"$f\"\n"
    "}\n"
    "if [ -n \"$k\" ]; then\n"
    "    if grep -qsxF -- \"$k $m\" \"$f\"; then end; fi\n"
    "    { [ ! -s \"$f\" ] || [ -z \"$(tail -c 1 \"$f\")\" ] || echo; echo \"$k $m\"; } "
    ">>\"$f\" || fail \"$f cannot be written\"\n"
    "    echo 'changed yes'\n"
    "elif [ -e \"$f\" ]; then\n"
    "    grep -qF -- \" $m\" \"$f\"\n"
    "    case $? in\n"
    "    0) without || { rm -f \"$f.shoal\"; fail \"$f cannot be written\"; }\n"
    "        echo 'changed yes' ;;\n"
    "    1) ;;\n"
    "    *) fail \"$f cannot be read\" ;;\n"
    "    esac\n"
    "fi\n"
    "end\n";

void host_script_authorize(struct buf *out, struct str key, struct str uid)
{
    buf_add_c(out, prologue);
    if (!is_host_uid(uid)) {
        buf_add_c(out, "fail 'the uid of the cluster is not valid'\n");
        return;
    }
    buf_add_c(out, "k=");
    shell_quote(out, key);
    buf_addf(out, "\nm=shoal-'%.*s'\n", STR_ARG(uid));
    buf_add_c(out, authorizing);
}

/* ---- reading ---- */

static void read_number(struct str text, int64_t *number)
{
    int64_t value;
    if (str_to_i64(str_trim(text), &value) && value >= 0) {
        *number = value;
    }
}

static void read_record(struct str text, struct host_reply *reply)
{
    struct err err;
    json_t *record;
    reply->is_record_read = true;
    if (json_line_read(text, "a host's record", &record, &err)) {
        reply->record = record;
    }
}

/* "PID NAME ID", of which the id may be missing. */
static void read_ray(struct str text, struct arena *arena, struct host_reply *reply)
{
    struct host_ray *ray =
        &reply->rays[reply->ray_count < HOST_RAYS_MAX ? reply->ray_count : HOST_RAYS_MAX - 1];
    reply->ray_count++;
    *ray = (struct host_ray){0};
    read_number(str_cut(&text, ' '), &ray->pid);
    ray->name = arena_str(arena, str_cut(&text, ' '));
    ray->id = arena_str(arena, str_trim(text));
}

static void read_line(struct str line, struct arena *arena, struct host_reply *reply)
{
    struct str value = line;
    struct str name = str_cut(&value, ' ');
    if (reply->is_record_read && !str_is(name, "conflict") && !str_is(name, "watch") &&
        !str_is(name, "failed")) {
        return; /* nothing else is printed after a record */
    }
    const struct {
        const char *name;
        int64_t *number;
    } numbers[] = {{"now", &reply->now},
                   {"serial", &reply->serial},
                   {"cpus", &reply->cpus},
                   {"gpus", &reply->gpus},
                   {"memory", &reply->memory}};
    const struct {
        const char *name;
        struct str *text;
    } texts[] = {{"owner", &reply->owner},
                 {"failed", &reply->why},
                 {"architecture", &reply->architecture},
                 {"key", &reply->host_key}};
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        if (str_is(name, numbers[i].name)) {
            read_number(value, numbers[i].number);
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        if (str_is(name, texts[i].name)) {
            *texts[i].text = arena_str(arena, str_trim(value));
        }
    }
    if (str_is(name, "record")) {
        read_record(value, reply);
    } else if (str_is(name, "ray")) {
        read_ray(value, arena, reply);
    } else if (str_is(name, "conflict")) {
        reply->end = HOST_CONFLICT;
    } else if (str_is(name, "flock")) {
        reply->has_flock = true;
    } else if (str_is(name, "shared")) {
        reply->is_home_shared = true;
    } else if (str_is(name, "changed")) {
        reply->was_changed = true;
    } else if (str_is(name, "watch")) {
        reply->has_watch = true;
    }
}

static struct str uid_of(const json_t *record)
{
    const json_t *uid = json_object_get(record, "uid");
    return json_is_string(uid) ? (struct str){json_string_value(uid), json_string_length(uid)}
                               : STR("");
}

/* Lines before the first one are the login's own. */
void host_reply_read(struct str output, int status, struct str said, struct arena *arena,
                     struct host_reply *ret_reply)
{
    struct host_reply reply = {.end = HOST_DONE};
    bool has_begun = false;
    bool has_ended = false;
    while (output.len > 0 && !has_ended) {
        struct str line = str_cut(&output, '\n');
        if (has_begun) {
            has_ended = str_is(line, LAST_LINE);
            read_line(line, arena, &reply);
        }
        has_begun = has_begun || str_is(line, FIRST_LINE);
    }
    if (!has_begun || !has_ended || status != 0) {
        reply.end = has_begun ? HOST_BROKEN : HOST_UNREACHED;
        reply.why = arena_str(arena, said);
    } else if (reply.why.len > 0) {
        reply.end = HOST_FAILED;
    } else if (reply.owner.len > 0) {
        reply.other = reply.record;
        reply.record = NULL;
    } else if (reply.record ? !is_host_uid(uid_of(reply.record)) : reply.serial > 0) {
        reply.end = HOST_FAILED;
        reply.why = STR("its record " HOST_FOLDER "/record cannot be read");
    }
    if (reply.end == HOST_FAILED) {
        host_reply_clear(&reply);
    }
    *ret_reply = reply;
}

void host_reply_clear(struct host_reply *reply)
{
    json_decref(reply->record);
    json_decref(reply->other);
    reply->record = reply->other = NULL;
}
