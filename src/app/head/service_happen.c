/*
 * service_happen.c: what is decided and what becomes of nodes, written down as events with their
 * reasons, and told to drivers in the words of Ray's own autoscaler.
 *
 * Every node fails, is taken away or ends once, however often the core asks for it again.
 */
#include "app/head/ray/driver_lines.h"
#include "app/head/service_parts.h"
#include "core/words.h"
#include "io/heap.h"
#include "provider/launch_token.h"

#include <math.h>
#include <string.h>

enum {
    LAUNCHES = 64,                  /* that are remembered for what becomes of them */
    TOLD = 64,                      /* infeasible requests that drivers were told of */
    TELL_AGAIN_MS = 10 * 60 * 1000, /* one of them that is still, or again, there */
    TEXT_MAX = 4096,
};

struct launch_note {
    uint64_t launch;
    uint32_t type;
    int64_t count;
    int64_t asked_ms; /* wall clock */
};

/* What was written down of a node. */
struct noted {
    uint64_t instance;
    bool failure, end, notice;
};

struct told {
    uint64_t hash;
    int64_t at_ms;
};

struct happenings {
    struct launch_note launches[LAUNCHES]; /* a ring */
    size_t launch_count;
    struct noted *noted; /* on the heap */
    size_t noted_count, noted_capacity;
    struct told told[TOLD]; /* a ring */
    size_t told_count;
};

/* What an earlier process has told is not told again by this one. */
static void recall(void *context, const struct insight_event *event)
{
    struct service *service = context;
    struct happenings *happenings = service->happenings;
    int64_t age = clock_wall_ms(loop_clock(service->session.loop)) - event->wall_ms;
    if (event->kind == EVENT_WORD_INFEASIBLE && age >= 0 && age < TELL_AGAIN_MS) {
        happenings->told[happenings->told_count++ % TOLD] = (struct told){
            str_hash(event->text), loop_now_ms(service->session.loop) - age};
    }
}

void service_open_happenings(struct service *service)
{
    service->happenings = HEAP_NEW(struct happenings);
    events_each(service->events, 0, recall, service);
}

void service_close_happenings(struct service *service)
{
    if (service->happenings) {
        free(service->happenings->noted);
        free(service->happenings);
        service->happenings = NULL;
    }
}

static struct noted *noted_of(struct happenings *happenings, uint64_t instance)
{
    for (size_t i = happenings->noted_count; i > 0; i--) {
        if (happenings->noted[i - 1].instance == instance) {
            return &happenings->noted[i - 1];
        }
    }
    if (happenings->noted_count == happenings->noted_capacity) {
        size_t capacity = happenings->noted_capacity > 0 ? 2 * happenings->noted_capacity : 16;
        struct noted *noted = heap_zeroed(capacity * sizeof(*noted));
        if (happenings->noted_count > 0) {
            memcpy(noted, happenings->noted, happenings->noted_count * sizeof(*noted));
        }
        free(happenings->noted);
        happenings->noted = noted;
        happenings->noted_capacity = capacity;
    }
    struct noted *noted = &happenings->noted[happenings->noted_count++];
    *noted = (struct noted){.instance = instance};
    return noted;
}

static void forget_noted(struct happenings *happenings, uint64_t instance)
{
    for (size_t i = 0; i < happenings->noted_count; i++) {
        if (happenings->noted[i].instance == instance) {
            happenings->noted[i] = happenings->noted[--happenings->noted_count];
            return;
        }
    }
}

static struct str name_of(uint64_t instance, struct arena *arena)
{
    struct controlled controlled = {.instance = instance, .is_head = instance == HEAD_INSTANCE};
    return service_node_name(&controlled, arena);
}

static void add(struct service *service, enum insight_event_kind kind, uint64_t instance,
                struct str text, struct str reason)
{
    struct arena arena;
    arena_init(&arena);
    struct str node = instance != INSTANCE_NONE ? name_of(instance, &arena) : STR("");
    events_add(service->events, kind, node, text, reason);
    arena_clear(&arena);
}

/* ---- launches ---- */

static void note_launch(struct service *service, const struct action *action, uint32_t type)
{
    struct happenings *happenings = service->happenings;
    happenings->launches[happenings->launch_count++ % LAUNCHES] = (struct launch_note){
        action->launch, type, action->count, clock_wall_ms(loop_clock(service->session.loop))};
}

static void happen_launch(struct service *service, const struct action *action, struct arena *arena)
{
    const struct core_settings *settings = &service->core.settings;
    const struct offering *offering = &settings->offerings[action->offering];
    const struct type_facts *facts = &service->core.facts[offering->type];
    struct str zone = names_text(settings->names, offering->zone);
    struct str reason = action_reason_text_with(action, name_of(action->instance, arena), arena);
    struct str load = service_load_words(service, arena);
    int64_t waiting = action->count_by_cause[LAUNCH_DEMAND] - action_takes_over(action) +
                      action->count_by_cause[LAUNCH_GANGS];
    if (waiting > 0 && load.len > 0) {
        reason = arena_printf(arena, "%.*s; waiting: %.*s", STR_ARG(reason), STR_ARG(load));
    }
    struct str text = arena_printf(arena, "launch %u.%u: %lld x %.*s (%.*s%s) in %.*s",
                                   LAUNCH_ARG(action->launch), (long long)action->count,
                                   STR_ARG(facts->name), STR_ARG(facts->machine),
                                   offering->market == MARKET_SPOT ? ", spot" : "", STR_ARG(zone));
    note_launch(service, action, offering->type);
    add(service, EVENT_WORD_LAUNCH, INSTANCE_NONE, text, reason);
}

void service_happen_refused(struct service *service, struct str what)
{
    const struct happenings *happenings = service->happenings;
    struct str rest = what;
    uint64_t launch;
    struct str number = str_cut(&rest, ':');
    add(service, EVENT_WORD_REFUSAL, INSTANCE_NONE, what, STR(""));
    if (!str_starts(number, "launch ") ||
        !launch_number_parse(str_sub(number, sizeof("launch ") - 1, number.len), &launch)) {
        return;
    }
    for (size_t i = 0; i < LAUNCHES && i < happenings->launch_count; i++) {
        const struct launch_note *note = &happenings->launches[i];
        if (note->launch == launch) {
            service_report_failed(service, note->type, note->count, note->asked_ms, str_trim(rest));
            return;
        }
    }
}

/* ---- lines for drivers ---- */

static bool is_end_told(void *context, uint64_t instance)
{
    struct service *service = context;
    return noted_of(service->happenings, instance)->end;
}

static void take_line(void *context, struct str line)
{
    service_tell_drivers(context, line, false);
}

static void measure(void *context, const struct controlled *controlled)
{
    if (controlled->node) {
        driver_size_add(context, controlled->node, controlled->is_head);
    }
}

static void tell_lines(struct service *service, const struct core_answer *answer,
                       struct arena *arena)
{
    struct driver_scene scene = {.settings = &service->core.settings,
                                 .facts = service->core.facts,
                                 .is_told = is_end_told,
                                 .take = take_line,
                                 .context = service};
    struct driver_size size;
    if (driver_lines(&scene, answer, arena)) {
        driver_size_begin(&size, &service->core.settings);
        controller_each(service->controller, measure, &size);
        service_tell_drivers(service, driver_size_line(&size, arena), false);
    }
}

/* ---- requests that nothing can ever meet ---- */

static bool was_told(struct happenings *happenings, uint64_t hash, int64_t now_ms)
{
    for (size_t i = 0; i < TOLD && i < happenings->told_count; i++) {
        struct told *told = &happenings->told[i];
        if (told->hash == hash && now_ms < told->at_ms + TELL_AGAIN_MS) {
            return true;
        }
    }
    happenings->told[happenings->told_count++ % TOLD] = (struct told){hash, now_ms};
    return false;
}

void service_happen_infeasible(struct service *service, const struct insight_demand *demand)
{
    struct arena arena;
    arena_init(&arena);
    struct str labels = demand->labels.len > 0
                            ? arena_printf(&arena, " with labels %.*s", STR_ARG(demand->labels))
                            : STR("");
    struct str text = arena_printf(&arena, "%.*s%.*s can run nowhere", STR_ARG(demand->shape),
                                   STR_ARG(labels));
    if (was_told(service->happenings, str_hash(text), loop_now_ms(service->session.loop))) {
        arena_clear(&arena);
        return;
    }
    service_tell_drivers(service, driver_infeasible_line(demand, &arena), true);
    add(service, EVENT_WORD_INFEASIBLE, INSTANCE_NONE, text, demand->why);
    arena_clear(&arena);
}

/* ---- a decision ---- */

static void happen_action(struct service *service, const struct action *action, struct arena *arena)
{
    struct str reason = action_reason_text(action, arena);
    if (driver_is_addition(action)) {
        happen_launch(service, action, arena);
    } else if (action->kind == ACTION_DRAIN) {
        add(service, EVENT_WORD_DRAIN, action->instance, STR("asked to let go of its work"),
            reason);
    } else if (action->kind == ACTION_TERMINATE) {
        struct noted *noted = noted_of(service->happenings, action->instance);
        if (!noted->end) {
            noted->end = true;
            metrics_count_end(&service->metrics);
            add(service, EVENT_WORD_END, action->instance, STR("ended"), reason);
        }
    }
}

void service_decided(struct service *service, const struct core_answer *answer)
{
    struct arena arena;
    arena_init(&arena);
    service_judge(service, answer);
    tell_lines(service, answer, &arena);
    for (size_t i = 0; i < answer->action_count; i++) {
        happen_action(service, &answer->actions[i], &arena);
    }
    service_report_soon(service);
    arena_clear(&arena);
}

/* ---- what becomes of nodes ---- */

void service_happen_joined(struct service *service, const struct controlled *controlled)
{
    struct arena arena;
    arena_init(&arena);
    int64_t age = controlled->machine ? clock_wall_ms(loop_clock(service->session.loop)) -
                                            controlled->machine->launched_at * 1000
                                      : 0;
    struct str reason = age > 0 && controlled->machine->launched_at > 0
                            ? arena_printf(&arena, "%lld s after its launch",
                                           (long long)(age / 1000))
                            : STR("");
    add(service, EVENT_WORD_JOIN, controlled->instance, STR("joined Ray"), reason);
    arena_clear(&arena);
}

/* Which step failed, and with which command. */
static struct str failure_words(const struct service *service, uint64_t instance, struct str reason,
                                struct arena *arena)
{
    const struct worker_progress *progress = worker_setups_progress(service->setups, instance);
    const struct node_failure *failure = progress ? &progress->failure : NULL;
    if (!failure || failure->step.len == 0) {
        return reason;
    }
    struct str text = arena_printf(arena, "%.*s: %.*s", STR_ARG(reason), STR_ARG(failure->step));
    if (failure->command.len > 0) {
        text = arena_printf(arena, "%.*s: %.*s (exit status %d)", STR_ARG(text),
                            STR_ARG(str_sub(failure->command, 0, 300)), failure->status);
    }
    return failure->why.len > 0
               ? arena_printf(arena, "%.*s: %.*s", STR_ARG(text), STR_ARG(failure->why))
               : text;
}

static bool is_failure(uint8_t reason)
{
    return reason == REASON_SETUP_FAILED || reason == REASON_TOO_SLOW ||
           reason == REASON_CLOUD_ENDED || reason == REASON_RAY_DEAD ||
           reason == REASON_LOST_CONTACT;
}

void service_happen_changed(struct service *service, const struct controlled *controlled)
{
    const struct node *node = controlled->node;
    if (!node) {
        forget_noted(service->happenings, controlled->instance);
        return;
    }
    bool is_ending = node->state == NODE_FAILED || node->state == NODE_TERMINATING;
    bool is_taken = node->state == NODE_DRAINING && node->reason.kind == REASON_NOTICE;
    if (!is_taken && !(is_ending && is_failure(node->reason.kind))) {
        return;
    }
    struct noted *noted = noted_of(service->happenings, controlled->instance);
    struct arena arena;
    arena_init(&arena);
    if (is_taken && !noted->notice) {
        noted->notice = true;
        metrics_count_notice(&service->metrics);
        add(service, EVENT_WORD_NOTICE, controlled->instance, STR("is to be taken away"),
            STR("its node has notice from the cloud, or somebody drains it"));
    } else if (is_ending && !noted->failure) {
        noted->failure = true;
        struct str why = failure_words(service, controlled->instance, service_reason(node, &arena),
                                       &arena);
        add(service, EVENT_WORD_FAILURE, controlled->instance, STR("failed"), why);
    }
    arena_clear(&arena);
}

void service_happen_drained(struct service *service, uint64_t instance, enum drain_answer answer,
                            struct str why)
{
    static const char *const words[DRAIN_ANSWER_COUNT] = {
        [DRAIN_ACCEPTED] = "takes no more work",
        [DRAIN_REFUSED] = "stays: its raylet refused",
        [DRAIN_UNKNOWN] = "stays: its raylet did not answer",
    };
    add(service, EVENT_WORD_DRAIN, instance, str_from(words[answer]), why);
}
