/* service.c: opens the parts of the service, connects them and shuts them down. */
#include "app/head/service.h"

#include "app/cloud_provider.h"
#include "app/head/ray/ray_monitor.h"
#include "app/head/service_internal.h"
#include "app/head/supervisor/boot.h"
#include "app/head/supervisor/service_supervisor.h"
#include "app/head/supervisor/supervise.h"
#include "app/payload.h"
#include "app/program.h"
#include "app/setup/ray_find.h"
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

static void service_on_started(void *context, const struct cluster_lease *lease)
{
    struct service *service = context;
    service->is_leading = true;
    service->refusal[0] = '\0';
    LOG(service, INFO, "acting epoch=%llu", (unsigned long long)lease->epoch);
    events_add(service->events, CLUSTER_EVENT_AUTOSCALER, STR(""),
               STR("acquired the cluster lease"), STR(""));
    service_note_past_refusal(service);
    service_ray_begin(service);
    service_resume_look(service);
    loop_timer_start(service->prepare, PREPARE_MS);
    service_report_soon(service);
    ctl_server_notify(service->ctl_server, INSTANCE_NONE);
}

static void on_set_up(void *context, const struct managed_node *managed_node)
{
    service_set_up(context, managed_node);
}

static void service_give_up(struct service *service, const struct managed_node *managed_node)
{
    struct arena arena;
    arena_init(&arena);
    struct str why = managed_node->node ? service_reason(managed_node->node, &arena) : STR("");
    worker_setups_give_up(service->setups, managed_node->instance, why);
    worker_setups_end(service->setups, managed_node->instance);
    arena_clear(&arena);
}

/* Clears the reported launch failures of this type. */
static void note_came(struct service *service, const struct managed_node *managed_node)
{
    const struct core_settings *settings = &service->core.settings;
    if (managed_node->node && managed_node->node->offering < settings->offering_count) {
        service_report_came(service, settings->offerings[managed_node->node->offering].type);
    }
}

static void service_on_changed(void *context, const struct managed_node *managed_node)
{
    struct service *service = context;
    if (!managed_node->is_head && managed_node->instance != INSTANCE_NONE) {
        size_t known = service->slots.count;
        enum slot_state state = service_slot(service, managed_node);
        convergence_apply(&service->slots, managed_node->instance, state);
        if (service->slots.count > known) { /* a launch succeeded */
            service->launch_trouble[0] = service->past_refusal[0] = '\0';
            service->launch_trouble_ms = 0;
            note_came(service, managed_node);
        }
        service_log_changed(service, managed_node);
        if (state == CONVERGE_FAILED) {
            service_give_up(service, managed_node);
        } else if (state == CONVERGE_GONE) {
            worker_setups_end(service->setups, managed_node->instance);
        }
        service_expect_ray(service);
    }
    service_report_soon(service);
    if (managed_node->instance != INSTANCE_NONE) {
        ctl_server_notify(service->ctl_server, managed_node->instance);
    }
}

static void service_on_error(void *context, const struct provider_answer *answer, struct str what)
{
    struct service *service = context;
    LOG(service, WARNING, "%.*s", STR_ARG(what));
    if (!service->is_leading) {
        snprintf(service->refusal, sizeof(service->refusal), "%.*s", STR_ARG(what));
    } else if (answer && service_is_refusal(answer->outcome)) {
        /* Report a repeated refusal only if its text changed. */
        struct str said = str_sub(what, str_find(what, ": "), what.len);
        struct str before = str_from(service->launch_trouble);
        if (!str_eq(said, str_sub(before, str_find(before, ": "), before.len))) {
            ctl_server_broadcast_error(service->ctl_server, what);
            service_log_refused(service, what);
        }
        snprintf(service->launch_trouble, sizeof(service->launch_trouble), "%.*s", STR_ARG(what));
        if (service->launch_trouble_ms == 0) {
            service->launch_trouble_ms = loop_now_ms(service->session.loop);
        }
    }
    ctl_server_notify(service->ctl_server, INSTANCE_NONE);
}

static void stop_acting(struct service *service)
{
    service->is_leading = false;
    if (service->controller) {
        controller_close(service->controller);
        service->controller = NULL;
        service_ray_end(service);
    }
}

static void service_on_lease_lost(void *context, const struct cluster_lease *lease,
                                  const struct err *why)
{
    (void)why; /* the service waits for the lease */
    struct service *service = context;
    struct str holder = lease ? lease->holder : STR("");
    snprintf(service->refusal, sizeof(service->refusal), "%.*s acts",
             STR_ARG(holder.len > 0 ? holder : STR("another controller")));
    LOG(service, WARNING, "lost the lease: %s", service->refusal);
    events_add(service->events, CLUSTER_EVENT_AUTOSCALER, STR(""), STR("lost the cluster lease"),
               str_from(service->refusal));
    service->is_leading = false;
    loop_timer_start(service->again, AGAIN_MS);
    ctl_server_notify(service->ctl_server, INSTANCE_NONE);
}

static struct str holder_of(struct service *service)
{
    char host[256] = "head";
    gethostname(host, sizeof(host) - 1);
    return arena_printf(&service->arena, SERVICE_HOLDER "%.*s@%.200s, pid %ld",
                        STR_ARG(service->config->ssh_user), host, (long)getpid());
}

/* ---- termination ---- */

/* Stored, so that a restarted service continues. */
static bool service_note_end(struct service *service, struct err *err)
{
    return journal_note(service->journal, SERVICE_GOAL, STR("end"), err);
}

static bool is_end_noted(struct service *service, struct err *err)
{
    struct str goal = STR("");
    bool ok = journal_get(service->journal, SERVICE_GOAL, &service->arena, &goal, err);
    service->is_ending = ok && str_is(goal, "end");
    return ok;
}

static void finish_end(struct service *service)
{
    LOG(service, INFO, "the workers are terminated; shutting this machine down");
    ctl_server_answer(service->ctl_server, CTL_REQUEST_TERMINATE, NULL);
    service->end = SERVICE_ENDS;
    cloud_session_stop(&service->session);
}

static void service_on_ended(void *context, const struct provider_answer *answer)
{
    (void)answer; /* a lease that was not released expires */
    service_report_farewell(context, finish_end);
}

static void on_emptied(void *context)
{
    struct service *service = context;
    if (service->is_ending && service->controller) {
        controller_release(service->controller, service_on_ended, service);
    }
}

bool service_terminate(struct service *service, struct err *err)
{
    if (!service->controller || !service->is_leading) {
        return err_set(err, ERR_UNAVAILABLE,
                       "this service does not hold the cluster lease, so it cannot terminate the "
                       "cluster");
    }
    if (!service_note_end(service, err)) {
        return false;
    }
    LOG(service, INFO, "terminating the cluster");
    service->is_ending = true;
    controller_set_goal(service->controller, GOAL_DOWN);
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
    service_decided(context, answer);
}

static void service_on_launched(void *context, enum outcome outcome, size_t count, size_t came,
                                int64_t took_ms)
{
    service_count_launch(context, outcome, count, came, took_ms);
}

static void start_acting(void *context)
{
    struct service *service = context;
    stop_acting(service);
    if (service->is_frozen || service_ray_scales(service)) {
        return; /* checked again by guard() */
    }
    service->controller = controller_open(&(struct controller_setup){
        .session = &service->session,
        .provider = service->provider,
        .journal = service->journal,
        .config = service->config,
        .core = &service->core,
        .holder = holder_of(service),
        .secret = service->state.secret,
        .cluster_key = service->handover.public_key,
        .take_from = service->handover.epoch,
        .uid = service->handover.uid,
        .lease_object = service->handover.lease_object,
        .goal = service->is_ending ? GOAL_DOWN : GOAL_RUN,
        .hooks = {service, service_on_started, on_set_up, service_on_changed, service_on_error,
                  service_on_lease_lost, on_emptied, service_on_drain, on_decided,
                  service_on_launched},
    });
}

/* The Ray version is known after the head's setup commands, its monitor after Ray's start. */
static void look_for_rays(struct service *service)
{
    struct arena arena;
    arena_init(&arena);
    struct str version = ray_find_noted(&arena);
    service->monitor_pid = ray_monitor_find(service->ray_address);
    bool is_left = ray_find_is_old(version) && service_has_monitor_option(service);
    snprintf(service->old_ray, sizeof(service->old_ray), "%.*s",
             STR_ARG(is_left ? version : STR("")));
    arena_clear(&arena);
}

static void guard(void *context)
{
    struct service *service = context;
    bool before = service_ray_scales(service);
    look_for_rays(service);
    bool is_now = service_ray_scales(service);
    if (is_now && !before) {
        LOG(service, ERROR, "standing by: Ray's own autoscaler pid=%d ray=%s", service->monitor_pid,
            service->old_ray);
        stop_acting(service);
    } else if (!is_now && before) {
        start_acting(service);
    }
    loop_timer_start(service->guard, service->is_head_alive ? GUARD_MS : GUARD_FIRST_MS);
    ctl_server_notify(service->ctl_server, INSTANCE_NONE);
}

static void on_late(void *context)
{
    service_set_up_late(context);
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
    return service->core.settings.max_workers > (int64_t)service_wanted_workers(service);
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
        loop_timer_start(service->prepare, PREPARE_MS);
    } else if (service->is_leading && !service->is_ending && is_elastic(service)) {
        controller_prepare(service->controller, service_on_prepared, service);
    }
    arena_clear(&arena);
}

static void look_for_shortage(void *context)
{
    struct service *service = context;
    int64_t before = service->short_since_ms;
    service_note_shortage(service);
    if (before > 0 || service->short_since_ms > 0) {
        ctl_server_notify(service->ctl_server, INSTANCE_NONE);
    }
    loop_timer_start(service->shortage, SHORTAGE_MS);
}

/* ---- setup hooks ---- */

static void on_progress(void *context, uint64_t instance)
{
    struct service *service = context;
    struct managed_node managed_node;
    if (service->controller && controller_find(service->controller, instance, &managed_node)) {
        convergence_apply(&service->slots, instance, service_slot(service, &managed_node));
    }
    service_expect_ray(service);
    service_report_soon(service);
    ctl_server_notify(service->ctl_server, instance);
}

static void on_news(void *context, uint64_t instance, enum setup_news news)
{
    struct service *service = context;
    service_set_up_news(service, instance, news);
    if (service->controller) {
        service_count_set_up(service, instance, news);
        controller_set_up(service->controller, instance, news);
    }
}

static bool on_outdated(void *context, uint64_t instance)
{
    return service_set_up_outdated(context, instance);
}

static void service_on_tag(void *context, uint64_t instance, struct str status)
{
    service_tag(context, instance, status);
}

/* Reported once for each setup: to connected clients, and in `shoal events`. */
static void service_on_kept_host_key(void *context, struct str name, struct str why)
{
    struct service *service = context;
    AUTO_BUF struct buf text;
    buf_init(&text, KEPT_KEY_BYTES_MAX);
    buf_addf(
        &text,
        "%.*s still shows the host key of its first boot, because it could not be replaced: %.*s. "
        "Anyone who can read its user-data knows that key. The next setup of the node tries again.",
        STR_ARG(name), STR_ARG(str_sub(why, 0, 300)));
    LOG(service, WARNING, "%s", text.ptr);
    ctl_server_broadcast_error(service->ctl_server, buf_str(&text));
    events_add(service->events, CLUSTER_EVENT_FAILURE, name, STR("still uses its first host key"),
               why);
}

static bool service_is_head_ready(void *context)
{
    const struct service *service = context;
    return service->is_head_alive;
}

/* Machines with this architecture get our own executable. */
static bool service_on_payload(void *context, struct str machine, struct arena *arena,
                               struct str *ret_path, struct err *err)
{
    const struct service *service = context;
    struct payload_places places;
    struct utsname here;
    if (uname(&here) == 0 && str_is(machine, here.machine)) {
        *ret_path = service->program;
        return true;
    }
    return payload_places_find(arena, &places, err) &&
           payload_find(arena, &places, machine, ret_path, err);
}

/* ---- requests of clients ---- */

static void service_greet(void *context, struct ctl_line *line)
{
    const struct service *service = context;
    const struct cluster_lease *lease = service->is_leading ? controller_lease(service->controller)
                                                            : NULL;
    line->greeting.version = STR(SHOAL_VERSION);
    line->greeting.protocol = CTL_PROTOCOL;
    line->greeting.least = CTL_PROTOCOL_LEAST;
    line->greeting.cluster = service->config->cluster_name;
    line->greeting.uid = service->handover.uid;
    line->greeting.epoch = lease ? lease->epoch : 0;
}

static bool on_update(void *context, struct err *err)
{
    struct service *service = context;
    bool is_new = false;
    if (!service_take_handover(service, &is_new, err)) {
        LOG(service, WARNING, "handover refused: %s", err->text);
        return false;
    }
    if (is_new) {
        LOG(service, INFO, "new configuration received; restarting");
        service->end = SERVICE_RESTART;
        cloud_session_stop(&service->session);
    }
    return true;
}

static void finish_standing_down(struct service *service)
{
    LOG(service, INFO, "stood down");
    events_add(service->events, CLUSTER_EVENT_AUTOSCALER, STR(""), STR("stood down"), STR(""));
    ctl_server_answer(service->ctl_server, "release", NULL);
    service->end = SERVICE_STANDS_DOWN;
    cloud_session_stop(&service->session);
}

static void service_on_released(void *context, const struct provider_answer *answer)
{
    struct service *service = context;
    if (answer->outcome != OUTCOME_DONE) { /* it expires */
        LOG(service, WARNING, "cannot release the lease: %s", answer->err.text);
    }
    service_report_farewell(service, finish_standing_down);
}

static bool on_stand_down(void *context, bool *ret_is_later, struct err *err)
{
    struct service *service = context;
    (void)err;
    if (service->controller && service->is_leading) {
        *ret_is_later = true;
        controller_release(service->controller, service_on_released, service);
        return true;
    }
    service->end = SERVICE_STANDS_DOWN;
    cloud_session_stop(&service->session);
    return true;
}

/* ---- opening and closing ---- */

static void service_open_parts(struct service *service)
{
    service->setups = worker_setups_open(&(struct worker_setups_setup){
        .loop = service->session.loop,
        .children = service->session.children,
        .config = service->config,
        .state = &service->state,
        .identity = service->identity,
        .head_ip = service->handover.head_private_ip,
        .token_path = service->token_path,
        .runtime_hash = service->handover.contents_hash,
        .hooks = {service, on_progress, on_news, on_outdated, service_on_tag,
                  service_on_kept_host_key, service_is_head_ready, service_on_payload},
    });
    service->events = events_open(service->session.loop, service->journal, &service->session.log);
    service_open_judgement(service);
    service_open_reasons(service);
    service_open_events(service);
    service_open_report(service);
    service_open_ray(service);
    service_open_metrics(service);
    service_open_resume(service);
    service_open_contacts(service);
    service->late = loop_timer_new(service->session.loop, on_late, service);
    service_open_idle(service);
    service_open_tidy(service);
    service->prepare = loop_timer_new(service->session.loop, service_prepare, service);
    service->again = loop_timer_new(service->session.loop, start_acting, service);
    service->guard = loop_timer_new(service->session.loop, guard, service);
    service->shortage = loop_timer_new(service->session.loop, look_for_shortage, service);
    loop_timer_start(service->shortage, SHORTAGE_MS);
    loop_timer_start(service->guard, GUARD_FIRST_MS);
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
    return ctl_server_open(service->session.loop, service->folder, &hooks, &service->ctl_server,
                           err);
}

static void stop_loop(struct service *service)
{
    loop_stop(service->session.loop);
}

/* After a signal, for example from systemd: clear our report, which Ray would show forever. */
static void say_farewell(struct service *service)
{
    if (service->is_leading) {
        stop_acting(service);
        service_report_farewell(service, stop_loop);
        loop_run(service->session.loop);
    }
}

/* A head that is started again must wait for `up`. */
static void note_rest(struct service *service)
{
    struct err err;
    bool rests = service->end == SERVICE_STANDS_DOWN || service->end == SERVICE_ENDS;
    if (rests && !boot_set(service->folder, false, &err)) {
        LOG(service, WARNING, "cannot disable the service at boot: %s", err.text);
    }
}

static bool service_do_run(struct service *service, struct err *err)
{
    struct cloud_session_setup setup = {.least = LOG_LEVEL_INFO, .children_max = CHILDREN_MAX};
    if (!service_load(service, err) || !is_end_noted(service, err) ||
        !cloud_session_open(&service->session, &setup, err)) {
        return false;
    }
    redact_add(service->session.redact, service->handover.secret);
    redact_add(service->session.redact, service->handover.key);
    if (!cloud_provider_open(&service->session, service->config, STR(""), &service->arena,
                             &service->provider, err)) {
        return false;
    }
    if (!service_open(service, err)) {
        return false;
    }
    if (cloud_session_run(&service->session, err)) {
        note_rest(service);
        return true;
    }
    say_farewell(service);
    return false;
}

bool service_open(struct service *service, struct err *err)
{
    service_read_before(service);
    service_open_parts(service);
    if (!open_ctl_server(service, err)) {
        return false;
    }
    LOG(service, INFO, "started version=%s cluster=%.*s", SHOAL_VERSION,
        STR_ARG(service->config->cluster_name));
    events_add(service->events, CLUSTER_EVENT_AUTOSCALER, STR(""), STR("started"),
               STR("version " SHOAL_VERSION));
    look_for_rays(service);
    const char *last_end = getenv(SUPERVISE_CRASH_LOOPING);
    service->is_frozen = last_end != NULL;
    if (last_end && !service_freeze(service, last_end, err)) {
        return false;
    }
    start_acting(service);
    return true;
}

void service_close(struct service *service)
{
    stop_acting(service);
    worker_setups_close(service->setups);
    service_close_metrics(service);
    service_close_contacts(service);
    service_close_resume(service);
    service_close_ray(service);
    service_close_report(service);
    service_close_events(service);
    service_close_judgement(service);
    service_close_reasons(service);
    events_close(service->events);
    ctl_server_close(service->ctl_server);
    if (service->provider) {
        service->provider->ops->close(service->provider);
    }
    if (service->session.loop) {
        cloud_session_close(&service->session);
    }
    journal_close(service->journal);
    convergence_clear(&service->slots);
    setup_records_clear(&service->pasts);
    arena_clear(&service->arena);
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
    arena_init_secret(&service.arena);
    service.folder = service_folder(setup->folder, &arena);
    file_limit_raise();
    bool is_fine = service_do_run(&service, &err);
    struct str program = arena_str(&arena, service.program);
    enum service_exit end = service.end;
    service_close(&service);
    int status = 0;
    if (!is_fine) {
        fprintf(stderr, "shoal autoscaler: %s\n", err.text);
        status = err_exit_status(err.kind);
    } else if (end == SERVICE_RESTART) {
        status = service_restart(program, service.folder);
    } else if (end == SERVICE_ENDS) {
        status = switch_off();
    }
    arena_clear(&arena);
    return status;
}
