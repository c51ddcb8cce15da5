/* own_hosts.c: own machines for the factory: each host is a folder below --image. */
#include "conform.h"

#include "base/panic.h"
#include "base/rng.h"
#include "provider/local/local_provider.h"
#include "shell_hosts.h"

#include <stdlib.h>
#include <unistd.h>

enum { WORKERS = 24 };

static struct arena faults_arena = ARENA_HEAP;
static struct rng dice;

/* Scripts until this machine sleeps, and for how long; 0: it does not. */
static int64_t scripts_left;
static int64_t jump_ms;

void own_hosts_jump_after(int64_t scripts, int64_t ms)
{
    scripts_left = scripts;
    jump_ms = ms;
}

bool own_hosts_have_jumped(void)
{
    return scripts_left == 0;
}

/* A connection that fails: nothing was run, or its output is lost. */
struct lost_script {
    host_result_fn *done;
    void *context;
};

static void on_lost_script(void *context, const struct host_result *result)
{
    struct lost_script *lost = context;
    struct host_result failed = {.status = 255, .output = STR("")};
    (void)result;
    err_set(&failed.err, ERR_IO, "the connection was lost");
    lost->done(lost->context, &failed);
}

/* HOST_FAULTS: of 1000 scripts, how many. */
static bool is_fault(void)
{
    const char *faults = getenv("HOST_FAULTS");
    return faults && rng_chance(&dice, strtol(faults, NULL, 10));
}

static void *run_script(void *context, const struct host_task *task, host_result_fn *done,
                        void *done_context)
{
    const struct host_reach *shells = context;
    struct host_task faulty = *task;
    if (is_fault()) {
        struct lost_script *lost = ARENA_NEW(&faults_arena, struct lost_script);
        *lost = (struct lost_script){done, done_context};
        faulty.script = rng_chance(&dice, 500) ? STR("exit 255\n") : task->script;
        done = on_lost_script;
        done_context = lost;
    }
    void *handle = shells->run(shells->context, &faulty, done, done_context);
    if (scripts_left > 0 && --scripts_left == 0) {
        cloud_jump(jump_ms);
    }
    return handle;
}

static void cancel_script(void *context, void *handle)
{
    const struct host_reach *shells = context;
    shells->cancel(shells->context, handle);
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
    struct shell_hosts *hosts = ARENA_NEW(&cloud->arena, struct shell_hosts);
    struct host_reach *shells = ARENA_NEW(&cloud->arena, struct host_reach);
    struct provider *provider;
    struct err err;
    dice.state = (uint64_t)getpid();
    *hosts = (struct shell_hosts){.children = cloud->children, .folder = options->image};
    *shells = shell_hosts_reach(hosts);
    struct local_setup setup = {.loop = cloud->loop,
                                .reach = {shells, run_script, cancel_script, NULL},
                                .by = str_from(options->holder)};
    if (!local_provider_open(&setup, &cloud->cluster, &provider, &err)) {
        panic("%s", err.text);
    }
    return provider;
}
