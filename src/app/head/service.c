/* service.c: opens the parts of the service, connects them and shuts them down. */
#include "app/head/service.h"

#include "app/cloud_provider.h"
#include "app/head/node_reason.h"
#include "app/head/service_internal.h"
#include "app/head/supervisor/boot.h"
#include "app/head/supervisor/service_crashloop.h"
#include "app/head/supervisor/supervise.h"
#include "app/paths.h"
#include "app/payload.h"
#include "app/program.h"
#include "io/clock.h"
#include "io/file_limit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

enum {
    KEPT_KEY_BYTES_MAX = 1024, /* of a message */
    CHILDREN_MAX = 200,
    AGAIN_MS = 1000, /* after the lease was lost */
    GUARD_MS = 10 * 1000,
    SHORTAGE_MS = 2000,
    GUARD_FIRST_MS = 1000, /* until Ray answers for the first time */
    PREPARE_MS = 1000,     /* after a start: preflight before the first launch needs it */
};

/* ---- controller hooks ---- */

static void read_past_refusal(struct service *service)
{
    struct err err;
    if (!launch_failures_read(&service->failures, service->head.journal, &err)) {
        LOG(&service->head, WARNING, "cannot read refused launches: %s", err.text);
    }
}

static void service_on_started(void *context, const struct cluster_lease *lease)
{
    struct service *service = context;
    service->head.is_leading = true;
    service->refusal[0] = '\0';
    LOG(&service->head, INFO, "acting epoch=%llu", (unsigned long long)lease->epoch);
    events_add(service->head.events, CLUSTER_EVENT_AUTOSCALER, STR(""),
               STR("acquired the cluster lease"), STR(""));
    read_past_refusal(service);
    service_ray_begin(service);
    resume_look(service->resume);
    loop_timer_start(service->timers.prepare, PREPARE_MS);
    reporter_soon(service->reporter);
    ctl_server_notify(service->head.ctl_server, INSTANCE_NONE);
}

static void on_set_up(void *context, const struct managed_node *managed_node)
{
    struct service *service = context;
    setup_scheduler_set_up(service->scheduler, managed_node);
}

static void service_give_up(struct service *service, const struct managed_node *managed_node)
{
    struct arena arena;
    arena_init(&arena);
    struct str why = managed_node->node ? node_reason_text(managed_node->node, &arena) : STR("");
    worker_setups_give_up(service->setups, managed_node->instance, why);
    worker_setups_end(service->setups, managed_node->instance);
    arena_clear(&arena);
}

/* Clears the reported launch failures of this type. */
static void note_came(struct service *service, const struct managed_node *managed_node)
{
    const struct core_settings *settings = &service->head.core.settings;
    if (managed_node->node && managed_node->node->offering < settings->offering_count) {
        reporter_launched(service->reporter,
                          settings->offerings[managed_node->node->offering].type);
    }
}

static void service_on_changed(void *context, const struct managed_node *managed_node)
{
    struct service *service = context;
    if (!managed_node->is_head && managed_node->instance != INSTANCE_NONE) {
        enum slot_state state = service_slot(service, managed_node);
        if (convergence_apply(&service->workers, managed_node->instance, state)) {
            launch_failures_clear(&service->failures);
            note_came(service, managed_node);
        }
        event_log_changed(service->event_log, managed_node);
        if (state == CONVERGE_FAILED) {
            service_give_up(service, managed_node);
        } else if (state == CONVERGE_GONE) {
            worker_setups_end(service->setups, managed_node->instance);
        }
        service_expect_ray(service);
    }
    reporter_soon(service->reporter);
    if (managed_node->instance != INSTANCE_NONE) {
        ctl_server_notify(service->head.ctl_server, managed_node->instance);
    }
}

/* The cloud refused a launch, or a call without which none is sent (`launch` is 0). */
static void note_refusal(struct service *service, uint64_t launch, struct str why)
{
    if (launch_failures_note(&service->failures, launch, why)) {
        ctl_server_broadcast_error(service->head.ctl_server, str_from(service->failures.text));
        event_log_refused(service->event_log, launch, why);
    }
}

static void service_on_error(void *context, const struct provider_answer *answer, struct str what)
{
    struct service *service = context;
    LOG(&service->head, WARNING, "%.*s", STR_ARG(what));
    if (!service->head.is_leading) {
        snprintf(service->refusal, sizeof(service->refusal), "%.*s", STR_ARG(what));
    } else if (launch_failures_is_refusal(answer->outcome)) {
        note_refusal(service, 0, what);
    }
    ctl_server_notify(service->head.ctl_server, INSTANCE_NONE);
}

static void service_on_launch_failed(void *context, uint64_t launch,
                                     const struct provider_answer *answer, struct str why)
{
    struct service *service = context;
    LOG(&service->head, WARNING, "launch %u.%u: %.*s", LAUNCH_ARG(launch), STR_ARG(why));
    if (launch_failures_is_refusal(answer->outcome)) {
        note_refusal(service, launch, why);
    }
    ctl_server_notify(service->head.ctl_server, INSTANCE_NONE);
}

static void stop_acting(struct service *service)
{
    service->head.is_leading = false;
    if (service->head.controller) {
        controller_close(service->head.controller);
        service->head.controller = NULL;
        service_ray_end(service);
    }
}

static void service_on_lease_lost(void *context, const struct cluster_lease *lease,
                                  const struct err *why)
{
    (void)why; /* the service waits for the lease */
    struct service *service = context;
    struct str holder = lease ? lease->holder : STR("");
    snprintf(service->refusal, sizeof(service->refusal), "%.*s holds the cluster lease",
             STR_ARG(holder.len > 0 ? holder : STR("another controller")));
    LOG(&service->head, WARNING, "lost the lease: %s", service->refusal);
    events_add(service->head.events, CLUSTER_EVENT_AUTOSCALER, STR(""),
               STR("lost the cluster lease"), str_from(service->refusal));
    service->head.is_leading = false;
    loop_timer_start(service->timers.again, AGAIN_MS);
    ctl_server_notify(service->head.ctl_server, INSTANCE_NONE);
}

static struct str holder_of(struct service *service)
{
    char host[256] = "head";
    gethostname(host, sizeof(host) - 1);
    return arena_printf(&service->head.arena, SERVICE_HOLDER "%.*s@%.200s, pid %ld",
                        STR_ARG(service->head.config->ssh_user), host, (long)getpid());
}

/* ---- termination ---- */

/* Stored, so that a restarted service continues. */
static bool service_note_end(struct service *service, struct err *err)
{
    return journal_note(service->head.journal, SERVICE_GOAL, STR("end"), err);
}

static bool is_end_noted(struct service *service, struct err *err)
{
    struct str goal = STR("");
    bool ok = journal_get(service->head.journal, SERVICE_GOAL, &service->head.arena, &goal, err);
    service->head.is_ending = ok && str_is(goal, "end");
    return ok;
}

static void finish_end(void *context)
{
    struct service *service = context;
    LOG(&service->head, INFO, "the workers are terminated; shutting this machine down");
    ctl_server_answer(service->head.ctl_server, CTL_REQUEST_TERMINATE, NULL);
    service->end = SERVICE_ENDS;
    cloud_session_stop(&service->head.session);
}

static void service_on_ended(void *context, const struct provider_answer *answer)
{
    struct service *service = context;
    (void)answer; /* a lease that was not released expires */
    reporter_farewell(service->reporter, finish_end, service);
}

static void on_emptied(void *context)
{
    struct service *service = context;
    if (service->head.is_ending && service->head.controller) {
        controller_release(service->head.controller, service_on_ended, service);
    }
}

/* Terminates all workers, then shuts this machine down. */
static bool service_terminate(void *context, struct err *err)
{
    struct service *service = context;
    if (!service->head.controller || !service->head.is_leading) {
        return err_set(err, ERR_UNAVAILABLE,
                       "this service does not hold the cluster lease, so it cannot terminate the "
                       "cluster");
    }
    if (!service_note_end(service, err)) {
        return false;
    }
    LOG(&service->head, INFO, "terminating the cluster");
    service->head.is_ending = true;
    controller_set_goal(service->head.controller, GOAL_DOWN);
    return true;
}

static bool service_on_end(void *context, bool *ret_is_later, struct err *err)
{
    *ret_is_later = service_terminate(context, err);
    return *ret_is_later;
}

/* ---- acting ---- */

static void service_on_drain(void *context, const struct managed_node *managed_node,
                             const struct action *action)
{
    service_drain(context, managed_node, action);
}

static void on_decided(void *context, const struct core_answer *answer)
{
    struct service *service = context;
    decision_apply(service->decision, answer);
    event_log_decided(service->event_log, answer);
    reporter_soon(service->reporter);
}

static void service_on_launched(void *context, enum outcome outcome, size_t count, size_t came,
                                int64_t took_ms)
{
    struct service *service = context;
    metrics_count_launch(&service->head.metrics, outcome,
                         (int64_t)(outcome == OUTCOME_DONE ? came : count), took_ms);
}

static void start_acting(void *context)
{
    struct service *service = context;
    stop_acting(service);
    if (service->is_frozen || ray_autoscaler_is_active(&service->ray_autoscaler)) {
        return; /* checked again by guard() */
    }
    service->head.controller = controller_open(&(struct controller_setup){
        .session = &service->head.session,
        .provider = service->head.provider,
        .journal = service->head.journal,
        .config = service->head.config,
        .core = &service->head.core,
        .holder = holder_of(service),
        .secret = service->head.state.secret,
        .cluster_key = service->head.handover.public_key,
        .take_from = service->head.handover.epoch,
        .uid = service->head.handover.uid,
        .lease_object = service->head.handover.lease_object,
        .goal = service->head.is_ending ? GOAL_DOWN : GOAL_RUN,
        .hooks = {.context = service,
                  .started = service_on_started,
                  .set_up = on_set_up,
                  .changed = service_on_changed,
                  .trouble = service_on_error,
                  .lease_lost = service_on_lease_lost,
                  .emptied = on_emptied,
                  .drain = service_on_drain,
                  .decided = on_decided,
                  .launched = service_on_launched,
                  .launch_failed = service_on_launch_failed},
    });
}

static void guard(void *context)
{
    struct service *service = context;
    bool before = ray_autoscaler_is_active(&service->ray_autoscaler);
    ray_autoscaler_find(&service->ray_autoscaler, &service->head);
    bool is_now = ray_autoscaler_is_active(&service->ray_autoscaler);
    if (is_now && !before) {
        LOG(&service->head, ERROR,
            "standing by, because Ray's own autoscaler manages the workers pid=%d ray=%s",
            service->ray_autoscaler.monitor_pid, service->ray_autoscaler.old_ray);
        stop_acting(service);
    } else if (!is_now && before) {
        start_acting(service);
    }
    loop_timer_start(service->timers.guard, service->head.ray.is_alive ? GUARD_MS : GUARD_FIRST_MS);
    ctl_server_notify(service->head.ctl_server, INSTANCE_NONE);
}

static void service_on_prepared(void *context, const struct provider_answer *answer,
                                const struct provider_resource *things, size_t count)
{
    (void)context; /* errors were reported as warnings, and a launch tries again */
    (void)answer;
    (void)things;
    (void)count;
}

/* May there be more workers than the minimum? */
static bool is_elastic(const struct service *service)
{
    return service->head.core.settings.max_workers > (int64_t)service_wanted_workers(service);
}

/* The preflight takes a second or two. Run it early, so that the first launch for demand does not
 * have to wait. */
static void service_prepare(void *context)
{
    struct service *service = context;
    struct ctl_status status;
    struct arena arena;
    arena_init(&arena);
    service_status(service, &arena, &status);
    if (!status.is_settled) {
        loop_timer_start(service->timers.prepare, PREPARE_MS);
    } else if (service->head.is_leading && !service->head.is_ending && is_elastic(service)) {
        controller_prepare(service->head.controller, service_on_prepared, service);
    }
    arena_clear(&arena);
}

static void look_for_shortage(void *context)
{
    struct service *service = context;
    int64_t before = service->short_since_ms;
    service_note_shortage(service);
    if (before > 0 || service->short_since_ms > 0) {
        ctl_server_notify(service->head.ctl_server, INSTANCE_NONE);
    }
    loop_timer_start(service->timers.shortage, SHORTAGE_MS);
}

/* ---- setup hooks ---- */

static void on_progress(void *context, uint64_t instance)
{
    struct service *service = context;
    struct managed_node managed_node;
    if (service->head.controller &&
        controller_find(service->head.controller, instance, &managed_node)) {
        (void)convergence_apply(&service->workers, instance, service_slot(service, &managed_node));
    }
    service_expect_ray(service);
    reporter_soon(service->reporter);
    ctl_server_notify(service->head.ctl_server, instance);
}

/* The duration is known only for a first setup, from the core's state. */
static void service_count_set_up(struct service *service, uint64_t instance, enum setup_news news)
{
    struct managed_node managed_node;
    bool is_known = controller_find(service->head.controller, instance, &managed_node) &&
                    managed_node.node;
    bool is_first = is_known && managed_node.node->state == NODE_SETTING_UP;
    if (news != SETUP_CONTACT) {
        metrics_count_set_up(
            &service->head.metrics, news == SETUP_DONE,
            is_first ? loop_now_ms(service->head.session.loop) - managed_node.node->since : 0);
    }
}

static void on_news(void *context, uint64_t instance, enum setup_news news)
{
    struct service *service = context;
    setup_scheduler_news(service->scheduler, instance, news);
    if (service->head.controller) {
        service_count_set_up(service, instance, news);
        controller_set_up(service->head.controller, instance, news);
    }
}

static bool on_outdated(void *context, uint64_t instance)
{
    struct service *service = context;
    return setup_scheduler_is_outdated(service->scheduler, instance);
}

static void service_on_tag(void *context, uint64_t instance, struct str status)
{
    struct service *service = context;
    setup_scheduler_tag(service->scheduler, instance, status);
}

/* Reported once for each setup: to connected clients, and in `shoal events`. */
static void service_on_kept_host_key(void *context, struct str name, struct str why)
{
    struct service *service = context;
    AUTO_BUF struct buf text;
    buf_init(&text, KEPT_KEY_BYTES_MAX);
    buf_addf(
        &text,
        "%.*s still uses the host key of its first boot, because it could not be replaced: %.*s. "
        "Anyone who can read its user-data knows that key. The next setup of the node tries again.",
        STR_ARG(name), STR_ARG(str_sub(why, 0, 300)));
    LOG(&service->head, WARNING, "%s", text.ptr);
    ctl_server_broadcast_error(service->head.ctl_server, buf_str(&text));
    events_add(service->head.events, CLUSTER_EVENT_FAILURE, name,
               STR("still uses its first host key"), why);
}

static bool service_is_head_ready(void *context)
{
    const struct service *service = context;
    return service->head.ray.is_alive;
}

/* Machines with this architecture get our own executable. */
static bool service_on_payload(void *context, struct str machine, struct arena *arena,
                               struct str *ret_path, struct err *err)
{
    const struct service *service = context;
    struct payload_places places;
    struct utsname here;
    if (uname(&here) == 0 && str_is(machine, here.machine)) {
        *ret_path = service->head.program;
        return true;
    }
    return payload_places_find(arena, &places, err) &&
           payload_find(arena, &places, machine, ret_path, err);
}

/* ---- requests of clients ---- */

static void service_greet(void *context, struct ctl_line *line)
{
    const struct service *service = context;
    const struct cluster_lease *lease = service->head.is_leading
                                            ? controller_lease(service->head.controller)
                                            : NULL;
    line->greeting.version = STR(SHOAL_VERSION);
    line->greeting.protocol = CTL_PROTOCOL;
    line->greeting.least = CTL_PROTOCOL_LEAST;
    line->greeting.cluster = service->head.config->cluster_name;
    line->greeting.uid = service->head.handover.uid;
    line->greeting.epoch = lease ? lease->epoch : 0;
}

static bool on_update(void *context, struct err *err)
{
    struct service *service = context;
    bool is_new = false;
    if (!head_context_take_handover(&service->head, &is_new, err)) {
        LOG(&service->head, WARNING, "handover refused: %s", err->text);
        return false;
    }
    if (is_new) {
        LOG(&service->head, INFO, "new configuration received; restarting");
        service->end = SERVICE_RESTART;
        cloud_session_stop(&service->head.session);
    }
    return true;
}

static void finish_standing_down(void *context)
{
    struct service *service = context;
    LOG(&service->head, INFO, "released the cluster lease");
    events_add(service->head.events, CLUSTER_EVENT_AUTOSCALER, STR(""),
               STR("released the cluster lease"), STR(""));
    ctl_server_answer(service->head.ctl_server, "release", NULL);
    service->end = SERVICE_STANDS_DOWN;
    cloud_session_stop(&service->head.session);
}

static void service_on_released(void *context, const struct provider_answer *answer)
{
    struct service *service = context;
    if (answer->outcome != OUTCOME_DONE) { /* it expires */
        LOG(&service->head, WARNING, "cannot release the lease: %s", answer->err.text);
    }
    reporter_farewell(service->reporter, finish_standing_down, service);
}

static bool on_stand_down(void *context, bool *ret_is_later, struct err *err)
{
    struct service *service = context;
    (void)err;
    if (service->head.controller && service->head.is_leading) {
        *ret_is_later = true;
        controller_release(service->head.controller, service_on_released, service);
        return true;
    }
    service->end = SERVICE_STANDS_DOWN;
    cloud_session_stop(&service->head.session);
    return true;
}

/* ---- opening and closing ---- */

static void service_open_setups(struct service *service)
{
    service->setups = worker_setups_open(&(struct worker_setups_setup){
        .loop = service->head.session.loop,
        .children = service->head.session.children,
        .config = service->head.config,
        .state = &service->head.state,
        .identity = service->head.identity,
        .head_ip = service->head.handover.head_private_ip,
        .token_path = service->head.token_path,
        .runtime_hash = service->head.handover.contents_hash,
        .hooks = {.context = service,
                  .changed = on_progress,
                  .news = on_news,
                  .is_outdated = on_outdated,
                  .tag = service_on_tag,
                  .kept_host_key = service_on_kept_host_key,
                  .is_head_ready = service_is_head_ready,
                  .payload = service_on_payload},
    });
}

static void service_open_modules(struct service *service)
{
    struct head_context *head = &service->head;
    head->events = events_open(head->session.loop, head->journal, &head->session.log);
    service->reasons = launch_reasons_open(head->events);
    service->decision = decision_open(head, &service->failures);
    service->reporter = reporter_open(&(struct reporter_setup){
        .head = head,
        .ray_autoscaler = &service->ray_autoscaler,
        .fill = service_fill_report,
        .context = service,
    });
    service->event_log = event_log_open(&(struct event_log_setup){
        .head = head,
        .workers = &service->workers,
        .setups = service->setups,
        .decision = service->decision,
        .reporter = service->reporter,
    });
    service->scheduler = setup_scheduler_open(&(struct setup_scheduler_setup){
        .head = head,
        .workers = &service->workers,
        .setups = service->setups,
        .event_log = service->event_log,
    });
    service_open_ray(service);
    service->metrics_site = metrics_site_open(&(struct metrics_site_setup){
        .head = head,
        .ray_autoscaler = &service->ray_autoscaler,
        .fill = service_fill_metrics,
        .context = service,
    });
    service->resume = resume_open(head);
    service->contacts = contacts_open(head);
    service->idle = (struct idle_watch){.head = head,
                                        .view = service_idle_view,
                                        .terminate = service_terminate,
                                        .context = service};
    idle_watch_open(&service->idle);
    service->retention = retention_task_open(head, &service->workers);
}

static void service_open_timers(struct service *service)
{
    struct loop *loop = service->head.session.loop;
    service->timers.prepare = loop_timer_new(loop, service_prepare, service);
    service->timers.again = loop_timer_new(loop, start_acting, service);
    service->timers.guard = loop_timer_new(loop, guard, service);
    service->timers.shortage = loop_timer_new(loop, look_for_shortage, service);
    loop_timer_start(service->timers.shortage, SHORTAGE_MS);
    loop_timer_start(service->timers.guard, GUARD_FIRST_MS);
    service_expect_ray(service);
}

static bool open_ctl_server(struct service *service, struct err *err)
{
    struct ctl_server_hooks hooks = {
        .context = service,
        .greeting = service_greet,
        .update = on_update,
        .stand_down = on_stand_down,
        .end = service_on_end,
    };
    service_answers(&hooks);
    return ctl_server_open(service->head.session.loop, service->head.folder, &hooks,
                           &service->head.ctl_server, err);
}

static void stop_loop(void *context)
{
    struct service *service = context;
    loop_stop(service->head.session.loop);
}

/* After a signal, for example from systemd: clear our report, which Ray would show forever. */
static void say_farewell(struct service *service)
{
    if (service->head.is_leading) {
        stop_acting(service);
        reporter_farewell(service->reporter, stop_loop, service);
        loop_run(service->head.session.loop);
    }
}

/* A head that is started again must wait for `up`. */
static void note_rest(struct service *service)
{
    struct err err;
    bool rests = service->end == SERVICE_STANDS_DOWN || service->end == SERVICE_ENDS;
    if (rests && !boot_set(service->head.folder, false, &err)) {
        LOG(&service->head, WARNING, "cannot prevent the service from starting at boot: %s",
            err.text);
    }
}

static bool service_do_run(struct service *service, struct err *err)
{
    struct cloud_session_setup setup = {.least = LOG_LEVEL_INFO, .children_max = CHILDREN_MAX};
    if (!head_context_load(&service->head, err) || !is_end_noted(service, err) ||
        !cloud_session_open(&service->head.session, &setup, err)) {
        return false;
    }
    redact_add(service->head.session.redact, service->head.handover.secret);
    redact_add(service->head.session.redact, service->head.handover.key);
    if (!cloud_provider_open(&service->head.session, service->head.config, STR(""),
                             &service->head.arena, &service->head.provider, err)) {
        return false;
    }
    if (!service_open(service, err)) {
        return false;
    }
    if (cloud_session_run(&service->head.session, err)) {
        note_rest(service);
        return true;
    }
    say_farewell(service);
    return false;
}

/* ---- after crashes ---- */

static void restart_by_request(void *context)
{
    struct service *service = context;
    LOG(&service->head, INFO, "SIGHUP received; restarting");
    service->end = SERVICE_RESTART;
    cloud_session_stop(&service->head.session);
}

/* Shows the reason in its status and waits for SIGHUP to restart. */
static bool freeze(struct service *service, const char *last_end, struct err *err)
{
    struct str text = crashloop_text(last_end, &service->head.arena);
    snprintf(service->refusal, sizeof(service->refusal), "%.*s", STR_ARG(text));
    LOG(&service->head, ERROR, "frozen: %s", service->refusal);
    return crashloop_wait(service->head.session.loop, restart_by_request, service, err);
}

bool service_open(struct service *service, struct err *err)
{
    head_ray_read_before(&service->head);
    service_open_setups(service);
    service_open_modules(service);
    service_open_timers(service);
    if (!open_ctl_server(service, err)) {
        return false;
    }
    LOG(&service->head, INFO, "started version=%s cluster=%.*s", SHOAL_VERSION,
        STR_ARG(service->head.config->cluster_name));
    events_add(service->head.events, CLUSTER_EVENT_AUTOSCALER, STR(""), STR("started"),
               STR("version " SHOAL_VERSION));
    ray_autoscaler_find(&service->ray_autoscaler, &service->head);
    const char *last_end = getenv(SUPERVISE_CRASH_LOOPING);
    service->is_frozen = last_end != NULL;
    if (last_end && !freeze(service, last_end, err)) {
        return false;
    }
    start_acting(service);
    return true;
}

void service_close(struct service *service)
{
    stop_acting(service);
    worker_setups_close(service->setups);
    metrics_site_close(service->metrics_site);
    retention_task_close(service->retention);
    contacts_close(service->contacts);
    resume_close(service->resume);
    service_close_ray(service);
    setup_scheduler_close(service->scheduler);
    event_log_close(service->event_log);
    reporter_close(service->reporter);
    decision_close(service->decision);
    launch_reasons_close(service->reasons);
    events_close(service->head.events);
    ctl_server_close(service->head.ctl_server);
    if (service->head.provider) {
        service->head.provider->ops->close(service->head.provider);
    }
    if (service->head.session.loop) {
        cloud_session_close(&service->head.session);
    }
    journal_close(service->head.journal);
    worker_records_clear(&service->workers);
    arena_clear(&service->head.arena);
}

/* The launch determines what a shutdown does: terminate, unless the file says otherwise. If
 * shutdown fails, the supervisor restarts the service. */
static int switch_off(void)
{
    const char *const argv[] = {"/bin/sh", "-c",
                                "if [ $(id -u) = 0 ]; then exec shutdown -h now; fi; "
                                "exec sudo -n shutdown -h now",
                                NULL};
    program_become(argv);
    fprintf(stderr, "cannot start %s: %s\n", argv[0], strerror(errno));
    return 1;
}

/* exec: a new process has no leftover state and may be a newer program. */
static int service_restart(struct str program, const char *folder)
{
    const char *const argv[] = {program.ptr, "autoscaler", "--folder", folder, NULL};
    file_limit_restore();
    unsetenv(SUPERVISE_CRASH_LOOPING);
    program_become(argv);
    fprintf(stderr, "cannot restart %s: %s\n", program.ptr, strerror(errno));
    return 1; /* the supervisor restarts it */
}

int service_run(const struct service_setup *setup)
{
    struct service service = {0};
    struct arena arena;
    struct err err = {0};
    arena_init(&arena);
    arena_init_secret(&service.head.arena);
    service.head.folder = service_folder(setup->folder, &arena);
    file_limit_raise();
    bool is_fine = service_do_run(&service, &err);
    struct str program = arena_str(&arena, service.head.program);
    enum service_exit end = service.end;
    service_close(&service);
    int status = 0;
    if (!is_fine) {
        fprintf(stderr, "shoal autoscaler: %s\n", err.text);
        status = err_exit_status(err.kind);
    } else if (end == SERVICE_RESTART) {
        status = service_restart(program, service.head.folder);
    } else if (end == SERVICE_ENDS) {
        status = switch_off();
    }
    arena_clear(&arena);
    return status;
}
