/* service_activity.c: opens and closes the controller, and ends the service. */
#include "app/head/service_activity.h"

#include "app/head/service.h"
#include "app/head/supervisor/service_crashloop.h"
#include "app/idle_stop.h"
#include "base/require.h"
#include "provider/expiry.h"

#include <stdio.h>
#include <unistd.h>

enum {
    AGAIN_MS = 1000, /* after the lease was lost */
    GUARD_MS = 10 * 1000,
    GUARD_FIRST_MS = 1000, /* until Ray answers for the first time */
};

/* ---- the controller ---- */

static struct str holder_of(struct head_context *head)
{
    char host[256] = "head";
    gethostname(host, sizeof(host) - 1);
    return arena_printf(&head->arena, SERVICE_HOLDER "%.*s@%.200s, pid %ld",
                        STR_ARG(head->config->ssh_user), host, (long)getpid());
}

void activity_stop(struct activity *activity)
{
    struct head_context *head = activity->head;
    if (!head) {
        return;
    }
    head->is_leading = false;
    if (head->controller) {
        controller_close(head->controller);
        head->controller = NULL;
        activity->stopped(activity->hooks.context);
    }
}

static void start(void *context)
{
    struct activity *activity = context;
    struct head_context *head = activity->head;
    activity_stop(activity);
    if (activity->is_frozen || ray_autoscaler_is_active(&activity->ray_autoscaler)) {
        return; /* checked again by guard() */
    }
    require(!head->controller && !head->is_leading, "one controller at a time");
    /* Each `up` may change the policy of the role, and a handover starts this service. */
    if (head->core.settings.policy_at == 0) {
        head->core.settings.policy_at = loop_now_ms(head->session.loop);
    }
    head->controller = controller_open(&(struct controller_setup){
        .session = &head->session,
        .provider = head->provider,
        .journal = head->journal,
        .config = head->config,
        .core = &head->core,
        .holder = holder_of(head),
        .secret = head->state.secret,
        .cluster_key = head->handover.public_key,
        .take_from = head->handover.epoch,
        .uid = head->handover.uid,
        .lease_object = head->handover.lease_object,
        .goal = head->is_ending ? GOAL_DOWN : GOAL_RUN,
        .hooks = activity->hooks,
    });
}

static void guard(void *context)
{
    struct activity *activity = context;
    struct head_context *head = activity->head;
    bool before = ray_autoscaler_is_active(&activity->ray_autoscaler);
    ray_autoscaler_find(&activity->ray_autoscaler, head);
    bool is_now = ray_autoscaler_is_active(&activity->ray_autoscaler);
    if (is_now && !before) {
        LOG(head, ERROR,
            "standing by, because Ray's own autoscaler manages the workers pid=%d ray=%s",
            activity->ray_autoscaler.monitor_pid, activity->ray_autoscaler.old_ray);
        activity_stop(activity);
    } else if (!is_now && before) {
        start(activity);
    }
    loop_timer_start(activity->guard, head->ray.is_alive ? GUARD_MS : GUARD_FIRST_MS);
    ctl_server_notify(head->ctl_server, INSTANCE_NONE);
}

void activity_check(struct activity *activity)
{
    loop_timer_start(activity->guard, 0);
}

/* ---- the lease ---- */

static void activity_on_cleared(void *context, const struct provider_answer *answer)
{
    struct activity *activity = context;
    if (answer->outcome != OUTCOME_DONE) {
        LOG(activity->head, WARNING, "cannot clear the time of an earlier stop: %s",
            answer->err.text);
    }
}

/* The time of a stop that did not happen would count for a later stop, and gc would terminate the
 * cluster too early. */
static void activity_clear_stop(struct activity *activity)
{
    struct head_context *head = activity->head;
    struct machine_tag tag = {STR(TAG_STOPPED), STR("")};
    if (idle_terminate_after(head->config->shoal) > 0 && !config_is_local(head->config)) {
        head->provider->ops->tag(head->provider, &head->handover.head_id, 1, &tag, 1,
                                 activity_on_cleared, activity);
    }
}

void activity_acquired(struct activity *activity, const struct cluster_lease *lease)
{
    struct head_context *head = activity->head;
    require(head->controller && !activity->is_frozen, "only an open controller gets the lease");
    head->is_leading = true;
    activity->refusal[0] = '\0';
    LOG(head, INFO, "acting epoch=%llu", (unsigned long long)lease->epoch);
    activity_clear_stop(activity);
    events_add(head->events, CLUSTER_EVENT_AUTOSCALER, STR(""), STR("acquired the cluster lease"),
               STR(""));
}

void activity_lost(struct activity *activity, const struct cluster_lease *lease)
{
    struct head_context *head = activity->head;
    struct str holder = lease ? lease->holder : STR("");
    snprintf(activity->refusal, sizeof(activity->refusal), "%.*s holds the cluster lease",
             STR_ARG(holder.len > 0 ? holder : STR("another controller")));
    LOG(head, WARNING, "lost the lease: %s", activity->refusal);
    events_add(head->events, CLUSTER_EVENT_AUTOSCALER, STR(""), STR("lost the cluster lease"),
               str_from(activity->refusal));
    head->is_leading = false;
    loop_timer_start(activity->again, AGAIN_MS);
    ctl_server_notify(head->ctl_server, INSTANCE_NONE);
}

void activity_refused(struct activity *activity, struct str why)
{
    snprintf(activity->refusal, sizeof(activity->refusal), "%.*s", STR_ARG(why));
}

/* ---- ends ---- */

static void finish(struct activity *activity, enum service_exit end)
{
    activity->end = end;
    cloud_session_stop(&activity->head->session);
}

void activity_restart(struct activity *activity)
{
    finish(activity, SERVICE_RESTART);
}

bool activity_read_goal(struct head_context *head, struct err *err)
{
    struct str goal = STR("");
    bool ok = journal_get(head->journal, SERVICE_GOAL, &head->arena, &goal, err);
    head->is_ending = ok && str_is(goal, "end");
    return ok;
}

bool activity_terminate(struct activity *activity, struct err *err)
{
    struct head_context *head = activity->head;
    if (!head->controller || !head->is_leading) {
        return err_set(err, ERR_UNAVAILABLE,
                       "this service does not hold the cluster lease, so it cannot terminate the "
                       "cluster");
    }
    if (!journal_note(head->journal, SERVICE_GOAL, STR("end"), err)) {
        return false;
    }
    LOG(head, INFO, "terminating the cluster");
    head->is_ending = true;
    controller_set_goal(head->controller, GOAL_DOWN);
    return true;
}

static void finish_end(void *context)
{
    struct activity *activity = context;
    LOG(activity->head, INFO, "the workers are terminated; shutting this machine down");
    ctl_server_answer(activity->head->ctl_server, CTL_REQUEST_TERMINATE, NULL);
    /* An own machine is never shut down. */
    finish(activity, config_is_local(activity->head->config) ? SERVICE_STANDS_DOWN : SERVICE_ENDS);
}

static void on_ended(void *context, const struct provider_answer *answer)
{
    struct activity *activity = context;
    (void)answer; /* a lease that was not released expires */
    reporter_farewell(activity->reporter, finish_end, activity);
}

static void activity_end(struct activity *activity)
{
    controller_release(activity->head->controller, on_ended, activity);
}

static void activity_on_noted(void *context, const struct provider_answer *answer)
{
    struct activity *activity = context;
    activity->is_noting = false;
    if (answer->outcome != OUTCOME_DONE) {
        LOG(activity->head, WARNING,
            "cannot record the time of this stop, so idle_terminate does not apply: %s",
            answer->err.text);
    }
    if (activity->head->controller) {
        activity_end(activity);
    }
}

/* A head that only stops notes when, for idle_terminate. */
void activity_emptied(struct activity *activity)
{
    struct head_context *head = activity->head;
    int64_t limit = idle_terminate_after(head->config->shoal);
    if (!head->is_ending || !head->controller || activity->is_noting) {
        return;
    }
    if (limit == 0 || config_is_local(head->config)) {
        activity_end(activity);
        return;
    }
    activity->is_noting = true;
    int64_t now = clock_wall_ms(loop_clock(head->session.loop)) / 1000;
    struct machine_tag tag = {STR(TAG_STOPPED), expiry_text(now, limit, &head->arena)};
    head->provider->ops->tag(head->provider, &head->handover.head_id, 1, &tag, 1, activity_on_noted,
                             activity);
}

static void finish_standing_down(void *context)
{
    struct activity *activity = context;
    LOG(activity->head, INFO, "released the cluster lease");
    events_add(activity->head->events, CLUSTER_EVENT_AUTOSCALER, STR(""),
               STR("released the cluster lease"), STR(""));
    ctl_server_answer(activity->head->ctl_server, "release", NULL);
    finish(activity, SERVICE_STANDS_DOWN);
}

static void on_released(void *context, const struct provider_answer *answer)
{
    struct activity *activity = context;
    if (answer->outcome != OUTCOME_DONE) { /* it expires */
        LOG(activity->head, WARNING, "cannot release the lease: %s", answer->err.text);
    }
    reporter_farewell(activity->reporter, finish_standing_down, activity);
}

bool activity_release(struct activity *activity)
{
    if (activity->head->controller && activity->head->is_leading) {
        controller_release(activity->head->controller, on_released, activity);
        return true;
    }
    finish(activity, SERVICE_STANDS_DOWN);
    return false;
}

static void stop_loop(void *context)
{
    struct activity *activity = context;
    loop_stop(activity->head->session.loop);
}

void activity_farewell(struct activity *activity)
{
    if (activity->head->is_leading) {
        activity_stop(activity);
        reporter_farewell(activity->reporter, stop_loop, activity);
        loop_run(activity->head->session.loop);
    }
}

/* ---- opening ---- */

void activity_open(struct activity *activity)
{
    struct loop *loop = activity->head->session.loop;
    activity->again = loop_timer_new(loop, start, activity);
    activity->guard = loop_timer_new(loop, guard, activity);
    loop_timer_start(activity->guard, GUARD_FIRST_MS);
}

static void restart_by_request(void *context)
{
    struct activity *activity = context;
    LOG(activity->head, INFO, "SIGHUP received; restarting");
    finish(activity, SERVICE_RESTART);
}

/* Shows the reason in its status and waits for SIGHUP to restart. */
static bool freeze(struct activity *activity, const char *last_end, struct err *err)
{
    struct head_context *head = activity->head;
    activity->is_frozen = true;
    activity_refused(activity, crashloop_text(last_end, &head->arena));
    LOG(head, ERROR, "frozen: %s", activity->refusal);
    return crashloop_wait(head->session.loop, restart_by_request, activity, err);
}

bool activity_begin(struct activity *activity, const char *last_end, struct err *err)
{
    ray_autoscaler_find(&activity->ray_autoscaler, activity->head);
    if (last_end && !freeze(activity, last_end, err)) {
        return false;
    }
    start(activity);
    return true;
}

/* ---- status ---- */

enum autoscaler_state activity_state(const struct activity *activity)
{
    return activity->is_frozen ? AUTOSCALER_CRASH_LOOPING
           : ray_autoscaler_is_active(&activity->ray_autoscaler) || !activity->head->is_leading
               ? AUTOSCALER_STANDBY
               : AUTOSCALER_ACTIVE;
}

struct str activity_message(const struct activity *activity, struct arena *arena)
{
    bool has_other = !activity->is_frozen && ray_autoscaler_is_active(&activity->ray_autoscaler);
    return has_other ? ray_autoscaler_text(&activity->ray_autoscaler, arena)
                     : arena_str(arena, str_from(activity->refusal));
}
