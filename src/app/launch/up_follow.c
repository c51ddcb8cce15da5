/* up_follow.c: follows the head's service until the cluster is complete. */
#include "app/launch/up_internal.h"

#include <stdio.h>

enum {
    AGAIN_FIRST_MS = 50,
    AGAIN_MOST_MS = 2000,
    SAY_WAIT_MS = 20 * 1000,
    LEASE_WAIT_MS = 2 * 60 * 1000,  /* the lease of a dead process expires earlier */
    RAY_GONE_MS = 6 * 1000,         /* it answered before; the service asks every 2 s */
    RAY_BOOT_MS = 30 * 1000,        /* the service itself starts Ray after a reboot */
    ANSWER_WAIT_MS = 5 * 60 * 1000, /* a rebooting head answers earlier */
};

/* Is it about the configuration that this `up` sent? */
static bool up_follow_is_ours(const struct up *up, const struct ctl_status *status)
{
    return up->serial == 0 || status->serial == up->serial;
}

/* Only a status for our configuration can complete this `up`. If another `up` has sent a newer one,
 * the state of ours is unknown. */
static void compare_serial(struct up *up, const struct ctl_status *status)
{
    struct err err;
    bool is_ours = up_follow_is_ours(up, status);
    up->is_settled = status->is_settled && is_ours;
    if (!is_ours && status->serial > up->serial) {
        err_set(&err, ERR_EXISTS,
                "another `shoal up` has replaced this configuration on the head; run `shoal up` "
                "again to apply yours");
        up_fail(up, &err);
    }
}

/* A service that cannot take the lease never launches anything: fail after LEASE_WAIT_MS. */
static bool is_without_lease(struct up *up)
{
    struct err err;
    int64_t now_ms = loop_now_ms(up->launch.session->loop);
    if (up->no_lease_since_ms == 0 || now_ms < up->no_lease_since_ms + LEASE_WAIT_MS) {
        return false;
    }
    err_set(&err, ERR_UNAVAILABLE,
            "the head's service did not get the cluster lease within 2 minutes, and launches "
            "nothing without it; run `shoal up` again to continue. It is waiting for %s",
            up->waits_for);
    up_fail(up, &err);
    return true;
}

/* Reports every SAY_WAIT_MS what `up` is waiting for. */
void up_say_wait(void *context)
{
    struct up *up = context;
    if (is_without_lease(up)) {
        return;
    }
    if (up->waits_for[0] != '\0') {
        launch_note(&up->launch, "still waiting for %s", up->waits_for);
    }
    loop_timer_start(up->wait_note, SAY_WAIT_MS);
}

/* The reason why the service has no lease changes with each try (AWS numbers its replies); that
 * must not restart the wait. */
static void take_wait(struct up *up, const struct ctl_status *status)
{
    bool is_lease = status->waits_for_lease;
    bool is_same = is_lease ? up->no_lease_since_ms > 0 : str_is(status->waits_for, up->waits_for);
    snprintf(up->waits_for, sizeof(up->waits_for), "%.*s", STR_ARG(status->waits_for));
    if (!is_lease) {
        up->no_lease_since_ms = 0;
    } else if (up->no_lease_since_ms == 0) {
        up->no_lease_since_ms = loop_now_ms(up->launch.session->loop);
    }
    if (!is_same) {
        loop_timer_start(up->wait_note, SAY_WAIT_MS);
    }
}

/* ---- a dead Ray ---- */

static bool can_start_ray(const struct up *up, struct err *err)
{
    if (up->launch.setup->no_restart) {
        return err_set(err, ERR_UNAVAILABLE,
                       "Ray on the head does not run; `shoal up` without --no-restart starts it");
    }
    if (up->launch.restarts_ray) {
        return err_set(err, ERR_UNAVAILABLE,
                       "Ray on the head was started again and does not run; its logs are in "
                       "/tmp/ray/session_latest/logs on the head");
    }
    return true;
}

void up_start_ray_again(void *context)
{
    struct up *up = context;
    struct cluster_session *launch = &up->launch;
    struct err err;
    if (!can_start_ray(up, &err)) {
        up_fail(up, &err);
        return;
    }
    launch_note(launch, "Ray on the head does not run; starting it again");
    launch->result->was_up_to_date = false;
    launch->restarts_ray = true;
    up->is_ray_gone = up->is_head_done = up->is_head_in_ray = false;
    ctl_client_close(up->ctl); /* the next one asks the service to read the new handover */
    up->ctl = NULL;
    head_setup_end(up->head_setup);
    up->head_setup = NULL;
    up_set_head_up(up);
}

/* The steps of the head are done or unchanged, but Ray may have died: then no node works. */
static void take_ray_state(struct up *up, const struct ctl_status *status)
{
    bool is_ours = up_follow_is_ours(up, status);
    bool is_gone = up->is_update && up->is_head_done && is_ours && status->is_ray_gone &&
                   !status->is_ray_scaling;
    up->is_settled = up->is_settled && !is_gone;
    if (is_gone && !up->is_ray_gone) {
        loop_timer_start(up->ray_wait, status->seen_ms > 0 ? RAY_GONE_MS : RAY_BOOT_MS);
    } else if (!is_gone) {
        loop_timer_stop(up->ray_wait);
    }
    up->is_ray_gone = is_gone;
}

static void take_status(struct up *up, const struct ctl_status *status)
{
    const struct launcher_hooks *hooks = &up->launch.setup->hooks;
    struct launcher_result *result = up->launch.result;
    hooks->status(hooks->context, status);
    result->ray_version = arena_str(up->launch.arena, status->ray_version);
    result->node_count = status->joined;
    up->wanted_count = status->wanted;
    if (!str_eq(result->missing_why, status->held)) {
        result->missing_why = arena_str(up->launch.arena, status->held);
    }
    compare_serial(up, status);
    take_ray_state(up, status);
    take_wait(up, status);
    if (status->is_ray_scaling != up->is_ray_scaling) {
        up->is_ray_scaling = status->is_ray_scaling;
        up->autoscaler_message = arena_str(up->launch.arena, status->autoscaler_message);
    }
    up_end_if_done(up);
}

/* Steps are reported by the connection that runs them, membership in Ray by the service. */
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

/* A handover that was rejected will never complete: fail. */
static void take_error(struct up *up, const struct ctl_line *line)
{
    struct err err;
    if (str_is(line->about, "update")) {
        err_set(&err, ERR_UNAVAILABLE,
                "the head's service did not accept the new configuration: %.*s",
                STR_ARG(str_sub(line->text, 0, 400)));
        up_fail(up, &err);
    } else {
        launch_note(&up->launch, "message from the head's service: %.*s", STR_ARG(line->text));
    }
}

void up_take_line(void *context, const struct ctl_line *line)
{
    struct up *up = context;
    up->again_ms = 0;
    up->no_answer_since_ms = 0;
    if (line->kind == CTL_STATUS) {
        take_status(up, &line->status);
    } else if (line->kind == CTL_NODE) {
        take_node(up, &line->node);
    } else if (line->kind == CTL_ERROR) {
        take_error(up, line);
    }
}

void up_follow_again_now(void *context)
{
    up_follow(context);
}

/* Reconnects at once if the service has answered before, then with back-off. */
static void follow_again(struct up *up)
{
    loop_timer_start(up->again, up->again_ms);
    up->again_ms = up->again_ms == 0 ? AGAIN_FIRST_MS : up->again_ms * 2;
    up->again_ms = up->again_ms < AGAIN_MOST_MS ? up->again_ms : AGAIN_MOST_MS;
}

bool up_has_lost_head(struct up *up, const struct err *why)
{
    struct err err;
    int64_t now_ms = loop_now_ms(up->launch.session->loop);
    loop_timer_stop(up->ray_wait); /* Ray may run again: the next status counts */
    up->is_ray_gone = false;
    if (up->no_answer_since_ms == 0) {
        up->no_answer_since_ms = now_ms;
    }
    if (now_ms < up->no_answer_since_ms + ANSWER_WAIT_MS) {
        return false;
    }
    err_set(
        &err, ERR_UNAVAILABLE,
        "the head has not answered for 5 minutes; it may have been terminated. Check with `shoal "
        "ls`, then run `shoal up` again. The last error: %.300s",
        why->text);
    up_fail(up, &err);
    return true;
}

static void up_follow_on_ctl_done(void *context, const struct err *err)
{
    struct up *up = context;
    struct ctl_client *ended = up->ctl;
    up->ctl = NULL;
    ctl_client_close(ended);
    if (up->launch.is_ok || up->launch.err.kind != ERR_NONE) {
        return;
    }
    if (!err || err->kind != ERR_UNAVAILABLE) {
        up_fail(up, err);
    } else if (!up_has_lost_head(up, err)) { /* service restarting, or connection lost */
        follow_again(up);
    }
}

void up_follow(struct up *up)
{
    struct cluster_session *launch = &up->launch;
    struct ssh_target place;
    const char *const *argv;
    struct err err;
    struct ssh_session session = {.command = STR(SETUP_PROGRAM " ctl --wait")};
    if (up->ctl) {
        return;
    }
    launch_head_place(launch, up->head_id, up->head_address, &place);
    if (!ssh_argv(&place, &session, launch->arena, &argv, &err)) {
        up_fail(up, &err);
        return;
    }
    up->ctl = ctl_client_open(launch->session->children, argv,
                              &(struct ctl_client_hooks){up, up_take_line, up_follow_on_ctl_done});
    if (!launch->result->was_up_to_date) {
        /* No effect on a service that was started with this handover; an older one reloads it. */
        ctl_client_ask(up->ctl, "update");
    }
    ctl_client_ask(up->ctl, "follow");
}
