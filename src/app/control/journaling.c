/*
 * journaling.c: writes the journal and replays it at start.
 *
 * Facts in the journal: "uid" of the cluster; "epoch" of our last lease; "sole_writer_epoch", the
 * first epoch since which no other process held the lease; "sole_writer_since", the journal time at
 * its beginning; "holders", the names under which we may hold a lease.
 */
#include "app/control/controller_internal.h"

#include "app/control/journal_time.h"
#include "app/control/launch_request.h"

#include <inttypes.h>

enum {
    KEEP_RECORDS_MS = 2 * 3600 * 1000, /* a listing shows everything older */
    NOTES_MAX = 20000,                 /* waiting to be written */
};

/* ---- the history ---- */

static void journaling_note(struct controller *controller, enum journal_kind kind, struct str text)
{
    if (controller->note_count >= NOTES_MAX) {
        return; /* the journal cannot be written, for example a full disk; already reported */
    }
    ARENA_PUSH(&controller->notes_memory, controller->notes, controller->note_count,
               controller->note_capacity) = (struct journal_entry){
        .wall_ms = controller_time_ms(controller), .kind = kind, .text = text};
}

void journaling_add_event(struct controller *controller, const struct event *event)
{
    struct arena *arena = &controller->notes_memory;
    journaling_note(controller, JOURNAL_EVENT, event_text(event, &controller->settings, arena));
}

void journaling_add_action(struct controller *controller, const struct action *action)
{
    struct arena *arena = &controller->notes_memory;
    journaling_note(controller, JOURNAL_ACTION, action_text(action, &controller->settings, arena));
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
    const struct retention *keep = &controller->retention;
    return journal_trim(controller->journal, keep->entry_count, err) &&
           journal_trim_intents(controller->journal,
                                controller_time_ms(controller) - keep->launch_ms, err);
}

static bool journaling_write_all(struct controller *controller, journaling_fn *more, void *context,
                                 struct err *err)
{
    for (size_t i = 0; i < controller->note_count; i++) {
        if (!journal_add(controller->journal, &controller->notes[i], err)) {
            return false;
        }
    }
    controller->written += controller->note_count;
    if ((int64_t)controller->written >= retention_trim_after(controller->retention.entry_count)) {
        controller->written = 0;
        if (!trim(controller, err)) {
            return false;
        }
    }
    return !more || more(controller, context, err);
}

bool journaling_write(struct controller *controller, journaling_fn *more, void *context)
{
    struct provider_answer answer = {.outcome = OUTCOME_UNKNOWN};
    if (!more && controller->note_count == 0) {
        return true;
    }
    bool ok = journal_begin(controller->journal, &answer.err);
    if (ok) {
        ok = journaling_write_all(controller, more, context, &answer.err);
        ok = journal_end(controller->journal, ok, &answer.err);
    }
    if (!ok) {
        notify_warning(controller, &answer, "the journal cannot be written: %s", answer.err.text);
        return false;
    }
    forget_notes(controller);
    return true;
}

void journaling_write_later(struct controller *controller)
{
    if (controller->note_count > 0 && !controller->is_note_waiting) {
        controller->is_note_waiting = true;
        loop_timer_start(controller->note_timer, NOTES_MS);
    }
}

static void journaling_on_timer(void *context)
{
    struct controller *controller = context;
    controller->is_note_waiting = false;
    (void)!journaling_write(controller, NULL, NULL);
}

void journaling_init(struct controller *controller)
{
    controller->retention = retention_make();
    arena_init(&controller->notes_memory);
    controller->note_timer = loop_timer_new(controller->loop, journaling_on_timer, controller);
    controller->time_base_ms = journal_time_base(controller->journal, loop_clock(controller->loop),
                                                 &controller->scratch);
}

void journaling_clear(struct controller *controller)
{
    (void)!journaling_write(controller, NULL, NULL);
    loop_timer_free(controller->note_timer);
    arena_clear(&controller->notes_memory);
}

/* ---- facts ---- */

bool journaling_knows_holder(struct controller *controller, struct str holder)
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

/* Keeps earlier holders: a process may be killed between this record and taking the lease. */
static bool write_holder(struct controller *controller, void *context, struct err *err)
{
    enum { HOLDERS_BYTES_MAX = 4096 };
    struct str known = STR("");
    (void)context;
    if (!journal_time_write(controller->journal, controller->time_base_ms, &controller->scratch,
                            err)) {
        return false;
    }
    if (journaling_knows_holder(controller, controller->setup.holder)) {
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

/* A cluster that was deleted and created again under the same name is a different cluster. The
 * provider saw no live instance of the old one (provider.h), and journaling_accepts_uid() checked
 * that none can still appear. */
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

static int64_t journaling_age_of(const struct controller *controller, int64_t wall_ms)
{
    int64_t age = controller_time_ms(controller) - wall_ms;
    return age > 0 ? age : 0; /* after a reboot the clock may be behind */
}

struct recent {
    const struct controller *controller;
    size_t count;
};

static void count_recent(void *context, const struct journal_intent *intent)
{
    struct recent *recent = context;
    const struct core_times *times = &recent->controller->settings.times;
    bool is_young = journaling_age_of(recent->controller, intent->wall_ms) <=
                    times->horizon + times->call_timeout;
    bool may_have_made = !intent->is_settled || intent->outcome == OUTCOME_DONE;
    recent->count += is_young && may_have_made;
}

bool journaling_accepts_uid(struct controller *controller, struct str uid)
{
    struct provider_answer answer = {.outcome = OUTCOME_UNKNOWN};
    struct recent recent = {.controller = controller};
    struct str known;
    if (!journal_get(controller->journal, "uid", &controller->scratch, &known, &answer.err) ||
        !journal_intents(controller->journal, count_recent, &recent, &answer.err)) {
        notify_warning(controller, &answer, "the journal cannot be read: %s", answer.err.text);
        return false;
    }
    if (known.len == 0 || str_eq(known, uid) || recent.count == 0) {
        return true;
    }
    (void)err_set(&answer.err, ERR_EXISTS,
                  "the lease object belongs to another cluster with this name (shoal-cluster-uid "
                  "%.*s), but this machine has just launched instances for the previous cluster "
                  "(%.*s), and EC2 may not list them yet; run the command again in a few minutes",
                  STR_ARG(uid), STR_ARG(known));
    notify_warning(controller, &answer, "%s", answer.err.text);
    return false;
}

static bool write_lease(struct controller *controller, void *context, struct err *err)
{
    const struct cluster_lease *lease = context;
    uint64_t epoch;
    uint64_t sole_writer_epoch;
    uint64_t since;
    uint64_t head;
    if (!meet_cluster(controller, lease->uid, err) ||
        !journaling_migrate_offerings(controller, err) ||
        !journal_number(controller->journal, STR("head"), &head, err) ||
        !journal_get_number(controller->journal, "epoch", &epoch, err) ||
        !journal_get_number(controller->journal, "sole_writer_epoch", &sole_writer_epoch, err) ||
        !journal_get_number(controller->journal, "sole_writer_since", &since, err)) {
        return false;
    }
    if (head != HEAD_INSTANCE) {
        return err_set(err, ERR_INTERNAL, "the journal lists another instance before the head");
    }
    if (epoch == 0 || (lease->epoch != epoch && lease->epoch != epoch + 1)) {
        sole_writer_epoch = lease->epoch; /* the first lease, or it was lost in between */
        since = (uint64_t)controller_time_ms(controller);
    }
    controller->sole_writer_epoch = sole_writer_epoch;
    controller->sole_writer_since = controller_now(controller) -
                                    journaling_age_of(controller, (int64_t)since);
    return journal_set_number(controller->journal, "epoch", lease->epoch, err) &&
           journal_set_number(controller->journal, "sole_writer_epoch", sole_writer_epoch, err) &&
           journal_set_number(controller->journal, "sole_writer_since", since, err);
}

bool journaling_record_lease(struct controller *controller, const struct cluster_lease *lease)
{
    struct cluster_lease copy = *lease;
    return journaling_write(controller, write_lease, &copy);
}

static bool write_emptied(struct controller *controller, void *context, struct err *err)
{
    (void)context;
    return journal_set_number(controller->journal, "sole_writer_since", 0, err);
}

void journaling_record_empty(struct controller *controller)
{
    (void)!journaling_write(controller, write_emptied, NULL);
}

bool journaling_add_holder(struct controller *controller)
{
    return journaling_write(controller, write_holder, NULL);
}

/* ---- replay ---- */

/* A launch from the journal. */
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

static void journaling_take_intent(void *context, const struct journal_intent *intent)
{
    struct play *play = context;
    int64_t age = journaling_age_of(play->controller, intent->wall_ms);
    /* An open launch has no age limit: only its result or a listing settles it. */
    if (!launch_is_cores(intent->launch) || (intent->is_settled && age > KEEP_RECORDS_MS)) {
        return;
    }
    reuse_claim_written(play->controller, intent);
    ARENA_PUSH(&play->controller->scratch, play->launches, play->launch_count,
               play->launch_capacity) = (struct played){
        intent->launch, intent->offering, intent->count, age, intent->is_settled, intent->outcome};
}

static void journaling_take_launched(void *context, const struct journal_launched *launched)
{
    struct play *play = context;
    ARENA_PUSH(&play->controller->scratch, play->machines, play->machine_count,
               play->machine_capacity) = *launched;
}

/* Time since its last call that is known to have taken effect: a launch may be repeated long after
 * it was recorded. */
static int64_t age_of_effect(const struct play *play, const struct played *launch)
{
    int64_t age = launch->age_ms;
    for (size_t i = 0; i < play->machine_count; i++) {
        if (play->machines[i].launch == launch->launch) {
            int64_t own = journaling_age_of(play->controller, play->machines[i].wall_ms);
            age = own < age ? own : age;
        }
    }
    return age;
}

static void play_machines(struct play *play, const struct played *launch, size_t *ret_count)
{
    struct controller *controller = play->controller;
    *ret_count = 0;
    for (size_t i = 0; i < play->machine_count; i++) {
        const struct journal_launched *machine = &play->machines[i];
        if (machine->launch == launch->launch) {
            struct event event = controller_event(controller, EVENT_LAUNCHED);
            event.at -= journaling_age_of(controller, machine->wall_ms);
            event.launched.launch = launch->launch;
            event.launched.instance = machine->instance;
            controller_apply(controller, &event);
            ++*ret_count;
        }
    }
}

/*
 * A launch that is done but has no recorded machines was made by a controller that handed it over.
 * While a listing may not show its machines yet, it is treated as open: repeating the call returns
 * them.
 */
static void play_launch(struct play *play, const struct played *launch)
{
    struct controller *controller = play->controller;
    const struct core_times *times = &controller->settings.times;
    size_t machines;
    bool is_fresh = age_of_effect(play, launch) <= times->horizon + times->call_timeout;
    if (launch->is_settled && launch->outcome == OUTCOME_DONE && !is_fresh) {
        return; /* a listing shows all of its machines */
    }
    struct event event = controller_event(controller, EVENT_INTENT);
    event.at -= launch->age_ms;
    event.intent.launch = launch->launch;
    event.intent.offering = launch->offering;
    event.intent.count = launch->count;
    controller_apply(controller, &event);
    play_machines(play, launch, &machines);
    bool is_handed_over = launch->outcome == OUTCOME_DONE && machines == 0 && is_fresh;
    if (launch->is_settled && !is_handed_over) {
        event = controller_event(controller, EVENT_LAUNCH_REPLY);
        event.at -= launch->age_ms;
        event.launch_reply.launch = launch->launch;
        event.launch_reply.outcome = launch->outcome;
        controller_apply(controller, &event);
    } else {
        launching_open(controller, launch->launch,
                       controller_now(controller) + times->call_timeout);
    }
}

bool journaling_replay(struct controller *controller)
{
    struct play play = {.controller = controller};
    struct provider_answer answer = {.outcome = OUTCOME_UNKNOWN};
    if (!journal_intents(controller->journal, journaling_take_intent, &play, &answer.err) ||
        !journal_all_launched(controller->journal, journaling_take_launched, &play, &answer.err)) {
        notify_warning(controller, &answer, "the journal cannot be read: %s", answer.err.text);
        return false;
    }
    for (size_t i = 0; i < play.launch_count; i++) {
        play_launch(&play, &play.launches[i]);
    }
    return true;
}
