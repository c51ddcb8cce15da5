/* service.c: everything that runs on the head, opened, wired together and ended. */
#include "app/head/service.h"

#include "app/cloud_provider.h"
#include "app/head/keep/supervise.h"
#include "app/head/ray/ray_monitor.h"
#include "app/head/service_parts.h"
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
    CHILDREN_MAX = 200,
    AGAIN_MS = 1000, /* after somebody else took the lease */
    GUARD_MS = 10 * 1000,
    SHORTAGE_MS = 2000,
    GUARD_FIRST_MS = 1000, /* until Ray answers for the first time */
    PREPARE_MS = 1000,     /* after a start: the account is looked at before it is urgent */
};

/* ---- what the controller tells ---- */

static void on_started(void *context, const struct cluster_lease *lease)
{
    struct service *service = context;
    service->is_leading = true;
    service->refusal[0] = '\0';
    LOG(service, INFO, "acting epoch=%llu", (unsigned long long)lease->epoch);
    events_add(service->events, EVENT_WORD_SERVICE, STR(""), STR("acts for the cluster"), STR(""));
    service_ray_begin(service);
    loop_timer_start(service->prepare, PREPARE_MS);
    service_report_soon(service);
    desk_changed(service->desk, INSTANCE_NONE);
}

static void on_set_up(void *context, const struct controlled *controlled)
{
    service_set_up(context, controlled);
}

static void give_up(struct service *service, const struct controlled *controlled)
{
    struct arena arena;
    arena_init(&arena);
    struct str why = controlled->node ? service_reason(controlled->node, &arena) : STR("");
    worker_setups_give_up(service->setups, controlled->instance, why);
    worker_setups_end(service->setups, controlled->instance);
    arena_clear(&arena);
}

/* What failed of that type before is of no interest any more. */
static void note_came(struct service *service, const struct controlled *controlled)
{
    const struct core_settings *settings = &service->core.settings;
    if (controlled->node && controlled->node->offering < settings->offering_count) {
        service_report_came(service, settings->offerings[controlled->node->offering].type);
    }
}

static void on_changed(void *context, const struct controlled *controlled)
{
    struct service *service = context;
    if (!controlled->is_head && controlled->instance != INSTANCE_NONE) {
        size_t known = service->slots.count;
        enum slot_state state = service_slot(service, controlled);
        slots_hear(&service->slots, controlled->instance, state);
        if (service->slots.count > known) { /* a launch went well */
            service->launch_trouble[0] = '\0';
            service->launch_trouble_ms = 0;
            note_came(service, controlled);
        }
        service_happen_changed(service, controlled);
        if (state == SLOT_FAILED) {
            give_up(service, controlled);
        } else if (state == SLOT_GONE) {
            worker_setups_end(service->setups, controlled->instance);
        }
        service_expect_ray(service);
    }
    service_report_soon(service);
    if (controlled->instance != INSTANCE_NONE) {
        desk_changed(service->desk, controlled->instance);
    }
}

/* What will not be otherwise in a moment. */
static bool is_refusal(enum outcome outcome)
{
    return outcome == OUTCOME_CAPACITY || outcome == OUTCOME_QUOTA || outcome == OUTCOME_DENIED ||
           outcome == OUTCOME_INVALID;
}

static void on_trouble(void *context, const struct provider_answer *answer, struct str what)
{
    struct service *service = context;
    LOG(service, WARNING, "%.*s", STR_ARG(what));
    if (!service->is_leading) {
        snprintf(service->refusal, sizeof(service->refusal), "%.*s", STR_ARG(what));
    } else if (answer && is_refusal(answer->outcome)) {
        /* It is tried again and again, and refused in the same words. */
        struct str said = str_sub(what, str_find(what, ": "), what.len);
        struct str before = str_from(service->launch_trouble);
        if (!str_eq(said, str_sub(before, str_find(before, ": "), before.len))) {
            desk_tell_trouble(service->desk, what);
            service_happen_refused(service, what);
        }
        snprintf(service->launch_trouble, sizeof(service->launch_trouble), "%.*s", STR_ARG(what));
        if (service->launch_trouble_ms == 0) {
            service->launch_trouble_ms = loop_now_ms(service->session.loop);
        }
    }
    desk_changed(service->desk, INSTANCE_NONE);
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

static void on_deposed(void *context, const struct cluster_lease *lease)
{
    struct service *service = context;
    struct str holder = lease ? lease->holder : STR("");
    snprintf(service->refusal, sizeof(service->refusal), "%.*s acts",
             STR_ARG(holder.len > 0 ? holder : STR("somebody else")));
    LOG(service, WARNING, "deposed: %s", service->refusal);
    events_add(service->events, EVENT_WORD_SERVICE, STR(""), STR("does not act any more"),
               str_from(service->refusal));
    service->is_leading = false;
    loop_timer_start(service->again, AGAIN_MS);
    desk_changed(service->desk, INSTANCE_NONE);
}

/* ---- acting ---- */

static struct str holder_of(struct service *service)
{
    char host[256] = "head";
    gethostname(host, sizeof(host) - 1);
    return arena_printf(&service->arena, SERVICE_HOLDER "%.*s@%.200s, pid %ld",
                        STR_ARG(service->config->ssh_user), host, (long)getpid());
}

/* ---- the end ---- */

/* Also for a service that is started again on the way there. */
static bool note_end(struct service *service, struct err *err)
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
    LOG(service, INFO, "the workers have ended: switching this machine off");
    desk_answer(service->desk, "end", NULL);
    service->end = SERVICE_ENDS;
    cloud_session_stop(&service->session);
}

static void on_ended(void *context, const struct provider_answer *answer)
{
    (void)answer; /* a lease that was not handed back runs out by itself */
    service_report_farewell(context, finish_end);
}

static void on_emptied(void *context)
{
    struct service *service = context;
    if (service->is_ending && service->controller) {
        controller_release(service->controller, on_ended, service);
    }
}

bool service_end(struct service *service, struct err *err)
{
    if (!service->controller || !service->is_leading) {
        return err_set(err, ERR_UNAVAILABLE,
                       "this service does not act at the moment, so it cannot end the cluster");
    }
    if (!note_end(service, err)) {
        return false;
    }
    LOG(service, INFO, "the cluster is to end");
    service->is_ending = true;
    controller_want(service->controller, GOAL_DOWN);
    return true;
}

static bool on_end(void *context, bool *ret_is_later, struct err *err)
{
    *ret_is_later = service_end(context, err);
    return *ret_is_later;
}

/* ---- acting ---- */

static void on_drain(void *context, const struct controlled *controlled,
                     const struct action *action)
{
    service_drain(context, controlled, action);
}

static void on_decided(void *context, const struct core_answer *answer)
{
    service_decided(context, answer);
}

static void on_launched(void *context, enum outcome outcome, size_t count, size_t came,
                        int64_t took_ms)
{
    service_count_launch(context, outcome, count, came, took_ms);
}

static void start_acting(void *context)
{
    struct service *service = context;
    stop_acting(service);
    if (service->is_frozen || service_is_rays(service)) {
        return; /* the guard looks again */
    }
    service->controller = controller_open(&(struct controller_setup){
        .session = &service->session,
        .provider = service->provider,
        .journal = service->journal,
        .config = service->config,
        .core = &service->core,
        .holder = holder_of(service),
        .secret = service->state.secret,
        .take_from = service->handover.epoch,
        .uid = service->handover.uid,
        .anchor = service->handover.anchor,
        .goal = service->is_ending ? GOAL_DOWN : GOAL_RUN,
        .hooks = {service, on_started, on_set_up, on_changed, on_trouble, on_deposed, on_emptied,
                  on_drain, on_decided, on_launched},
    });
}

/* Which Ray there is, is known after the head's set-up commands; whether its monitor runs, after
 * its start. */
static void look_for_rays(struct service *service)
{
    struct arena arena;
    arena_init(&arena);
    struct str version = ray_find_noted(&arena);
    service->monitor_pid = ray_monitor_find();
    bool is_left = ray_find_is_old(version) && service_has_monitor_option(service);
    snprintf(service->old_ray, sizeof(service->old_ray), "%.*s",
             STR_ARG(is_left ? version : STR("")));
    arena_clear(&arena);
}

static void guard(void *context)
{
    struct service *service = context;
    bool before = service_is_rays(service);
    look_for_rays(service);
    bool is_now = service_is_rays(service);
    if (is_now && !before) {
        LOG(service, ERROR, "standing by: Ray's own autoscaler pid=%d ray=%s", service->monitor_pid,
            service->old_ray);
        stop_acting(service);
    } else if (!is_now && before) {
        start_acting(service);
    }
    loop_timer_start(service->guard, service->is_head_alive ? GUARD_MS : GUARD_FIRST_MS);
    desk_changed(service->desk, INSTANCE_NONE);
}

static void on_late(void *context)
{
    service_set_up_late(context);
}

static void on_prepared(void *context, const struct provider_answer *answer,
                        const struct provider_thing *things, size_t count)
{
    (void)context; /* what went wrong was told as trouble, and a launch tries again */
    (void)answer;
    (void)things;
    (void)count;
}

/* May more come than there are in any case? */
static bool is_elastic(const struct service *service)
{
    return service->core.settings.max_workers > (int64_t)service_wanted_workers(service);
}

/* What a launch needs to know of the account takes a second or two: the first one that answers
 * demand should not have to wait for it. */
static void prepare(void *context)
{
    struct service *service = context;
    struct ctl_status status;
    struct arena arena;
    arena_init(&arena);
    service_status(service, &arena, &status);
    if (!status.is_settled) {
        loop_timer_start(service->prepare, PREPARE_MS);
    } else if (service->is_leading && !service->is_ending && is_elastic(service)) {
        controller_prepare(service->controller, on_prepared, service);
    }
    arena_clear(&arena);
}

static void look_for_shortage(void *context)
{
    struct service *service = context;
    int64_t before = service->short_since_ms;
    service_note_shortage(service);
    if (before > 0 || service->short_since_ms > 0) {
        desk_changed(service->desk, INSTANCE_NONE);
    }
    loop_timer_start(service->shortage, SHORTAGE_MS);
}

/* ---- what set-ups tell ---- */

static void on_progress(void *context, uint64_t instance)
{
    struct service *service = context;
    struct controlled controlled;
    if (service->controller && controller_find(service->controller, instance, &controlled)) {
        slots_hear(&service->slots, instance, service_slot(service, &controlled));
    }
    service_expect_ray(service);
    service_report_soon(service);
    desk_changed(service->desk, instance);
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

static void on_tag(void *context, uint64_t instance, struct str status)
{
    service_tag(context, instance, status);
}

static bool is_head_ready(void *context)
{
    const struct service *service = context;
    return service->is_head_alive;
}

/* Machines like this one get the program that runs here. */
static bool on_payload(void *context, struct str machine, struct arena *arena, struct str *ret_path,
                       struct err *err)
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

/* ---- what guests ask ---- */

static void greet(void *context, struct ctl_line *line)
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
    struct handover newer;
    bool is_new = false;
    struct arena arena;
    arena_init_secret(&arena);
    bool ok = service_read_handover(service, &arena, &newer, err) &&
              handover_take(service->journal, &newer, &is_new, err);
    if (ok && is_new) {
        service_note_before(service, newer.serial);
    }
    arena_clear(&arena);
    if (ok && is_new) {
        LOG(service, INFO, "a new handover was taken in: beginning anew");
        service->end = SERVICE_AGAIN;
        cloud_session_stop(&service->session);
    }
    return ok;
}

static void finish_standing_down(struct service *service)
{
    LOG(service, INFO, "stood down");
    events_add(service->events, EVENT_WORD_SERVICE, STR(""), STR("stood down"), STR(""));
    desk_answer(service->desk, "stand-down", NULL);
    service->end = SERVICE_STANDS_DOWN;
    cloud_session_stop(&service->session);
}

static void on_released(void *context, const struct provider_answer *answer)
{
    struct service *service = context;
    if (answer->outcome != OUTCOME_DONE) { /* it runs out by itself */
        LOG(service, WARNING, "the lease was not handed back: %s", answer->err.text);
    }
    service_report_farewell(service, finish_standing_down);
}

static bool on_stand_down(void *context, bool *ret_is_later, struct err *err)
{
    struct service *service = context;
    (void)err;
    if (service->controller && service->is_leading) {
        *ret_is_later = true;
        controller_release(service->controller, on_released, service);
        return true;
    }
    service->end = SERVICE_STANDS_DOWN;
    cloud_session_stop(&service->session);
    return true;
}

/* ---- opening and closing ---- */

static void open_parts(struct service *service)
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
        .hooks = {service, on_progress, on_news, on_tag, is_head_ready, on_payload},
    });
    service->events = events_open(service->session.loop, service->journal, &service->session.log);
    service_open_judgement(service);
    service_open_reasons(service);
    service_open_happenings(service);
    service_open_report(service);
    service_open_ray(service);
    service_open_metrics(service);
    service->late = loop_timer_new(service->session.loop, on_late, service);
    service_open_idle(service);
    service->prepare = loop_timer_new(service->session.loop, prepare, service);
    service->again = loop_timer_new(service->session.loop, start_acting, service);
    service->guard = loop_timer_new(service->session.loop, guard, service);
    service->shortage = loop_timer_new(service->session.loop, look_for_shortage, service);
    loop_timer_start(service->shortage, SHORTAGE_MS);
    loop_timer_start(service->guard, GUARD_FIRST_MS);
    service_expect_ray(service);
}

static bool open_desk(struct service *service, struct err *err)
{
    struct desk_hooks hooks = {
        .context = service,
        .greeting = greet,
        .update = on_update,
        .stand_down = on_stand_down,
        .end = on_end,
    };
    service_answers(&hooks);
    return desk_open(service->session.loop, service->folder, &hooks, &service->desk, err);
}

static bool take_handover(struct service *service, struct err *err)
{
    struct str holder = arena_printf(&service->arena, "shoal autoscaler, pid %ld", (long)getpid());
    bool is_new;
    return journal_open(service->folder, holder.ptr, &service->journal, err) &&
           handover_take(service->journal, &service->handover, &is_new, err) &&
           is_end_noted(service, err);
}

static void stop_loop(struct service *service)
{
    loop_stop(service->session.loop);
}

/* Stopped by a signal, as by systemd: Ray would show for ever what it was told last. */
static void say_farewell(struct service *service)
{
    if (service->is_leading) {
        stop_acting(service);
        service_report_farewell(service, stop_loop);
        loop_run(service->session.loop);
    }
}

static bool run(struct service *service, struct err *err)
{
    struct cloud_session_setup setup = {.least = LOG_LEVEL_INFO, .children_max = CHILDREN_MAX};
    if (!service_load(service, err) || !take_handover(service, err) ||
        !cloud_session_open(&service->session, &setup, err)) {
        return false;
    }
    redact_add(service->session.redact, service->handover.secret);
    redact_add(service->session.redact, service->handover.key);
    if (!cloud_provider_open(&service->session, service->config, STR(""), &service->arena,
                             &service->provider, err)) {
        return false;
    }
    service_read_before(service);
    open_parts(service);
    if (!open_desk(service, err)) {
        return false;
    }
    LOG(service, INFO, "started version=%s cluster=%.*s", SHOAL_VERSION,
        STR_ARG(service->config->cluster_name));
    events_add(service->events, EVENT_WORD_SERVICE, STR(""), STR("started"),
               STR("version " SHOAL_VERSION));
    look_for_rays(service);
    const char *last_end = getenv(SUPERVISE_FROZEN);
    service->is_frozen = last_end != NULL;
    if (last_end && !service_freeze(service, last_end, err)) {
        return false;
    }
    start_acting(service);
    if (cloud_session_run(&service->session, err)) {
        return true;
    }
    say_farewell(service);
    return false;
}

static void close_all(struct service *service)
{
    stop_acting(service);
    worker_setups_close(service->setups);
    service_close_metrics(service);
    service_close_ray(service);
    service_close_report(service);
    service_close_happenings(service);
    service_close_judgement(service);
    service_close_reasons(service);
    events_close(service->events);
    desk_close(service->desk);
    if (service->provider) {
        service->provider->ops->close(service->provider);
    }
    if (service->session.loop) {
        cloud_session_close(&service->session);
    }
    journal_close(service->journal);
    slots_clear(&service->slots);
    worker_pasts_clear(&service->pasts);
    arena_clear(&service->arena);
}

/* What the machine does then, is said at its launch: it ends, unless the file says otherwise. One
 * that cannot be switched off is a failure, after which the supervisor begins again. */
static int switch_off(void)
{
    const char *const argv[] = {"/bin/sh", "-c",
                                "if [ $(id -u) = 0 ]; then exec shutdown -h now; fi; "
                                "exec sudo -n shutdown -h now",
                                NULL};
    program_become(argv);
    fprintf(stderr, "%s cannot be started: %s\n", argv[0], strerror(errno));
    return 1;
}

/* A new process has nothing left over from this one, and may be a newer program. */
static int begin_anew(struct str program, const char *folder)
{
    const char *const argv[] = {program.ptr, "autoscaler", "--folder", folder, NULL};
    file_limit_restore();
    unsetenv(SUPERVISE_FROZEN);
    program_become(argv);
    fprintf(stderr, "%s cannot be started again: %s\n", program.ptr, strerror(errno));
    return 1; /* the supervisor starts it */
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
    bool is_fine = run(&service, &err);
    struct str program = arena_str(&arena, service.program);
    enum service_end end = service.end;
    close_all(&service);
    int status = 0;
    if (!is_fine) {
        fprintf(stderr, "shoal autoscaler: %s\n", err.text);
        status = err_exit_status(err.kind);
    } else if (end == SERVICE_AGAIN) {
        status = begin_anew(program, service.folder);
    } else if (end == SERVICE_ENDS) {
        status = switch_off();
    }
    arena_clear(&arena);
    return status;
}
