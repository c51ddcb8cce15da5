/* service.c: opens the parts of the service, connects them and shuts them down. */
#include "app/head/service.h"

#include "app/cloud_provider.h"
#include "app/head/node_reason.h"
#include "app/head/service_internal.h"
#include "app/head/supervisor/boot.h"
#include "app/head/supervisor/supervise.h"
#include "app/paths.h"
#include "app/payload.h"
#include "io/file_limit.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>

enum { CHILDREN_MAX = 200 };

/* ---- controller hooks ---- */

static void read_past_refusal(struct service *service)
{
    struct err err;
    if (!launch_failures_read(&service->failures, service->head.journal, &err)) {
        LOG(&service->head, WARNING, "cannot read refused launches: %s", err.text);
    }
}

/* The tag shows users of `ls` and of Ray's tools what became of the head. */
void service_head_changed(void *context)
{
    struct service *service = context;
    struct head_context *head = &service->head;
    if (head->ray.is_alive) {
        service->head_watch.has_failed = false; /* an update failed, but the old Ray is in use */
    }
    enum head_state state = head_watch_state(&service->head_watch);
    if (!head->controller || !head->is_leading) {
        return;
    }
    controller_head(head->controller, state);
    if (state == HEAD_FAILED) {
        controller_tag(head->controller, HEAD_INSTANCE, STR("ray-node-status"),
                       STR("update-failed"), false);
    }
    ctl_server_notify(head->ctl_server, HEAD_INSTANCE);
}

static void service_on_started(void *context, const struct cluster_lease *lease)
{
    struct service *service = context;
    activity_acquired(&service->activity, lease);
    read_past_refusal(service);
    service_head_changed(service);
    service_ray_begin(service);
    resume_look(service->resume);
    early_prepare_begin(&service->prepare);
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
            launch_failures_came(&service->failures,
                                 managed_node->node ? managed_node->node->launch : 0);
            note_came(service, managed_node);
        }
        event_log_changed(service->event_log, managed_node);
        if (state == CONVERGE_FAILED) {
            service_give_up(service, managed_node);
        } else if (state == CONVERGE_GONE) {
            worker_setups_end(service->setups, managed_node->instance);
            mount_sync_end(service->mount_sync, managed_node->instance);
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
        activity_refused(&service->activity, what);
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

static void service_on_lease_lost(void *context, const struct cluster_lease *lease,
                                  const struct err *why)
{
    struct service *service = context;
    (void)why; /* the service waits for the lease */
    activity_lost(&service->activity, lease);
}

static void on_emptied(void *context)
{
    struct service *service = context;
    activity_emptied(&service->activity);
}

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
        bool is_unused = (news == SETUP_FAILED || news == SETUP_BLOCKED) &&
                         setup_scheduler_is_unused(service->scheduler, instance);
        controller_set_up(service->head.controller, instance, news, is_unused);
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

static void service_on_kept_host_key(void *context, struct str name, struct str why)
{
    struct service *service = context;
    event_log_kept_host_key(service->event_log, name, why);
}

static void service_on_no_switch(void *context, struct str name)
{
    struct service *service = context;
    event_log_no_switch(service->event_log, name);
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
    struct utsname here;
    if (uname(&here) == 0 && str_is(machine, here.machine)) {
        *ret_path = service->head.program;
        return true;
    }
    return payload_find_here(arena, machine, ret_path, err);
}

/* ---- opening and closing ---- */

static void service_open_setups(struct service *service)
{
    service->setups_setup = (struct worker_setups_setup){
        .loop = service->head.session.loop,
        .children = service->head.session.children,
        .config = service->head.config,
        .state = &service->head.state,
        .provider = service->head.provider,
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
                  .has_no_switch = service_on_no_switch,
                  .is_head_ready = service_is_head_ready,
                  .payload = service_on_payload},
    };
    service->setups = worker_setups_open(&service->setups_setup);
}

static bool service_terminate(void *context, struct err *err)
{
    struct service *service = context;
    return activity_terminate(&service->activity, err);
}

static void service_open_modules(struct service *service)
{
    struct head_context *head = &service->head;
    head->events = events_open(head->session.loop, head->journal, &head->session.log);
    service->reasons = launch_reasons_open(head->events);
    service->decision = decision_open(head, &service->failures);
    service->reporter = reporter_open(&(struct reporter_setup){
        .head = head,
        .ray_autoscaler = &service->activity.ray_autoscaler,
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
    service->mount_sync = mount_sync_open(&(struct mount_sync_setup){
        .head = head,
        .workers = &service->workers,
        .scheduler = service->scheduler,
        .setups = &service->setups_setup,
    });
    service->requesters = (struct requesters){
        .head = head, .done = service_answers_requesters, .context = service};
    requesters_open(&service->requesters);
    service_open_ray(service);
    service->metrics_site = metrics_site_open(&(struct metrics_site_setup){
        .head = head,
        .ray_autoscaler = &service->activity.ray_autoscaler,
        .fill = service_fill_metrics,
        .context = service,
    });
    service->resume = resume_open(head);
    service->contacts = contacts_open(head);
    service->idle = (struct idle_watch){.head = head,
                                        .view = service_idle_view,
                                        .terminate = service_terminate,
                                        .context = service,
                                        .proc = "/proc"};
    idle_watch_open(&service->idle);
    service->retention = retention_task_open(head, &service->workers);
    service->prices = price_task_open(head);
    service->shortage = (struct shortage){.head = head, .workers = &service->workers};
    shortage_open(&service->shortage);
    service->prepare = (struct early_prepare){
        .head = head, .is_settled = service_is_settled, .context = service};
    early_prepare_open(&service->prepare);
    service->head_watch = (struct head_watch){
        .head = head, .changed = service_head_changed, .context = service};
    head_watch_open(&service->head_watch);
}

static void on_stopped(void *context)
{
    service_ray_end(context);
}

static void service_open_activity(struct service *service)
{
    service->activity = (struct activity){
        .head = &service->head,
        .reporter = service->reporter,
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
        .stopped = on_stopped,
    };
    activity_open(&service->activity);
}

static bool open_ctl_server(struct service *service, struct err *err)
{
    struct ctl_server_hooks hooks = {.context = service};
    service_answers(&hooks);
    return ctl_server_open(service->head.session.loop, service->head.folder, &hooks,
                           &service->head.ctl_server, err);
}

/* A head that is started again must wait for `up`. */
static void note_rest(struct service *service)
{
    struct err err;
    bool rests = service->activity.end == SERVICE_STANDS_DOWN ||
                 service->activity.end == SERVICE_ENDS;
    if (rests && !boot_set(service->head.folder, false, &err)) {
        LOG(&service->head, WARNING, "cannot prevent the service from starting at boot: %s",
            err.text);
    }
}

static bool service_do_run(struct service *service, struct err *err)
{
    struct cloud_session_setup setup = {.least = LOG_LEVEL_INFO, .children_max = CHILDREN_MAX};
    if (!head_context_load(&service->head, err) || !activity_read_goal(&service->head, err) ||
        !cloud_session_open(&service->head.session, &setup, err) ||
        !cloud_session_open_http(&service->head.session, err)) {
        return false;
    }
    redact_add(service->head.session.redact, service->head.handover.secret);
    redact_add(service->head.session.redact, service->head.handover.key);
    const struct cloud_provider_head here = {&service->head.state, service->head.identity,
                                             service->head.handover.type_images};
    if (!cloud_provider_open_on(&service->head.session, service->head.config, STR(""), &here,
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
    activity_farewell(&service->activity);
    return false;
}

bool service_open(struct service *service, struct err *err)
{
    head_ray_read_before(&service->head);
    service_open_setups(service);
    service_open_modules(service);
    service_open_activity(service);
    service_expect_ray(service);
    if (!open_ctl_server(service, err)) {
        return false;
    }
    LOG(&service->head, INFO, "started version=%s cluster=%.*s", SHOAL_VERSION,
        STR_ARG(service->head.config->cluster_name));
    events_add(service->head.events, CLUSTER_EVENT_AUTOSCALER, STR(""), STR("started"),
               STR("version " SHOAL_VERSION));
    return activity_begin(&service->activity, getenv(SUPERVISE_CRASH_LOOPING), err);
}

void service_close(struct service *service)
{
    activity_stop(&service->activity);
    head_watch_close(&service->head_watch);
    mount_sync_close(service->mount_sync);
    worker_setups_close(service->setups);
    metrics_site_close(service->metrics_site);
    retention_task_close(service->retention);
    price_task_close(service->prices);
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
    enum service_exit end = service.activity.end;
    service_close(&service);
    int status;
    if (!is_fine) {
        fprintf(stderr, "shoal autoscaler: %s\n", err.text);
        status = err_exit_status(err.kind);
    } else {
        status = service_exit_become(end, program, service.head.folder);
    }
    arena_clear(&arena);
    return status;
}
