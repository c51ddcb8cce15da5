/* head_setup_probe.c: a head with one step is set up over ssh, as `up` does it.
 *
 * usage: head_setup_probe FILE FOLDER USER PORT IDENTITY
 *
 * FOLDER is the cluster's state; the machine is called "node". Prints the calls of the hooks. */
#include "app/cluster_file.h"
#include "app/launch/head_setup.h"

#include <stdio.h>
#include <stdlib.h>

enum { DEADLINE_MS = 30000 };

struct probe {
    struct arena arena;
    struct cloud_session session;
    struct cluster_state state;
    const struct config *config;
    struct node_view view;
    bool is_ok;
};

static void on_nothing(void *context)
{
    (void)context;
}

static bool make_plan(void *context, const struct node_hello *hello, struct setup_plan *ret_plan,
                      struct err *err)
{
    /* Long enough for what runs in parallel to the steps. */
    static const struct step steps[] = {
        {.name = {"wait", 4}, .command = {"sleep 2", 7}, .is_always = true}};
    static const struct setup_step about[] = {{.kind = "wait"}};
    (void)context;
    (void)hello;
    (void)err;
    *ret_plan = (struct setup_plan){.request = {.bundle = {.steps = steps, .count = 1}},
                                    .steps = about};
    return true;
}

static void on_kept_key(void *context, struct str why)
{
    (void)context;
    printf("kept %.*s\n", STR_ARG(why));
}

static void on_done(void *context, bool is_ok, const struct err *err)
{
    struct probe *probe = context;
    probe->is_ok = is_ok;
    if (!is_ok) {
        printf("error %s\n", err->text);
    }
    cloud_session_stop(&probe->session);
}

static bool open_parts(struct probe *probe, char **words, struct err *err)
{
    struct source *source = ARENA_NEW(&probe->arena, struct source);
    struct diag_list diags;
    diag_list_init(&diags, &probe->arena);
    if (!cluster_file_read(&probe->arena, words[0], source, err)) {
        return false;
    }
    probe->config = config_load(&probe->arena, source, &diags);
    return (probe->config || err_set(err, ERR_CONFIG, "the file is wrong")) &&
           cluster_state_open_at(words[1], probe->config, true, &probe->arena, &probe->state, err);
}

static struct head_setup *start(struct probe *probe, char **words)
{
    struct arena *arena = &probe->arena;
    return head_setup_start(&(struct head_setup_input){
        .session = &probe->session,
        .config = probe->config,
        .state = &probe->state,
        .place = {.user = str_from(words[2]),
                  .address = STR("127.0.0.1"),
                  .port = (uint16_t)strtoul(words[3], NULL, 10),
                  .machine = STR("node"),
                  .known_hosts = cluster_state_known_hosts(&probe->state, STR("node"), arena),
                  .identity = words[4],
                  .control = cluster_state_control(&probe->state, STR("node"), arena)},
        .view = &probe->view,
        .hooks = {probe, on_nothing, make_plan, on_nothing, on_kept_key, on_nothing, on_done},
    });
}

int main(int argc, char **argv)
{
    struct probe probe = {0};
    struct err err = {0};
    arena_init(&probe.arena);
    const struct cloud_session_setup setup = {.deadline_ms = DEADLINE_MS,
                                              .least = LOG_LEVEL_WARNING};
    if (argc != 6 || !cloud_session_open(&probe.session, &setup, &err)) {
        fputs("usage: head_setup_probe FILE FOLDER USER PORT IDENTITY\n", stderr);
        return 2;
    }
    if (open_parts(&probe, argv + 1, &err)) {
        struct head_setup *head = start(&probe, argv + 1);
        (void)!cloud_session_run(&probe.session, &err);
        head_setup_end(head);
    }
    if (err.kind != ERR_NONE) {
        printf("error %s\n", err.text);
    }
    cloud_session_close(&probe.session);
    arena_clear(&probe.arena);
    return probe.is_ok ? 0 : 1;
}
