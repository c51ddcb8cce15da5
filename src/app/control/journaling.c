/*
 * journaling.c: writes the journal and replays it at start.
 *
 * Facts in the journal: "uid" of the cluster; "epoch" of our last lease; "sole_writer_epoch", the
 * first epoch since which no other process held the lease; "sole_writer_since", the journal time at
 * its beginning; "holders", the names under which we may hold a lease; "down_holder", the name of
 * the last `shoal down` or `shoal stop`.
 */
#include "app/control/journaling.h"

#include "app/control/control_events.h"
#include "app/control/journal_time.h"
#include "app/control/launch_request.h"
#include "app/control/launching.h"
#include "app/control/offering_migrate.h"
#include "app/control/timing.h"
#include "base/require.h"

#include <inttypes.h>

enum {
    KEEP_RECORDS_MS = 2 * 3600 * 1000, /* a listing shows everything older */
    NOTES_MAX = 20000,                 /* waiting to be written */
};

/* ---- the history ---- */

static void journaling_note(struct journaling *journaling, enum journal_kind kind, struct str text)
{
    if (journaling->note_count >= NOTES_MAX) {
        return; /* the journal cannot be written, for example a full disk; already reported */
    }
    ARENA_PUSH(&journaling->notes_memory, journaling->notes, journaling->note_count,
               journaling->note_capacity) = (struct journal_entry){
        .wall_ms = controller_time_ms(journaling->controller), .kind = kind, .text = text};
}

void journaling_add_event(struct journaling *journaling, const struct event *event)
{
    struct arena *arena = &journaling->notes_memory;
    journaling_note(journaling, JOURNAL_EVENT, event_text(event, journaling->settings, arena));
}

void journaling_add_action(struct journaling *journaling, const struct action *action)
{
    struct arena *arena = &journaling->notes_memory;
    journaling_note(journaling, JOURNAL_ACTION, action_text(action, journaling->settings, arena));
}

static void forget_notes(struct journaling *journaling)
{
    arena_clear(&journaling->notes_memory);
    arena_init(&journaling->notes_memory);
    journaling->notes = NULL;
    journaling->note_count = journaling->note_capacity = 0;
}

static bool trim(struct journaling *journaling, struct err *err)
{
    const struct retention *keep = &journaling->retention;
    return journal_trim(journaling->journal, keep->entry_count, err) &&
           journal_trim_intents(journaling->journal,
                                controller_time_ms(journaling->controller) - keep->launch_ms, err);
}

static bool journaling_write_all(struct journaling *journaling, journaling_fn *more, void *context,
                                 struct err *err)
{
    for (size_t i = 0; i < journaling->note_count; i++) {
        if (!journal_add(journaling->journal, &journaling->notes[i], err)) {
            return false;
        }
    }
    journaling->written += journaling->note_count;
    if ((int64_t)journaling->written >= retention_trim_after(journaling->retention.entry_count)) {
        journaling->written = 0;
        if (!trim(journaling, err)) {
            return false;
        }
    }
    return !more || more(journaling->controller, context, err);
}

bool journaling_write(struct journaling *journaling, journaling_fn *more, void *context)
{
    struct provider_answer answer = {.outcome = OUTCOME_UNKNOWN};
    if (!more && journaling->note_count == 0) {
        return true;
    }
    bool ok = journal_begin(journaling->journal, &answer.err);
    if (ok) {
        ok = journaling_write_all(journaling, more, context, &answer.err);
        ok = journal_end(journaling->journal, ok, &answer.err);
    }
    if (!ok) {
        notify_warning(journaling->notifier, &answer, "the journal cannot be written: %s",
                       answer.err.text);
        return false;
    }
    forget_notes(journaling);
    require(journaling->note_count == 0, "what is written no longer waits");
    return true;
}

void journaling_write_later(struct journaling *journaling)
{
    require(journaling->note_count <= NOTES_MAX, "not more records wait than allowed");
    if (journaling->note_count > 0 && !journaling->is_waiting) {
        journaling->is_waiting = true;
        loop_timer_start(journaling->timer, NOTES_MS);
    }
}

static void journaling_on_timer(void *context)
{
    struct journaling *journaling = context;
    journaling->is_waiting = false;
    (void)!journaling_write(journaling, NULL, NULL);
}

void journaling_init(struct journaling *journaling)
{
    journaling->retention = retention_make();
    arena_init(&journaling->notes_memory);
    journaling->timer = loop_timer_new(journaling->loop, journaling_on_timer, journaling);
    journaling->time_base_ms = journal_time_base(journaling->journal, loop_clock(journaling->loop),
                                                 journaling->scratch);
}

void journaling_clear(struct journaling *journaling)
{
    (void)!journaling_write(journaling, NULL, NULL);
    loop_timer_free(journaling->timer);
    arena_clear(&journaling->notes_memory);
}

/* ---- facts ---- */

static bool journaling_is_listed(struct journaling *journaling, const char *fact, struct str holder)
{
    struct str rest = STR("");
    struct err err;
    if (!journal_get(journaling->journal, fact, journaling->scratch, &rest, &err)) {
        return false;
    }
    while (rest.len > 0) {
        if (str_eq(str_cut(&rest, '\n'), holder)) {
            return true;
        }
    }
    return false;
}

bool journaling_knows_holder(struct journaling *journaling, struct str holder)
{
    return journaling_is_listed(journaling, "holders", holder) ||
           journaling_is_listed(journaling, "down_holder", holder);
}

/* Keeps earlier holders: a process may be killed between this record and taking the lease. */
static bool write_holder(struct controller *owner, void *context, struct err *err)
{
    enum { HOLDERS_BYTES_MAX = 4096 };
    struct journaling *journaling = context;
    struct str known = STR("");
    (void)owner;
    if (!journal_time_write(journaling->journal, journaling->time_base_ms, journaling->scratch,
                            err)) {
        return false;
    }
    if (journaling_is_listed(journaling, "holders", journaling->setup->holder)) {
        return true;
    }
    if (!journal_get(journaling->journal, "holders", journaling->scratch, &known, err) ||
        !trim(journaling, err)) {
        return false;
    }
    known = known.len > 0 ? str_sub(known, 0, HOLDERS_BYTES_MAX) : STR("");
    struct str all = arena_printf(journaling->scratch, "%.*s\n%.*s",
                                  STR_ARG(journaling->setup->holder), STR_ARG(known));
    return journal_set(journaling->journal, "holders", all, err);
}

/* A cluster that was deleted and created again under the same name is a different cluster. The
 * provider saw no live instance of the old one (provider.h), and journaling_accepts_uid() checked
 * that none can still appear. */
static bool meet_cluster(struct journaling *journaling, struct str uid, struct err *err)
{
    struct str known;
    if (!journal_get(journaling->journal, "uid", journaling->scratch, &known, err)) {
        return false;
    }
    if (known.len > 0 && !str_eq(known, uid) &&
        (!journal_forget(journaling->journal, err) || !write_holder(NULL, journaling, err))) {
        return false;
    }
    return journal_set(journaling->journal, "uid", uid, err);
}

static int64_t journaling_age_of(const struct journaling *journaling, int64_t wall_ms)
{
    int64_t age = controller_time_ms(journaling->controller) - wall_ms;
    return age > 0 ? age : 0; /* after a reboot the clock may be behind */
}

struct recent {
    const struct journaling *journaling;
    size_t count;
};

static void count_recent(void *context, const struct journal_intent *intent)
{
    struct recent *recent = context;
    const struct core_times *times = &recent->journaling->settings->times;
    bool is_young = journaling_age_of(recent->journaling, intent->wall_ms) <=
                    times->horizon + times->call_timeout;
    bool may_have_made = !intent->is_settled || intent->outcome == OUTCOME_DONE;
    recent->count += is_young && may_have_made;
}

bool journaling_accepts_uid(struct journaling *journaling, struct str uid)
{
    struct provider_answer answer = {.outcome = OUTCOME_UNKNOWN};
    struct recent recent = {.journaling = journaling};
    struct str known;
    if (!journal_get(journaling->journal, "uid", journaling->scratch, &known, &answer.err) ||
        !journal_intents(journaling->journal, count_recent, &recent, &answer.err)) {
        notify_warning(journaling->notifier, &answer, "the journal cannot be read: %s",
                       answer.err.text);
        return false;
    }
    if (known.len == 0 || str_eq(known, uid) || recent.count == 0) {
        return true;
    }
    (void)err_set(&answer.err, ERR_EXISTS,
                  "the lease object belongs to another cluster with this name (shoal-cluster-uid "
                  "%.*s), but this machine has just launched instances for the previous cluster "
                  "(%.*s), and the cloud may not list them yet; run the command again in a few "
                  "minutes",
                  STR_ARG(uid), STR_ARG(known));
    notify_warning(journaling->notifier, &answer, "%s", answer.err.text);
    return false;
}

struct lease_record {
    struct journaling *journaling;
    const struct cluster_lease *lease;
};

static bool write_lease(struct controller *owner, void *context, struct err *err)
{
    const struct lease_record *record = context;
    struct journaling *journaling = record->journaling;
    const struct cluster_lease *lease = record->lease;
    uint64_t epoch;
    uint64_t sole_writer_epoch;
    uint64_t since;
    uint64_t head;
    (void)owner;
    if (!meet_cluster(journaling, lease->uid, err) ||
        !offering_migrate(journaling->journal, journaling->settings, journaling->scratch, err) ||
        !journal_number(journaling->journal, STR("head"), &head, err) ||
        !journal_get_number(journaling->journal, "epoch", &epoch, err) ||
        !journal_get_number(journaling->journal, "sole_writer_epoch", &sole_writer_epoch, err) ||
        !journal_get_number(journaling->journal, "sole_writer_since", &since, err)) {
        return false;
    }
    if (head != HEAD_INSTANCE) {
        return err_set(err, ERR_INTERNAL, "the first instance in the journal is not the head");
    }
    if (epoch == 0 || (lease->epoch != epoch && lease->epoch != epoch + 1)) {
        sole_writer_epoch = lease->epoch; /* the first lease, or it was lost in between */
        since = (uint64_t)controller_time_ms(journaling->controller);
    }
    journaling->sole_writer_epoch = sole_writer_epoch;
    journaling->sole_writer_since = loop_now_ms(journaling->loop) -
                                    journaling_age_of(journaling, (int64_t)since);
    require(journaling->sole_writer_since <= loop_now_ms(journaling->loop),
            "no other process wrote since a time in the past");
    return journal_set_number(journaling->journal, "epoch", lease->epoch, err) &&
           journal_set_number(journaling->journal, "sole_writer_epoch", sole_writer_epoch, err) &&
           journal_set_number(journaling->journal, "sole_writer_since", since, err);
}

bool journaling_record_lease(struct journaling *journaling, const struct cluster_lease *lease)
{
    struct lease_record record = {journaling, lease};
    return journaling_write(journaling, write_lease, &record);
}

static bool write_emptied(struct controller *owner, void *context, struct err *err)
{
    const struct journaling *journaling = context;
    (void)owner;
    return journal_set_number(journaling->journal, "sole_writer_since", 0, err);
}

void journaling_record_empty(struct journaling *journaling)
{
    (void)!journaling_write(journaling, write_emptied, journaling);
}

bool journaling_add_holder(struct journaling *journaling)
{
    return journaling_write(journaling, write_holder, journaling);
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
    struct journaling *journaling;
    struct played *launches;
    size_t launch_count, launch_capacity;
    struct journal_launched *machines;
    size_t machine_count, machine_capacity;
};

static void journaling_take_intent(void *context, const struct journal_intent *intent)
{
    struct play *play = context;
    int64_t age = journaling_age_of(play->journaling, intent->wall_ms);
    /* An open launch has no age limit: only its result or a listing settles it. */
    if (!launch_is_cores(intent->launch) || (intent->is_settled && age > KEEP_RECORDS_MS)) {
        return;
    }
    reuse_claim_written(play->journaling->reuser, intent);
    ARENA_PUSH(play->journaling->scratch, play->launches, play->launch_count,
               play->launch_capacity) = (struct played){
        intent->launch, intent->offering, intent->count, age, intent->is_settled, intent->outcome};
}

static void journaling_take_launched(void *context, const struct journal_launched *launched)
{
    struct play *play = context;
    ARENA_PUSH(play->journaling->scratch, play->machines, play->machine_count,
               play->machine_capacity) = *launched;
}

/* Time since its last call that is known to have taken effect: a launch may be repeated long after
 * it was recorded. */
static int64_t age_of_effect(const struct play *play, const struct played *launch)
{
    int64_t age = launch->age_ms;
    for (size_t i = 0; i < play->machine_count; i++) {
        if (play->machines[i].launch == launch->launch) {
            int64_t own = journaling_age_of(play->journaling, play->machines[i].wall_ms);
            age = own < age ? own : age;
        }
    }
    return age;
}

static void play_machines(struct play *play, const struct played *launch, size_t *ret_count)
{
    struct journaling *journaling = play->journaling;
    *ret_count = 0;
    for (size_t i = 0; i < play->machine_count; i++) {
        const struct journal_launched *machine = &play->machines[i];
        if (machine->launch == launch->launch) {
            struct event event = controller_event(journaling->controller, EVENT_LAUNCHED);
            event.at -= journaling_age_of(journaling, machine->wall_ms);
            event.launched.launch = launch->launch;
            event.launched.instance = machine->instance;
            controller_apply(journaling->controller, &event);
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
    struct journaling *journaling = play->journaling;
    const struct core_times *times = &journaling->settings->times;
    size_t machines;
    bool is_fresh = age_of_effect(play, launch) <= times->horizon + times->call_timeout;
    if (launch->is_settled && launch->outcome == OUTCOME_DONE && !is_fresh) {
        return; /* a listing shows all of its machines */
    }
    struct event event = controller_event(journaling->controller, EVENT_INTENT);
    event.at -= launch->age_ms;
    event.intent.launch = launch->launch;
    event.intent.offering = launch->offering;
    event.intent.count = launch->count;
    controller_apply(journaling->controller, &event);
    play_machines(play, launch, &machines);
    bool is_handed_over = launch->outcome == OUTCOME_DONE && machines == 0 && is_fresh;
    if (launch->is_settled && !is_handed_over) {
        event = controller_event(journaling->controller, EVENT_LAUNCH_REPLY);
        event.at -= launch->age_ms;
        event.launch_reply.launch = launch->launch;
        event.launch_reply.outcome = launch->outcome;
        controller_apply(journaling->controller, &event);
    } else {
        launching_open(journaling->controller, launch->launch,
                       loop_now_ms(journaling->loop) + times->call_timeout);
    }
}

bool journaling_replay(struct journaling *journaling)
{
    struct play play = {.journaling = journaling};
    struct provider_answer answer = {.outcome = OUTCOME_UNKNOWN};
    if (!journal_intents(journaling->journal, journaling_take_intent, &play, &answer.err) ||
        !journal_all_launched(journaling->journal, journaling_take_launched, &play, &answer.err)) {
        notify_warning(journaling->notifier, &answer, "the journal cannot be read: %s",
                       answer.err.text);
        return false;
    }
    for (size_t i = 0; i < play.launch_count; i++) {
        play_launch(&play, &play.launches[i]);
    }
    return true;
}
