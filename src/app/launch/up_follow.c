/* up_follow.c: what the head's service tells, until all is there that was asked for. */
#include "app/launch/up_parts.h"

enum { AGAIN_FIRST_MS = 50, AGAIN_MOST_MS = 2000 };

static void take_status(struct up *up, const struct ctl_status *status)
{
    const struct launcher_hooks *hooks = &up->launch.setup->hooks;
    struct launcher_result *result = up->launch.result;
    hooks->status(hooks->context, status);
    result->ray_version = arena_str(up->launch.arena, status->ray_version);
    result->node_count = status->joined;
    up->wanted_count = status->wanted;
    up->is_settled = status->is_settled && status->serial >= up->serial;
    if (status->is_rays != up->is_rays) {
        up->is_rays = status->is_rays;
        up->stance = arena_str(up->launch.arena, status->stance);
    }
    up_end_if_done(up);
}

/* Its steps are told by the connection that runs them, who is in Ray by the service. */
void up_show_head_ready(struct up *up)
{
    if (up->is_head_in_ray && up->is_head_done && up->head.phase == PHASE_JOINING) {
        up->head.phase = PHASE_READY;
        up->head.since_ms = clock_wall_ms(loop_clock(up->launch.session->loop));
        up_show_head(up);
    }
}

static void take_node(struct up *up, const struct node_view *view)
{
    if (view->is_head) {
        up->is_head_in_ray = view->phase == PHASE_READY;
        up_show_head_ready(up);
        return;
    }
    up_show(up, view);
}

static void on_ctl_line(void *context, const struct ctl_line *line)
{
    struct up *up = context;
    up->again_ms = 0;
    if (line->kind == CTL_STATUS) {
        take_status(up, &line->status);
    } else if (line->kind == CTL_NODE) {
        take_node(up, &line->node);
    } else if (line->kind == CTL_ERROR) {
        launch_note(&up->launch, "the head's service says: %.*s", STR_ARG(line->text));
    }
}

void up_follow_again_now(void *context)
{
    up_follow(context);
}

/* At once when it had answered before; then less and less often. */
static void follow_again(struct up *up)
{
    loop_timer_start(up->again, up->again_ms);
    up->again_ms = up->again_ms == 0 ? AGAIN_FIRST_MS : up->again_ms * 2;
    up->again_ms = up->again_ms < AGAIN_MOST_MS ? up->again_ms : AGAIN_MOST_MS;
}

static void on_ctl_done(void *context, const struct err *err)
{
    struct up *up = context;
    struct ctl_client *ended = up->ctl;
    up->ctl = NULL;
    ctl_client_close(ended);
    if (up->launch.is_ok || up->launch.err.kind != ERR_NONE) {
        return;
    }
    if (err &&
        err->kind == ERR_UNAVAILABLE) { /* the service was started again, or the link broke */
        follow_again(up);
        return;
    }
    up_fail(up, err);
}

void up_follow(struct up *up)
{
    struct launch *launch = &up->launch;
    struct ssh_place place;
    const char *const *argv;
    struct err err;
    struct ssh_session session = {.command = STR(SETUP_PROGRAM " ctl --wait")};
    if (up->ctl) {
        return;
    }
    launch_head_place(launch, up->head_id, up->head_address, &place);
    if (!ssh_words(&place, &session, launch->arena, &argv, &err)) {
        up_fail(up, &err);
        return;
    }
    up->ctl = ctl_client_open(launch->session->children, argv,
                              &(struct ctl_client_hooks){up, on_ctl_line, on_ctl_done});
    if (!launch->result->was_up_to_date) {
        /* Nothing to a service that was started with it, news to one that ran before. */
        ctl_client_ask(up->ctl, "update");
    }
    ctl_client_ask(up->ctl, "follow");
}
