/* admit.c: allows ssh from this machine again after its address changed. */
#include "app/launch/admit.h"

#include "app/cloud_provider.h"
#include "app/launch/cluster_session.h"
#include "io/tcp_probe.h"

enum { SSH_PORT = 22, PROBE_MS = 2500, OPEN_MS = 15 * 1000 };

struct admit_run {
    struct cluster_session launch;
    bool is_open;
    struct str added;
};

static void admit_on_open(void *context)
{
    struct admit_run *run = context;
    run->is_open = true;
    cloud_session_stop(run->launch.session);
}

static void admit_on_time(void *context)
{
    const struct admit_run *run = context;
    cloud_session_stop(run->launch.session);
}

/* Waits until the port answers; false if it is silent until then. A refusal is an answer: the group
 * let it through. */
static bool admit_probe(struct admit_run *run, struct str address, int64_t most_ms, bool *ret_has,
                        struct err *err)
{
    struct loop *loop = run->launch.session->loop;
    struct tcp_probe *probe = tcp_probe_start(loop, address, SSH_PORT, admit_on_open, run);
    *ret_has = true;
    if (!probe) {
        return true; /* a name: only the user's ssh knows where it leads */
    }
    struct loop_timer *timer = loop_timer_new(loop, admit_on_time, run);
    loop_timer_start(timer, most_ms);
    bool ok = cloud_session_run(run->launch.session, err);
    *ret_has = run->is_open || tcp_probe_why(probe).len > 0;
    loop_timer_free(timer);
    tcp_probe_end(probe);
    return ok;
}

static void admit_on_done(void *context, const struct provider_answer *answer,
                          const struct provider_resource *things, size_t count)
{
    struct admit_run *run = context;
    for (size_t i = 0; i < count; i++) {
        if (str_is(things[i].kind, "address")) {
            run->added = arena_str(run->launch.arena, things[i].id);
        }
    }
    launch_end(&run->launch, answer->outcome == OUTCOME_DONE ? NULL : &answer->err);
}

static bool admit_ask(struct admit_run *run, struct err *err)
{
    struct cluster_session *launch = &run->launch;
    bool ok = cloud_provider_open(launch->session, launch->config, launch->setup->profile,
                                  launch->arena, &launch->provider, err);
    if (ok && launch->provider->ops->admit) {
        launch->provider->ops->admit(launch->provider, admit_on_done, run);
        ok = cloud_session_run(launch->session, err);
        if (ok && !launch->is_ok) {
            *err = launch->err;
            ok = false;
        }
    }
    launch_close(launch);
    return ok;
}

static bool admit_is_direct(const struct config *config)
{
    return !config_is_local(config) && config->ssh_proxy_command.len == 0 &&
           !config->uses_sessions &&
           !value_is_true(value_get_c(config->provider, "use_internal_ips"));
}

bool admit_is_silent(const struct launcher_setup *setup, struct str address)
{
    struct admit_run run = {.launch = {.setup = setup, .session = setup->session}};
    bool has_answer;
    struct err ignored;
    return admit_is_direct(setup->config) &&
           !(admit_probe(&run, address, PROBE_MS, &has_answer, &ignored) && has_answer);
}

bool launcher_admit(const struct launcher_setup *setup, const struct launcher_head *head,
                    struct arena *arena, struct str *ret_added, struct err *err)
{
    const struct config *config = setup->config;
    struct admit_run run = {
        .launch = {.setup = setup, .arena = arena, .session = setup->session, .config = config}};
    bool has_answer;
    *ret_added = STR("");
    if (!admit_is_direct(config)) {
        return true; /* the way does not start at this machine's public address */
    }
    if (!admit_probe(&run, head->address, PROBE_MS, &has_answer, err)) {
        return false;
    }
    if (has_answer) {
        return true;
    }
    if (!admit_ask(&run, err)) {
        log_write(&setup->session->log, LOG_LEVEL_INFO,
                  "cannot allow ssh from this machine error=%s", err->text);
        return err->kind != ERR_CANCELLED; /* ssh reports what is wrong with the head */
    }
    if (run.added.len == 0) {
        return true; /* the rule was there: the address is not the reason */
    }
    *ret_added = run.added;
    return admit_probe(&run, head->address, OPEN_MS, &has_answer, err);
}
