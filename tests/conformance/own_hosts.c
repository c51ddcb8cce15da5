/*
 * own_hosts.c: own machines for the factory: each host is a folder (below --image), in which a
 * shell runs that sees no processes of others.
 */
#include "conform.h"

#include "base/panic.h"
#include "io/xalloc.h"
#include "provider/local/local_provider.h"

#include <sys/stat.h>

enum { WORKERS = 24, OUTPUT_MAX = 16 << 20 };

struct shells {
    struct cloud *cloud;
    struct str folder;
};

struct shell {
    struct child *child;
    host_result_fn *done;
    void *context;
};

static void on_shell(void *context, const struct child_result *result)
{
    struct shell *shell = context;
    struct host_result told = {
        .status = result->end == CHILD_EXITED ? result->exit_status : 255,
        .output = result->output[CHILD_STDOUT],
        .err = result->err,
    };
    shell->done(shell->context, &told);
    free(shell);
}

/* A host whose folder has a file "down" does not answer. */
static void *run_shell(void *context, const struct host_task *task, host_result_fn *done,
                       void *done_context)
{
    static const char *const argv[] = {
        "sh", "-c", "[ ! -e \"$HOME/down\" ] || exit 255; exec unshare -rpf --mount-proc sh -s",
        NULL};
    const struct shells *shells = context;
    struct shell *shell = HEAP_NEW(struct shell);
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct str home = arena_printf(&arena, "%.*s/%.*s", STR_ARG(shells->folder),
                                   STR_ARG(task->host));
    const char *const env[] = {
        arena_printf(&arena, "HOME=%.*s", STR_ARG(home)).ptr,
        arena_printf(&arena, "SHOAL_HOST_FOLDER=%.*s/host", STR_ARG(home)).ptr,
        NULL,
    };
    mkdir(home.ptr, 0700);
    *shell = (struct shell){.done = done, .context = done_context};
    shell->child = child_start(
        shells->cloud->children,
        &(struct child_spec){.argv = argv,
                             .env_names = child_usual_env,
                             .env_extra = env,
                             .input = task->script,
                             .output = {{.bytes_max = OUTPUT_MAX}, {.bytes_max = 4096}},
                             .deadline_ms = task->deadline_ms,
                             .done = on_shell,
                             .context = shell});
    return shell;
}

static void cancel_shell(void *context, void *handle)
{
    struct shell *shell = handle;
    (void)context;
    child_forget(shell->child);
    free(shell);
}

void own_hosts_add(struct param *settings, struct arena *arena)
{
    struct param *workers = param_add_list(settings, "worker_ips", arena);
    param_add_text(settings, "head_ip", STR("h0"), arena);
    for (unsigned i = 1; i <= WORKERS; i++) {
        param_add_text(workers, "", arena_printf(arena, "h%u", i), arena);
    }
}

struct provider *own_hosts_provider(struct cloud *cloud, const struct options *options)
{
    struct shells *shells = ARENA_NEW(&cloud->arena, struct shells);
    struct provider *provider;
    struct err err;
    *shells = (struct shells){cloud, str_from(options->image)};
    struct local_setup setup = {.loop = cloud->loop,
                                .reach = {shells, run_shell, cancel_shell, NULL},
                                .by = str_from(options->holder)};
    if (!local_provider_open(&setup, &cloud->cluster, &provider, &err)) {
        panic("%s", err.text);
    }
    return provider;
}
