/* head_watch.c: follows the setup of the head. */
#include "app/head/head_watch.h"

#include "app/setup/command_list.h"
#include "app/setup/node_tools.h"
#include "app/setup/setup_failure.h"
#include "remote/step_event.h"

#include <unistd.h>

enum { AGAIN_MS = 500 };

enum head_state head_watch_state(const struct head_watch *watch)
{
    return watch->head->ray.is_alive || !(watch->has_failed || watch->is_running) ? HEAD_UP
           : watch->has_failed                                                    ? HEAD_FAILED
                                                                                  : HEAD_SETTING_UP;
}

/* The command of the file, from the name of its step: "setup 3 of 5". */
static bool head_watch_find(struct head_watch *watch, struct str name, struct setup_step *ret_step)
{
    const struct config *config = watch->head->config;
    const struct config_node_type *type = &config->node_types[config->head_type];
    const struct {
        const char *kind;
        struct command_list list;
    } lists[] = {{"initialization", command_list_first(config, type, &watch->arena)},
                 {"setup", command_list_set_up(config, type, &watch->arena)}};
    struct str kind = str_cut(&name, ' ');
    int64_t number;
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        const struct command_list *list = &lists[i].list;
        if (str_is(kind, lists[i].kind) && str_to_i64(str_cut(&name, ' '), &number) && number > 0 &&
            (size_t)number <= list->count) {
            *ret_step = (struct setup_step){.kind = lists[i].kind,
                                            .number = (size_t)number,
                                            .count = list->count,
                                            .command = list->items[number - 1].text,
                                            .path = list->items[number - 1].path};
            return true;
        }
    }
    return false;
}

static void head_watch_on_line(void *context, struct str line)
{
    struct head_watch *watch = context;
    struct step_event event;
    struct setup_step step;
    struct err err;
    if (step_event_read(line, &watch->arena, &event, &err) && event.kind == STEP_FAILED) {
        bool is_known = head_watch_find(watch, event.name, &step);
        watch->failure = setup_failure(is_known ? &step : NULL, &event,
                                       watch->head->config->provider_type, &watch->arena);
    }
}

static void head_watch_on_done(void *context, bool is_ok, const struct err *err)
{
    struct head_watch *watch = context;
    if (err && err->kind == ERR_CANCELLED) { /* another setup has begun */
        loop_timer_start(watch->again, AGAIN_MS);
        return;
    }
    watch->is_running = false;
    watch->has_failed = !is_ok;
    if (err) {
        watch->failure = (struct node_failure){
            .step = STR("setup"), .said = arena_str(&watch->arena, str_from(err->text))};
    }
    if (watch->has_failed && watch->failure.next.len == 0) {
        watch->failure.next = STR("correct the cluster file and run `shoal up` again");
    }
    watch->changed(watch->context);
}

static void head_watch_follow(void *context)
{
    struct head_watch *watch = context;
    const char *folder = tools_home(&watch->arena, "~/.shoal/steps");
    const char *events = arena_printf(&watch->arena, "%s/events", folder).ptr;
    struct err err;
    step_follow_end(watch->follow);
    watch->follow = NULL;
    watch->has_failed = false;
    watch->failure = (struct node_failure){0};
    watch->is_running = access(events, R_OK) == 0 &&
                        step_follow_start(watch->head->session.loop, folder, head_watch_on_line,
                                          head_watch_on_done, watch, &watch->follow, &err);
    watch->changed(watch->context);
}

void head_watch_open(struct head_watch *watch)
{
    arena_init(&watch->arena);
    watch->again = loop_timer_new(watch->head->session.loop, head_watch_follow, watch);
    head_watch_follow(watch);
}

void head_watch_close(struct head_watch *watch)
{
    if (watch->again) {
        step_follow_end(watch->follow);
        loop_timer_free(watch->again);
        arena_clear(&watch->arena);
    }
}
