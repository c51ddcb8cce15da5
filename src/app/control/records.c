/*
 * records.c: what is written down, and what is played from it after a start.
 *
 * Facts in the journal: "uid" of the cluster, "epoch" of our last lease, "reign", the first epoch
 * since which nobody else has acted, "reign_since", the wall clock at its beginning, and "holders",
 * the names under which we may have a lease.
 */
#include "app/control/controller_parts.h"

#include "app/control/launch_compose.h"

#include <inttypes.h>

enum {
    KEEP_RECORDS_MS = 2 * 3600 * 1000, /* older ones say nothing that a listing does not say */
    KEEP_INTENTS_MS = 24 * 3600 * 1000,
    KEEP_ENTRIES = 20000,
    NOTES_MAX = 20000, /* that wait to be written */
    TRIM_AFTER = 2000, /* entries */
};

/* ---- the history ---- */

static void note(struct controller *controller, enum journal_kind kind, struct str text,
                 struct str bytes)
{
    void *notes = controller->notes;
    if (controller->note_count >= NOTES_MAX) {
        return; /* the disk is full, say; that was told */
    }
    arena_grow(&controller->notes_memory, &notes, controller->note_count,
               &controller->note_capacity, sizeof(*controller->notes));
    controller->notes = notes;
    controller->notes[controller->note_count++] = (struct journal_entry){
        .wall_ms = controller_wall(controller), .kind = kind, .text = text, .bytes = bytes};
}

void records_note_event(struct controller *controller, const struct event *event)
{
    struct arena *arena = &controller->notes_memory;
    note(controller, JOURNAL_EVENT, event_text(event, &controller->settings, arena),
         event_encode(event, arena));
}

void records_note_action(struct controller *controller, const struct action *action)
{
    struct arena *arena = &controller->notes_memory;
    note(controller, JOURNAL_ACTION, action_text(action, &controller->settings, arena),
         action_encode(action, arena));
}

static void forget_notes(struct controller *controller)
{
    arena_clear(&controller->notes_memory);
    arena_init(&controller->notes_memory);
    controller->notes = NULL;
    controller->note_count = controller->note_capacity = 0;
}

static bool trim(struct controller *controller, struct err *err)
{
    return journal_trim(controller->journal, KEEP_ENTRIES, err) &&
           journal_trim_intents(controller->journal, controller_wall(controller) - KEEP_INTENTS_MS,
                                err);
}

static bool write_all(struct controller *controller, records_fn *more, void *context,
                      struct err *err)
{
    for (size_t i = 0; i < controller->note_count; i++) {
        if (!journal_add(controller->journal, &controller->notes[i], err)) {
            return false;
        }
    }
    controller->written += controller->note_count;
    if (controller->written >= TRIM_AFTER) {
        controller->written = 0;
        if (!trim(controller, err)) {
            return false;
        }
    }
    return !more || more(controller, context, err);
}

bool records_write(struct controller *controller, records_fn *more, void *context)
{
    struct provider_answer answer = {.outcome = OUTCOME_UNKNOWN};
    if (!more && controller->note_count == 0) {
        return true;
    }
    bool ok = journal_begin(controller->journal, &answer.err);
    if (ok) {
        ok = write_all(controller, more, context, &answer.err);
        ok = journal_end(controller->journal, ok, &answer.err);
    }
    if (!ok) {
        news_trouble(controller, &answer, "the journal cannot be written: %s", answer.err.text);
        return false;
    }
    forget_notes(controller);
    return true;
}

void records_write_later(struct controller *controller)
{
    if (controller->note_count > 0 && !controller->is_note_waiting) {
        controller->is_note_waiting = true;
        loop_timer_start(controller->note_timer, NOTES_MS);
    }
}

static void on_timer(void *context)
{
    struct controller *controller = context;
    controller->is_note_waiting = false;
    (void)!records_write(controller, NULL, NULL);
}

void records_init(struct controller *controller)
{
    arena_init(&controller->notes_memory);
    controller->note_timer = loop_timer_new(controller->loop, on_timer, controller);
}

void records_clear(struct controller *controller)
{
    (void)!records_write(controller, NULL, NULL);
    loop_timer_free(controller->note_timer);
    arena_clear(&controller->notes_memory);
}

/* ---- facts ---- */

bool records_know_holder(struct controller *controller, struct str holder)
{
    struct str rest = STR("");
    struct err err;
    if (!journal_get(controller->journal, "holders", &controller->scratch, &rest, &err)) {
        return false;
    }
    while (rest.len > 0) {
        if (str_eq(str_cut(&rest, '\n'), holder)) {
            return true;
        }
    }
    return false;
}

/* Those before stay: a process that was killed here may not have got as far as taking. */
static bool write_holder(struct controller *controller, void *context, struct err *err)
{
    enum { HOLDERS_BYTES_MAX = 4096 };
    struct str known = STR("");
    (void)context;
    if (records_know_holder(controller, controller->setup.holder)) {
        return true;
    }
    if (!journal_get(controller->journal, "holders", &controller->scratch, &known, err) ||
        !trim(controller, err)) {
        return false;
    }
    known = known.len > 0 ? str_sub(known, 0, HOLDERS_BYTES_MAX) : STR("");
    struct str all = arena_printf(&controller->scratch, "%.*s\n%.*s",
                                  STR_ARG(controller->setup.holder), STR_ARG(known));
    return journal_set(controller->journal, "holders", all, err);
}

/* A cluster of this name that was removed and made again is another cluster. */
static bool meet_cluster(struct controller *controller, struct str uid, struct err *err)
{
    struct str known;
    if (!journal_get(controller->journal, "uid", &controller->scratch, &known, err)) {
        return false;
    }
    if (known.len > 0 && !str_eq(known, uid) &&
        (!journal_forget(controller->journal, err) || !write_holder(controller, NULL, err))) {
        return false;
    }
    return journal_set(controller->journal, "uid", uid, err);
}

static int64_t age_of(const struct controller *controller, int64_t wall_ms)
{
    int64_t age = controller_wall(controller) - wall_ms;
    return age > 0 ? age : 0; /* the wall clock may have been set back */
}

static bool write_lease(struct controller *controller, void *context, struct err *err)
{
    const struct cluster_lease *lease = context;
    uint64_t epoch;
    uint64_t reign;
    uint64_t since;
    uint64_t head;
    if (!meet_cluster(controller, lease->uid, err) || !records_renumber(controller, err) ||
        !journal_number(controller->journal, STR("head"), &head, err) ||
        !journal_get_number(controller->journal, "epoch", &epoch, err) ||
        !journal_get_number(controller->journal, "reign", &reign, err) ||
        !journal_get_number(controller->journal, "reign_since", &since, err)) {
        return false;
    }
    if (head != HEAD_INSTANCE) {
        return err_set(err, ERR_INTERNAL, "the journal numbers another machine before the head");
    }
    if (epoch == 0 || (lease->epoch != epoch && lease->epoch != epoch + 1)) {
        reign = lease->epoch; /* the first, or somebody else had it in between */
        since = (uint64_t)controller_wall(controller);
    }
    controller->reign = reign;
    controller->reign_since = controller_now(controller) - age_of(controller, (int64_t)since);
    return journal_set_number(controller->journal, "epoch", lease->epoch, err) &&
           journal_set_number(controller->journal, "reign", reign, err) &&
           journal_set_number(controller->journal, "reign_since", since, err);
}

bool records_lease(struct controller *controller, const struct cluster_lease *lease)
{
    struct cluster_lease copy = *lease;
    return records_write(controller, write_lease, &copy);
}

static bool write_emptied(struct controller *controller, void *context, struct err *err)
{
    (void)context;
    return journal_set_number(controller->journal, "reign_since", 0, err);
}

void records_emptied(struct controller *controller)
{
    (void)!records_write(controller, write_emptied, NULL);
}

bool records_add_holder(struct controller *controller)
{
    return records_write(controller, write_holder, NULL);
}

/* ---- playing ---- */

/* A launch as the journal has it. */
struct played {
    uint64_t launch;
    uint32_t offering;
    int64_t count;
    int64_t age_ms;
    bool is_settled;
    enum outcome outcome;
};

struct play {
    struct controller *controller;
    struct played *launches;
    size_t launch_count, launch_capacity;
    struct journal_launched *machines;
    size_t machine_count, machine_capacity;
};

static void take_intent(void *context, const struct journal_intent *intent)
{
    struct play *play = context;
    int64_t age = age_of(play->controller, intent->wall_ms);
    if (!launch_is_cores(intent->launch) || age > KEEP_RECORDS_MS) {
        return;
    }
    reuse_claim_written(play->controller, intent);
    void *items = play->launches;
    arena_grow(&play->controller->scratch, &items, play->launch_count, &play->launch_capacity,
               sizeof(*play->launches));
    play->launches = items;
    play->launches[play->launch_count++] = (struct played){
        intent->launch, intent->offering, intent->count, age, intent->is_settled, intent->outcome};
}

static void take_launched(void *context, const struct journal_launched *launched)
{
    struct play *play = context;
    void *items = play->machines;
    arena_grow(&play->controller->scratch, &items, play->machine_count, &play->machine_capacity,
               sizeof(*play->machines));
    play->machines = items;
    play->machines[play->machine_count++] = *launched;
}

static void play_machines(struct play *play, const struct played *launch, size_t *ret_count)
{
    struct controller *controller = play->controller;
    *ret_count = 0;
    for (size_t i = 0; i < play->machine_count; i++) {
        const struct journal_launched *machine = &play->machines[i];
        if (machine->launch == launch->launch) {
            struct event event = controller_event(controller, EVENT_LAUNCHED);
            event.at -= age_of(controller, machine->wall_ms);
            event.launched.launch = launch->launch;
            event.launched.instance = machine->instance;
            controller_tell(controller, &event);
            ++*ret_count;
        }
    }
}

/*
 * One that was done but of which nobody wrote down the machines was done by another controller, who
 * handed it over. While a listing may not show them yet it counts as open: the same call tells.
 */
static void play_launch(struct play *play, const struct played *launch)
{
    struct controller *controller = play->controller;
    const struct core_times *times = &controller->settings.times;
    size_t machines;
    bool is_fresh = launch->age_ms <= times->horizon + times->call_timeout;
    if (launch->is_settled && launch->outcome == OUTCOME_DONE && !is_fresh) {
        return; /* a listing shows all of it by now */
    }
    struct event event = controller_event(controller, EVENT_INTENT);
    event.at -= launch->age_ms;
    event.intent.launch = launch->launch;
    event.intent.offering = launch->offering;
    event.intent.count = launch->count;
    controller_tell(controller, &event);
    play_machines(play, launch, &machines);
    bool is_handed_over = launch->outcome == OUTCOME_DONE && machines == 0 && is_fresh;
    if (launch->is_settled && !is_handed_over) {
        event = controller_event(controller, EVENT_LAUNCH_REPLY);
        event.at -= launch->age_ms;
        event.launch_reply.launch = launch->launch;
        event.launch_reply.outcome = launch->outcome;
        controller_tell(controller, &event);
    } else {
        launching_open(controller, launch->launch,
                       controller_now(controller) + times->call_timeout);
    }
}

bool records_play(struct controller *controller)
{
    struct play play = {.controller = controller};
    struct provider_answer answer = {.outcome = OUTCOME_UNKNOWN};
    if (!journal_intents(controller->journal, take_intent, &play, &answer.err) ||
        !journal_all_launched(controller->journal, take_launched, &play, &answer.err)) {
        news_trouble(controller, &answer, "the journal cannot be read: %s", answer.err.text);
        return false;
    }
    for (size_t i = 0; i < play.launch_count; i++) {
        play_launch(&play, &play.launches[i]);
    }
    return true;
}
