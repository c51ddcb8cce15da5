/* own_hosts.c: runs scripts on own machines. */
#include "app/own_hosts.h"

#include "io/file.h"
#include "io/xalloc.h"
#include "remote/ssh.h"

#include <pwd.h>
#include <unistd.h>

enum { OUTPUT_BYTES_MAX = 16 * 1024 * 1024, SAID_BYTES_MAX = 16 * 1024, LOST = 255 };

struct own_task {
    struct child *child;
    host_result_fn *done;
    void *context;
};

struct str own_hosts_user(struct arena *arena)
{
    char host[256] = "";
    const struct passwd *user = getpwuid(getuid());
    gethostname(host, sizeof(host) - 1);
    return arena_printf(arena, "%s@%s", user ? user->pw_name : "?", host);
}

/* ---- the way ---- */

static bool own_hosts_has_folder(const struct own_hosts *hosts)
{
    return hosts->state->folder && file_stat(hosts->state->folder).kind == FILE_FOLDER &&
           hosts->state->control && file_stat(hosts->state->control).kind == FILE_FOLDER;
}

static struct ssh_target target_of(const struct own_hosts *hosts, struct str host,
                                   struct arena *arena)
{
    const struct config *config = hosts->config;
    const struct cluster_state *state = hosts->state;
    bool is_pinned = cluster_state_is_pinned(state, host);
    return (struct ssh_target){
        .user = config->ssh_user,
        .address = host,
        .machine = host,
        .known_hosts = cluster_state_known_hosts(state, host, arena),
        .user_hosts =
            is_pinned || hosts->is_on_head
                ? NULL
                : arena_str(arena, file_expand_home(arena, STR("~/.ssh/known_hosts"))).ptr,
        .identity = hosts->identity,
        .control = own_hosts_has_folder(hosts) ? cluster_state_control(state, host, arena) : NULL,
        .proxy_command = hosts->is_on_head ? STR("") : config->ssh_proxy_command,
        .is_near = hosts->is_on_head,
    };
}

/* With external_head_ip the workers are only reachable from the head: through it. */
static bool go_through_head(const struct own_hosts *hosts, struct str outside,
                            struct ssh_target *target, struct arena *arena, struct err *err)
{
    struct str head = value_text(value_get_c(hosts->config->provider, "head_ip"));
    struct ssh_target through = target_of(hosts, head, arena);
    through.control = NULL;
    through.address = outside;
    return ssh_for_proxy(&through, arena, &target->proxy_command, err);
}

static bool own_hosts_argv(const struct own_hosts *hosts, const struct host_task *task,
                           struct arena *arena, const char *const **ret_argv, struct err *err)
{
    static const char *const here[] = {"sh", "-s", NULL};
    if (hosts->is_on_head && task->is_head) {
        *ret_argv = here;
        return true;
    }
    struct str outside = value_text(value_get_c(hosts->config->provider, "external_head_ip"));
    struct ssh_target target = target_of(hosts, task->host, arena);
    if (outside.len > 0 && !hosts->is_on_head) {
        if (task->is_head) {
            target.address = outside;
        } else if (!go_through_head(hosts, outside, &target, arena, err)) {
            return false;
        }
    }
    return ssh_argv(&target, &(struct ssh_session){.command = STR("exec sh -s")}, arena, ret_argv,
                    err);
}

/* ---- running ---- */

static struct str last_line(struct str text)
{
    struct str last = STR("");
    while (text.len > 0) {
        struct str line = str_trim(str_cut(&text, '\n'));
        last = line.len > 0 ? line : last;
    }
    return last;
}

static void own_hosts_on_done(void *context, const struct child_result *result)
{
    struct own_task *task = context;
    struct host_result told = {
        .status = result->end == CHILD_EXITED ? result->exit_status : LOST,
        .output = result->output[CHILD_STDOUT],
    };
    struct str said = last_line(result->output[CHILD_STDERR]);
    if (told.status != 0 || told.output.len == 0) {
        err_set(&told.err, ERR_UNAVAILABLE, "%.*s",
                STR_ARG(said.len > 0 ? str_sub(said, 0, 400) : str_from(result->err.text)));
    }
    task->done(task->context, &told);
    free(task);
}

static void *own_hosts_run(void *context, const struct host_task *asked, host_result_fn *done,
                           void *done_context)
{
    const struct own_hosts *hosts = context;
    static const char *const never[] = {"sh", "-c", "echo \"$1\" >&2; exit 255", "sh", NULL, NULL};
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    const char *const *argv;
    const char *failed[ARRAY_LEN(never)];
    struct err err;
    struct own_task *task = HEAP_NEW(struct own_task);
    *task = (struct own_task){.done = done, .context = done_context};
    if (!own_hosts_argv(hosts, asked, &arena, &argv, &err)) {
        for (size_t i = 0; i < ARRAY_LEN(never); i++) {
            failed[i] = never[i];
        }
        failed[ARRAY_LEN(never) - 2] = err.text; /* reported as what ssh says */
        argv = failed;
    }
    task->child = child_start(hosts->children,
                              &(struct child_spec){
                                  .argv = argv,
                                  .env_names = child_usual_env,
                                  .input = asked->script,
                                  .output = {{.bytes_max = OUTPUT_BYTES_MAX},
                                             {.bytes_max = SAID_BYTES_MAX, .keeps_tail = true}},
                                  /* The lease must not wait for a thousand workers. */
                                  .is_urgent = asked->is_head,
                                  .deadline_ms = asked->deadline_ms,
                                  .done = own_hosts_on_done,
                                  .context = task,
                              });
    return task;
}

static void own_hosts_cancel(void *context, void *handle)
{
    struct own_task *task = handle;
    (void)context;
    child_forget(task->child);
    free(task);
}

/* The key came over a connection that was checked against a pinned key, or the user's known_hosts,
 * or is the first one. */
static void own_hosts_key(void *context, struct str host, struct str key_line)
{
    const struct own_hosts *hosts = context;
    struct str rest = key_line;
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct err ignored; /* ssh has stored the key itself */
    if (hosts->is_on_head || !own_hosts_has_folder(hosts) ||
        cluster_state_is_pinned(hosts->state, host)) {
        return;
    }
    struct str kind = str_cut(&rest, ' ');
    struct str bytes = str_cut(&rest, ' ');
    struct str key = arena_printf(&arena, "%.*s %.*s", STR_ARG(kind), STR_ARG(bytes));
    if (!cluster_state_pin(hosts->state, host, key, false, &ignored)) {
        return;
    }
}

struct host_reach own_hosts_reach(struct own_hosts *hosts)
{
    return (struct host_reach){
        .context = hosts,
        .run = own_hosts_run,
        .cancel = own_hosts_cancel,
        .key = own_hosts_key,
    };
}
