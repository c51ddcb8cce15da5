/* verb_cluster_dump.c: writes what support needs to know about a cluster into one text file. */
#include "app/cluster_state.h"
#include "app/setup/setup_plan.h"
#include "cli/output.h"
#include "cli/remote_line.h"
#include "cli/target.h"
#include "config/document/yaml_write.h"
#include "config/secret.h"
#include "io/clock.h"
#include "io/file.h"
#include "io/redact.h"

#include <stdlib.h>

enum {
    DUMP_BYTES_MAX = 64 << 20,
    DUMP_MS = 5 * 60 * 1000,
    SECRET_BYTES_MAX = 64 * 1024,
};

struct dump_fields {
    struct target_fields target;
    const char *output;
    bool no_logs, no_state, no_pip, no_processes, processes_verbose;
    /* Options of Ray that have no effect here. */
    const char *host, *ssh_user, *ssh_key, *docker, *tempfile;
    bool local;
};

static const struct operand operands[] = {TARGET_OPERAND(struct dump_fields)};

#define UNUSED "No effect; accepted for compatibility with Ray. "

static const struct option options[] = {
    {"output", 'o', OPTION_FILE, offsetof(struct dump_fields, output), "FILE", NULL,
     "The file to write. The default is NAME-dump-DATE.txt in this directory."},
    {"logs", 0, OPTION_UNFLAG, offsetof(struct dump_fields, no_logs), NULL, NULL,
     "Include the ends of Ray's logs on the head (the default)."},
    {"no-logs", 0, OPTION_FLAG, offsetof(struct dump_fields, no_logs), NULL, NULL,
     "Leave out Ray's logs, which contain the output of jobs."},
    {"debug-state", 0, OPTION_UNFLAG, offsetof(struct dump_fields, no_state), NULL, NULL,
     "Include Ray's debug_state files (the default)."},
    {"no-debug-state", 0, OPTION_FLAG, offsetof(struct dump_fields, no_state), NULL, NULL,
     "Leave out Ray's debug_state files."},
    {"pip", 0, OPTION_UNFLAG, offsetof(struct dump_fields, no_pip), NULL, NULL,
     "Include the Python packages on the head (the default)."},
    {"no-pip", 0, OPTION_FLAG, offsetof(struct dump_fields, no_pip), NULL, NULL,
     "Leave out the Python packages."},
    {"processes", 0, OPTION_UNFLAG, offsetof(struct dump_fields, no_processes), NULL, NULL,
     "Include the names of the processes on the head (the default)."},
    {"no-processes", 0, OPTION_FLAG, offsetof(struct dump_fields, no_processes), NULL, NULL,
     "Leave out the processes."},
    {"processes-verbose", 0, OPTION_FLAG, offsetof(struct dump_fields, processes_verbose), NULL,
     NULL, "Include the arguments of processes, too."},
    {"no-processes-verbose", 0, OPTION_UNFLAG, offsetof(struct dump_fields, processes_verbose),
     NULL, NULL, "Leave out the arguments of processes (the default)."},
    {"host", 0, OPTION_TEXT, offsetof(struct dump_fields, host), "HOST", NULL,
     UNUSED "Shoal finds the head itself."},
    {"ssh-user", 'U', OPTION_TEXT, offsetof(struct dump_fields, ssh_user), "USER", NULL,
     UNUSED "The file has the user."},
    {"ssh-key", 'K', OPTION_FILE, offsetof(struct dump_fields, ssh_key), "FILE", NULL,
     UNUSED "Shoal knows the key."},
    {"docker", 'd', OPTION_TEXT, offsetof(struct dump_fields, docker), "NAME", NULL,
     UNUSED "The file has the container."},
    {"local", 'L', OPTION_FLAG, offsetof(struct dump_fields, local), NULL, NULL,
     UNUSED "The dump is always about the cluster."},
    {"tempfile", 'T', OPTION_FILE, offsetof(struct dump_fields, tempfile), "FILE", NULL,
     UNUSED "No temporary file is needed."},
    TARGET_NAME_OPTION(struct dump_fields),
    TARGET_PROFILE_OPTION(struct dump_fields),
    TARGET_VERBOSE_OPTION(struct dump_fields),
};

static const struct example examples[] = {
    {"shoal cluster-dump cluster.yaml", "Write a file for a support request."},
    {"shoal cluster-dump --no-logs cluster.yaml", "Without the output of jobs."},
};

/* ---- on the head ---- */

/*
 * A login may print lines of its own, so markers say where the output of the script starts. Ray's
 * token comes before it, so that it can be masked in the rest.
 */
#define TOKEN_MARK "shoal-token "
#define START_MARK "shoal-dump"

#define SCRIPT_TOKEN \
    "printf '\\n" TOKEN_MARK "%s\\n' \"$(head -n 1 " SETUP_TOKEN_FILE " 2>/dev/null)\"\n"
#define SCRIPT_PARTS                                                                   \
    "part() { printf '\\n==== %s ====\\n' \"$1\"; }\n"                                 \
    "ends() { for f; do [ -f \"$f\" ] || continue; part \"$f\"; tail -n 500 \"$f\" | " \
    "tail -c 200000; done; }\n"
#define SCRIPT_START                                                                         \
    "printf '\\n" START_MARK "\\n'; exec 2>&1\n" SCRIPT_PARTS "program=~/.shoal/bin/shoal\n" \
    "part 'machine of the head'; uname -a; cat /etc/os-release; nproc; free -m; df -h\n"     \
    "for verb in version status 'ctl --ask events'; do part \"$verb\"; "                     \
    "timeout 30 $program $verb; done\n"                                                      \
    "ends ~/.shoal/cluster/log/* ~/.shoal/cluster/*.log\n"

/* Where Ray runs: in the container as shoal exec does, if the file has one. */
static struct str dump_where_ray_is(const struct target *target, struct str script)
{
    struct arena *arena = target->cli.arena;
    struct remote_line line = {.command = script,
                               .docker = remote_line_docker(target->config, NULL, script)};
    return line.docker
               ? arena_printf(arena, "%.*s </dev/null\n", STR_ARG(remote_line_make(&line, arena)))
               : script;
}

static struct str dump_script(const struct target *target, const struct dump_fields *given)
{
    struct arena *arena = target->cli.arena;
    struct str ray = arena_printf(
        arena, "%s%s%s%s", SCRIPT_PARTS,
        given->no_logs ? ""
                       : "ends /tmp/ray/session_latest/logs/*.log "
                         "/tmp/ray/session_latest/logs/*.out "
                         "/tmp/ray/session_latest/logs/*.err\n",
        given->no_state ? "" : "ends /tmp/ray/session_latest/logs/debug_state*.txt\n",
        given->no_pip ? "" : "part 'Python packages'; python3 -V; python3 -m pip freeze\n");
    return arena_printf(arena, "%s%.*s%s%.*s%s\n", SCRIPT_TOKEN,
                        STR_ARG(dump_where_ray_is(target, STR(SCRIPT_TOKEN))), SCRIPT_START,
                        STR_ARG(dump_where_ray_is(target, ray)),
                        given->no_processes ? ""
                        : given->processes_verbose
                            ? "part processes; ps -eww -o pid,ppid,user,rss,etime,args"
                            : "part processes; ps -e -o pid,ppid,user,rss,etime,comm");
}

/* Cuts off everything before the output of the script, and masks Ray's tokens. */
static bool dump_cut_login(struct str *text, struct redact *redact)
{
    bool has_token = false;
    while (text->len > 0) {
        struct str line = str_cut(text, '\n');
        if (str_starts(line, TOKEN_MARK)) {
            redact_add(redact, str_trim(str_sub(line, sizeof(TOKEN_MARK) - 1, line.len)));
            has_token = true;
        } else if (str_is(line, START_MARK)) {
            return has_token;
        }
    }
    return false;
}

struct dump_run {
    struct cloud_session *session;
    struct buf text;
    struct err err;
};

static void dump_on_end(void *context, const struct child_result *result)
{
    struct dump_run *run = context;
    buf_add(&run->text, result->output[CHILD_STDOUT]);
    if (!child_was_fine(result)) {
        run->err = result->err;
    }
    cloud_session_stop(run->session);
}

/* Without the markers nothing of the output is used, because it may contain Ray's token. */
static bool dump_ask_head(struct target *target, const struct dump_fields *given,
                          struct dump_run *run, struct redact *redact, struct str *ret_text,
                          struct err *err)
{
    struct launcher_head head;
    struct ssh_target place;
    const char *const *argv;
    struct arena *arena = target->cli.arena;
    struct ssh_session session = {.command = dump_script(target, given)};
    if (!target_find(target, &head, &place, err)) {
        return false;
    }
    place.control = NULL;
    if (!ssh_argv(&place, &session, arena, &argv, err)) {
        return false;
    }
    child_start(target->session.children,
                &(struct child_spec){.argv = argv,
                                     .env_names = child_usual_env,
                                     .output = {[CHILD_STDOUT] = {.bytes_max = DUMP_BYTES_MAX}},
                                     .deadline_ms = DUMP_MS,
                                     .done = dump_on_end,
                                     .context = run});
    if (!cloud_session_run(&target->session, err)) {
        return false;
    }
    *ret_text = buf_str(&run->text);
    if (dump_cut_login(ret_text, redact)) {
        return true;
    }
    if (run->err.kind != ERR_NONE) {
        *err = run->err;
        return false;
    }
    return err_set(err, ERR_PROTOCOL,
                   "the output of the head has no line " START_MARK
                   "; check that a command over ssh works: shoal exec %.*s true",
                   STR_ARG(target_text(target)));
}

/* ---- secrets ---- */

static void dump_hide_file(struct redact *redact, const char *path)
{
    struct buf text;
    struct err ignored;
    buf_init(&text, SECRET_BYTES_MAX);
    if (path && file_stat(path).kind == FILE_REGULAR && file_read(path, &text, &ignored)) {
        redact_add(redact, str_trim(buf_str(&text)));
    }
    buf_wipe(&text);
}

static void dump_hide_known(const struct target *target, struct redact *redact)
{
    static const char *const names[] = {"AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN",
                                        "RAY_AUTH_TOKEN"};
    struct cluster_state state;
    struct err ignored;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        redact_add(redact, str_from(getenv(names[i])));
    }
    if (cluster_state_open(target->config, false, target->cli.arena, &state, &ignored)) {
        dump_hide_file(redact, state.own_key);
        dump_hide_file(redact, state.key);
        dump_hide_file(redact, arena_printf(target->cli.arena, "%s/secret", state.folder).ptr);
    }
}

/* By line, because a quote in one line must not hide the next; a private key as a whole. */
static void dump_clean(const struct redact *redact, struct str text, struct buf *out)
{
    enum { KEY_LINES_MAX = 200 };
    while (text.len > 0) {
        const char *start = text.ptr;
        struct str line = str_cut(&text, '\n');
        bool is_key = str_find(line, "-----BEGIN") != SIZE_MAX;
        for (size_t i = 0; is_key && i < KEY_LINES_MAX && text.len > 0; i++) {
            is_key = str_find(str_cut(&text, '\n'), "-----END") == SIZE_MAX;
        }
        size_t len = (size_t)(text.ptr - start);
        redact_clean(redact, (struct str){start, len - (len > 0 && start[len - 1] == '\n')}, out);
        buf_add_char(out, '\n');
    }
}

/* ---- the file ---- */

static const char *dump_path(const struct target *target, const struct dump_fields *given)
{
    enum { SECONDS_TO = 19 }; /* of "2026-11-15T08:15:56.123Z" */
    AUTO_BUF struct buf stamp;
    buf_init(&stamp, 64);
    if (given->output) {
        return given->output;
    }
    clock_add_utc(&stamp, clock_wall_ms(&clock_of_machine));
    for (size_t i = 0; i < stamp.len; i++) {
        stamp.ptr[i] = stamp.ptr[i] == ':' ? '.' : stamp.ptr[i];
    }
    return arena_printf(target->cli.arena, "%.*s-dump-%.*s.txt",
                        STR_ARG(target->config->cluster_name),
                        STR_ARG(str_sub(buf_str(&stamp), 0, SECONDS_TO)))
        .ptr;
}

static void dump_add_local(const struct target *target, struct buf *out)
{
    struct cluster_state state;
    struct err err;
    buf_addf(out,
             "Cluster %.*s on %.*s. Version %s. Secrets are replaced by ***: still read this "
             "file before you share it.\n\n==== the cluster file, with defaults ====\n",
             STR_ARG(target->config->cluster_name), STR_ARG(target_where(target)), SHOAL_VERSION);
    yaml_write(out, secret_mask(target->cli.arena, target->config->tree));
    if (cluster_state_open(target->config, false, target->cli.arena, &state, &err)) {
        const char *path = arena_printf(target->cli.arena, "%s/log/head", state.folder).ptr;
        buf_add_c(out, "\n==== setup log of the head on this machine ====\n");
        (void)!(file_stat(path).kind == FILE_REGULAR && file_read(path, out, &err));
    }
}

static int dump_work(struct target *target, const void *fields)
{
    const struct dump_fields *given = fields;
    struct dump_run run = {.session = &target->session};
    AUTO_BUF struct buf all;
    AUTO_BUF struct buf clean;
    struct err err;
    buf_init(&run.text, DUMP_BYTES_MAX);
    buf_init(&all, 2 * (size_t)DUMP_BYTES_MAX);
    buf_init(&clean, 3 * (size_t)DUMP_BYTES_MAX);
    struct redact *redact = redact_new();
    dump_hide_known(target, redact);
    dump_add_local(target, &all);
    struct str rest;
    bool has_head = dump_ask_head(target, given, &run, redact, &rest, &err);
    if (has_head) {
        buf_add(&all, rest);
    } else {
        buf_addf(&all, "\n==== the head ====\nnot reached: %s\n", err.text);
    }
    dump_clean(redact, buf_str(&all), &clean);
    redact_free(redact);
    buf_wipe(&run.text);
    const char *path = dump_path(target, given);
    struct err write_err;
    if (!file_write(path, buf_str(&clean), 0600, &write_err)) {
        return target_fail(target, &write_err);
    }
    fprintf(target->cli.err,
            "Wrote %s (%zu KB). Secrets are masked; read it before you share it.\n", path,
            clean.len / 1024 + 1);
    return has_head ? 0 : target_fail_head(target, &err);
}

static int verb_cluster_dump_run(const struct cli *cli, const void *fields)
{
    const struct dump_fields *given = fields;
    return target_work(cli, &given->target, dump_work, given);
}

const struct verb verb_cluster_dump = {
    .name = "cluster-dump",
    .alias = "cluster_dump",
    .summary = "write a file for a support request, without secrets",
    .description =
        "Writes one text file that only you can read: the cluster file with defaults, versions, "
        "the state and the events of the cluster, the setup logs of all nodes, the ends of Ray's "
        "logs on the head (in its container, if the file has one), its Python packages and "
        "processes. The cluster's key and secret, your "
        "AWS credentials, Ray's token and everything that looks like a secret are masked. If the "
        "head does not answer, the file has what this machine knows, and the exit status is 1.",
    VERB_ROWS(operand),
    VERB_ROWS(option),
    VERB_ROWS(example),
    .fields_size = sizeof(struct dump_fields),
    .run = verb_cluster_dump_run,
};
