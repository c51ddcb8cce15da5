/*
 * controller_probe.c: FILE FOLDER run|down: a controller over a real provider, with its journal in
 * FOLDER, until all workers run or all are gone. It may be killed anywhere and started again.
 *
 * Prints each report in a line with its time in milliseconds; exits with 0 when the goal is
 * reached. Horizons are short, because the bed shows everything at once.
 */
#include "app/cloud_provider.h"
#include "app/cluster_file.h"
#include "app/control/controller.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { DEADLINE_MS = 60 * 1000, LOOK_MS = 5 };

struct probe {
    struct arena arena;
    struct cloud_session session;
    struct config *config;
    struct core_setup core;
    struct provider *provider;
    struct journal *journal;
    struct controller *controller;
    struct loop_timer *timer;
    int64_t began;
    enum goal goal;
    int64_t wanted, running;
    bool is_closing;
};

static void say(const struct probe *probe, const char *text)
{
    printf("%6lld %s\n", (long long)(loop_now_ms(probe->session.loop) - probe->began), text);
    fflush(stdout);
}

static void on_started(void *context, const struct cluster_lease *lease)
{
    struct probe *probe = context;
    say(probe, arena_printf(&probe->arena, "started epoch=%d", (int)lease->epoch).ptr);
}

static void on_changed(void *context, const struct managed_node *managed_node)
{
    struct probe *probe = context;
    struct str id = managed_node->machine ? managed_node->machine->id : STR("-");
    const char *state = managed_node->node
                            ? node_state_name((enum node_state)managed_node->node->state)
                            : "unknown";
    say(probe, arena_printf(&probe->arena, "machine %d %.*s %s", (int)managed_node->instance,
                            STR_ARG(id), state)
                   .ptr);
}

static void on_trouble(void *context, const struct provider_answer *answer, struct str what)
{
    struct probe *probe = context;
    (void)answer;
    say(probe, arena_printf(&probe->arena, "trouble %.*s", STR_ARG(what)).ptr);
}

static void on_lease_lost(void *context, const struct cluster_lease *lease, const struct err *why)
{
    (void)lease;
    (void)why;
    say(context, "deposed");
    cloud_session_stop(&((struct probe *)context)->session);
}

static void on_released(void *context, const struct provider_answer *answer)
{
    struct probe *probe = context;
    say(probe, answer->outcome == OUTCOME_DONE ? "released" : "not released");
    cloud_session_stop(&probe->session);
}

static void count_running(void *context, const struct managed_node *managed_node)
{
    struct probe *probe = context;
    probe->running += !managed_node->is_head && managed_node->machine &&
                      managed_node->machine->state == MACHINE_RUNNING;
}

static void look(void *context)
{
    struct probe *probe = context;
    probe->running = 0;
    controller_each(probe->controller, count_running, probe);
    bool is_there = probe->goal == GOAL_DOWN ? controller_is_empty(probe->controller)
                                             : probe->running >= probe->wanted;
    if (is_there && !probe->is_closing) {
        probe->is_closing = true;
        say(probe, "there");
        controller_release(probe->controller, on_released, probe);
        return;
    }
    loop_timer_start(probe->timer, LOOK_MS);
}

static bool open_parts(struct probe *probe, const char *file, const char *folder, struct err *err)
{
    struct source *source = ARENA_NEW(&probe->arena, struct source);
    struct diag_list diags;
    struct core_times *times = &probe->core.settings.times;
    diag_list_init(&diags, &probe->arena);
    if (!cluster_file_read(&probe->arena, file, source, err)) {
        return false;
    }
    probe->config = config_load(&probe->arena, source, &diags);
    if (!probe->config) {
        return err_set(err, ERR_CONFIG, "the file is wrong");
    }
    struct str holder = arena_printf(&probe->arena, "probe pid %d", (int)getpid());
    if (!core_setup_make(&probe->arena, probe->config, NULL, &diags, &probe->core, err) ||
        !journal_open(folder, holder.ptr, &probe->journal, err) ||
        !cloud_provider_open(&probe->session, probe->config, STR(""), &probe->arena,
                             &probe->provider, err)) {
        return false;
    }
    times->horizon = times->call_timeout = 500;
    for (size_t i = 0; i < probe->config->node_type_count; i++) {
        probe->wanted += probe->config->node_types[i].min_workers;
    }
    struct controller_setup setup = {
        .session = &probe->session,
        .provider = probe->provider,
        .journal = probe->journal,
        .config = probe->config,
        .core = &probe->core,
        .holder = holder,
        .secret = STR("0123456789abcdef0123456789abcdef"),
        .public_key = STR("ssh-ed25519 "
                          "AAAAC3NzaC1lZDI1NTE5AAAAIB0AAQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0e "
                          "probe"),
        .goal = probe->goal,
        .hooks = {probe, on_started, NULL, on_changed, on_trouble, on_lease_lost}};
    probe->controller = controller_open(&setup);
    return true;
}

int main(int argc, char **argv)
{
    struct probe probe = {0};
    struct err err = {0};
    bool ok = false;
    arena_init(&probe.arena);
    if (argc != 4 || !cloud_session_open(&probe.session,
                                         &(struct cloud_session_setup){.deadline_ms = DEADLINE_MS,
                                                                       .least = LOG_LEVEL_WARNING},
                                         &err)) {
        fprintf(stderr, "usage: controller_probe FILE FOLDER run|down\n");
        return 2;
    }
    probe.goal = str_is(str_from(argv[3]), "down") ? GOAL_DOWN : GOAL_RUN;
    probe.began = loop_now_ms(probe.session.loop);
    if (open_parts(&probe, argv[1], argv[2], &err)) {
        probe.timer = loop_timer_new(probe.session.loop, look, &probe);
        loop_timer_start(probe.timer, LOOK_MS);
        ok = cloud_session_run(&probe.session, &err) && probe.is_closing;
        loop_timer_free(probe.timer);
        controller_close(probe.controller);
    }
    if (!ok) {
        fprintf(stderr, "%s\n", err.text);
    }
    if (probe.provider) {
        probe.provider->ops->close(probe.provider);
    }
    journal_close(probe.journal);
    cloud_session_close(&probe.session);
    arena_clear(&probe.arena);
    return ok ? 0 : 1;
}
