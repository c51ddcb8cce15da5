/* rules.c: what every provider must keep, one line each. */
#include "conform.h"

#include "base/panic.h"
#include "provider/launch_token.h"

#include <string.h>

enum {
    LEASE_MS = 300 * 1000,
    SMALL = 3,  /* machines of a launch */
    LARGE = 12, /* more than a page, if the page was made small */
    SIGHT_MS = 30 * 1000,
    LATE_LEASE_MS = 15 * 1000, /* shorter than the limits of single calls */
    LATE_TRIES = 12,
};

struct trial {
    const struct options *options;
    struct cloud cloud;
    struct provider *one, *two; /* two processes of one user */
    struct str uid;
    uint64_t epoch;
    uint32_t launches;
    int failures;
};

/* ---- saying it ---- */

static bool rule(struct trial *trial, const char *name, bool holds, const struct told *told)
{
    const char *why = told && told->err.kind != ERR_NONE ? told->err.text : "";
    printf("%s %s%s%s\n", holds ? "ok  " : "FAIL", name, holds || !*why ? "" : ": ",
           holds ? "" : why);
    fflush(stdout);
    trial->failures += !holds;
    return holds;
}

/* A rule that this provider cannot keep, and why. */
static void without(const char *name, const char *why)
{
    printf("none %s: %s\n", name, why);
}

static bool is_done(const struct told *told)
{
    return told->outcome == OUTCOME_DONE;
}

static uint64_t next_launch(struct trial *trial)
{
    return trial->epoch << 32 | ++trial->launches;
}

/* ---- comparing ---- */

static const struct machine *find(const struct told *list, struct str id)
{
    for (size_t i = 0; i < list->count; i++) {
        if (str_eq(list->machines[i].id, id)) {
            return &list->machines[i];
        }
    }
    return NULL;
}

static bool same_machines(const struct told *a, const struct told *b)
{
    bool same = a->count == b->count;
    for (size_t i = 0; i < a->count && same; i++) {
        same = find(b, a->machines[i].id) != NULL;
    }
    return same;
}

static bool no_twins(const struct told *list)
{
    for (size_t i = 0; i < list->count; i++) {
        if (find(list, list->machines[i].id) != &list->machines[i]) {
            return false;
        }
    }
    return true;
}

static size_t live_count(const struct told *list)
{
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++) {
        count += is_live(&list->machines[i]);
    }
    return count;
}

static struct str *ids_of(struct trial *trial, const struct told *list)
{
    struct str *ids = ARENA_ARRAY(&trial->cloud.arena, list->count + 1, struct str);
    for (size_t i = 0; i < list->count; i++) {
        ids[i] = list->machines[i].id;
    }
    return ids;
}

/* A listing in which all of `wanted` are seen; what was launched a moment ago may take a while. */
static struct told list_with(struct trial *trial, struct provider *provider,
                             const struct told *wanted)
{
    struct told list;
    int64_t end = loop_now_ms(trial->cloud.loop) + SIGHT_MS;
    for (;;) {
        list = do_list(&trial->cloud, provider);
        bool has_all = is_done(&list);
        for (size_t i = 0; i < wanted->count && has_all; i++) {
            has_all = find(&list, wanted->machines[i].id) != NULL;
        }
        if (has_all || loop_now_ms(trial->cloud.loop) > end) {
            return list;
        }
        sleep_ms(&trial->cloud, 100);
    }
}

static bool wait_state(struct trial *trial, struct str id, enum machine_state state)
{
    int64_t end = loop_now_ms(trial->cloud.loop) + SIGHT_MS;
    for (;;) {
        struct told list = do_list(&trial->cloud, trial->one);
        const struct machine *machine = is_done(&list) ? find(&list, id) : NULL;
        if (machine && machine->state == state) {
            return true;
        }
        if (loop_now_ms(trial->cloud.loop) > end) {
            return false;
        }
        sleep_ms(&trial->cloud, 100);
    }
}

/* ---- the lease ---- */

static void try_first_taking(struct trial *trial)
{
    struct cloud *cloud = &trial->cloud;
    struct told list = do_list(cloud, trial->one);
    rule(trial, "a cluster that nobody has taken has no machines",
         is_done(&list) && list.count == 0, &list);

    struct told one = {.cloud = cloud};
    struct told two = {.cloud = cloud};
    struct take_request request = {
        .holder = STR("one"), .lease_ms = LEASE_MS, .is_new = true, .may_create = true};
    trial->one->ops->take(trial->one, &request, tell_lease, &one);
    request.holder = STR("two");
    trial->two->ops->take(trial->two, &request, tell_lease, &two);
    await(cloud, &one);
    two.is_done ? (void)0 : await(cloud, &two);
    /* A taking that ended uncertain is taken up again by the same process. */
    one = one.outcome == OUTCOME_UNKNOWN || one.outcome == OUTCOME_THROTTLED
              ? do_take_new(cloud, trial->one, "one", LEASE_MS)
              : one;
    two = two.outcome == OUTCOME_UNKNOWN || two.outcome == OUTCOME_THROTTLED
              ? do_take(cloud, trial->two, "two", LEASE_MS, 0)
              : two;
    bool one_won = is_done(&one) && two.outcome == OUTCOME_MISMATCH;
    bool two_won = is_done(&two) && one.outcome == OUTCOME_MISMATCH;
    rule(trial, "of two who take at once one wins", one_won != two_won,
         is_done(&one) ? &two : &one);
    rule(trial, "both know the same uid",
         one.has_lease && two.has_lease && one.lease.uid.len == 32 &&
             str_eq(one.lease.uid, two.lease.uid),
         NULL);
    rule(trial, "the loser hears who has it",
         one_won ? str_is(two.lease.holder, "one") : str_is(one.lease.holder, "two"), NULL);
    if (two_won) {
        struct provider *winner = trial->two;
        trial->two = trial->one;
        trial->one = winner;
    }
    trial->uid = one.lease.uid;
    trial->epoch = (one_won ? one : two).lease.epoch;
}

/* The holder hands the lease over by sending what it knows, and acts no more. */
static void try_handing_over(struct trial *trial, const struct cluster_lease *lease)
{
    struct cloud *cloud = &trial->cloud;
    struct told told = do_take_handed(cloud, trial->one, "one", LEASE_MS, lease);
    rule(trial, "a lease that was handed over is taken under a new number",
         is_done(&told) && told.lease.epoch > lease->epoch && str_eq(told.lease.uid, trial->uid),
         &told);
    uint64_t taken_by = told.lease.epoch;
    told = do_take_handed(cloud, trial->two, "two", LEASE_MS, lease);
    rule(trial, "and by one only",
         told.outcome == OUTCOME_MISMATCH && told.lease.epoch == taken_by &&
             str_is(told.lease.holder, "one"),
         &told);
    told = do_renew(cloud, trial->two, LEASE_MS);
    rule(trial, "who handed it over has it no more", told.outcome == OUTCOME_MISMATCH, &told);
    told = do_renew(cloud, trial->one, LEASE_MS);
    rule(trial, "who took it renews it", is_done(&told) && told.lease.epoch == taken_by, &told);
    struct cluster_lease other = told.lease;
    other.lease_object = STR("lt-0123456789abcdef0");
    told = do_take_handed(cloud, trial->two, "two", LEASE_MS, &other);
    rule(trial, "one of an anchor that is gone is looked for",
         is_done(&told) && told.lease.epoch > taken_by, &told);
}

static void try_lease(struct trial *trial)
{
    struct cloud *cloud = &trial->cloud;
    struct told told = do_renew(cloud, trial->one, LEASE_MS);
    rule(trial, "the holder renews", is_done(&told) && told.lease.epoch == trial->epoch, &told);
    told = do_take(cloud, trial->two, "two", LEASE_MS, 0);
    rule(trial, "a held lease is not given", told.outcome == OUTCOME_MISMATCH, &told);
    told = do_take(cloud, trial->two, "two", LEASE_MS, trial->epoch + 77);
    rule(trial, "nor broken with a wrong number", told.outcome == OUTCOME_MISMATCH, &told);
    told = do_take(cloud, trial->two, "two", LEASE_MS, trial->epoch);
    rule(trial, "it can be broken, and epochs grow",
         is_done(&told) && told.lease.epoch > trial->epoch, &told);
    uint64_t broken_by = told.lease.epoch;
    told = do_renew(cloud, trial->one, LEASE_MS);
    rule(trial, "who was thrown out notices it when renewing",
         told.outcome == OUTCOME_MISMATCH && told.lease.epoch == broken_by, &told);
    told = do_renew(cloud, trial->two, LEASE_MS);
    rule(trial, "who has thrown him out still has it", is_done(&told), &told);
    struct cluster_lease lease = told.lease;
    try_handing_over(trial, &lease);
    told = do_release(cloud, trial->two);
    rule(trial, "it can be given back", is_done(&told), &told);
    told = do_take(cloud, trial->one, trial->options->holder, LEASE_MS, 0);
    rule(trial, "then anybody can have it at once, under a new number",
         is_done(&told) && told.lease.epoch > broken_by && str_eq(told.lease.uid, trial->uid),
         &told);
    trial->epoch = told.lease.epoch;
}

/* From now on this one holds the lease, and may create. The other learns that when it renews. */
static void give_to(struct trial *trial, struct provider *provider)
{
    const char *holder = provider == trial->two ? "two" : trial->options->holder;
    struct told told = do_take(&trial->cloud, provider, holder, LEASE_MS, trial->epoch);
    rule(trial, "the lease changes hands", is_done(&told), &told);
    trial->epoch = told.lease.epoch;
    told = do_renew(&trial->cloud, provider == trial->two ? trial->one : trial->two, LEASE_MS);
    rule(trial, "and the other has it no more", told.outcome == OUTCOME_MISMATCH, &told);
}

/* ---- things ---- */

static bool same_things(const struct told *a, const struct told *b)
{
    bool same = a->count == b->count && a->count > 0;
    for (size_t i = 0; i < a->count && same; i++) {
        same = str_eq(a->things[i].id, b->things[i].id) &&
               str_eq(a->things[i].kind, b->things[i].kind);
    }
    return same;
}

static void try_prepare(struct trial *trial)
{
    struct cloud *cloud = &trial->cloud;
    struct told first = do_prepare(cloud, trial->one, trial->options->key);
    rule(trial, "what is missing is made", is_done(&first) && first.count > 0, &first);
    struct told second = do_prepare(cloud, trial->one, trial->options->key);
    rule(trial, "making it twice gives the same things", same_things(&first, &second), &second);
    give_to(trial, trial->two);
    second = do_prepare(cloud, trial->two, trial->options->key);
    rule(trial, "also when another process does it", same_things(&first, &second), &second);
    give_to(trial, trial->one);
    struct told list = do_list(cloud, trial->one);
    rule(trial, "there are no machines yet", is_done(&list) && list.count == 0, &list);
}

/* ---- machines ---- */

/* Its role was made a moment ago, and not all of the cloud may know it yet. */
static void try_head(struct trial *trial)
{
    struct cloud *cloud = &trial->cloud;
    struct str call = make_draft(cloud, trial->one, TYPE_HEAD, trial->options->zones[0],
                                 MARKET_ON_DEMAND, 1, trial->uid, next_launch(trial));
    struct told made = do_launch(cloud, trial->one, call);
    rule(trial, "a head can be launched as soon as its role is made",
         is_done(&made) && made.count == 1 &&
             str_is(tag_of(&made.machines[0], "ray-node-type"), "head"),
         &made);
    /* Clouds that would terminate it have that word in the call. */
    rule(trial, "a head that is shut down from inside keeps its disk",
         str_find(call, "terminate") == SIZE_MAX, &made);
}

static bool bears_tags(const struct trial *trial, const struct machine *machine, uint64_t launch)
{
    uint64_t number = 0;
    return str_eq(tag_of(machine, TAG_CLUSTER_UID), trial->uid) &&
           launch_number_parse(tag_of(machine, TAG_LAUNCH), &number) && number == launch &&
           str_eq(tag_of(machine, "ray-cluster-name"), trial->cloud.cluster.name) &&
           str_is(tag_of(machine, "ray-node-name"), "ray-conform") &&
           str_is(tag_of(machine, "ray-node-type"), "worker");
}

static struct told try_launch(struct trial *trial, enum market market, const char *zone,
                              int64_t count, const char *what)
{
    struct cloud *cloud = &trial->cloud;
    char name[100];
    bool is_plain = cloud_is_own(trial->options) || trial->options->is_plain;
    uint64_t launch = next_launch(trial);
    struct str call = make_draft(cloud, trial->one, TYPE_WORKER, zone, market, count, trial->uid,
                                 launch);
    struct str same = make_draft(cloud, trial->one, TYPE_WORKER, zone, market, count, trial->uid,
                                 launch);
    snprintf(name, sizeof(name), "%s: the same request is the same call", what);
    rule(trial, name, str_eq(call, same), NULL);
    struct told made = do_launch(cloud, trial->one, call);
    bool fits = is_done(&made) && made.count == (size_t)count && no_twins(&made);
    for (size_t i = 0; i < made.count && fits; i++) {
        fits = is_live(&made.machines[i]) && bears_tags(trial, &made.machines[i], launch) &&
               (is_plain ||
                (str_is(made.machines[i].zone, zone) && made.machines[i].market == market)) &&
               str_eq(made.machines[i].token, launch_token(trial->uid, launch, &cloud->arena));
    }
    snprintf(name, sizeof(name), "%s: as many as asked for, tagged, where asked for", what);
    rule(trial, name, fits, &made);
    struct told again = do_launch(cloud, trial->one, call);
    snprintf(name, sizeof(name), "%s: the same call again gives the same machines", what);
    rule(trial, name, is_done(&again) && same_machines(&made, &again), &again);
    again = do_launch(cloud, trial->two, call);
    snprintf(name, sizeof(name), "%s: who does not hold the lease launches nothing", what);
    rule(trial, name, again.outcome == OUTCOME_NO_LEASE, &again);
    give_to(trial, trial->two);
    again = do_launch(cloud, trial->two, call);
    give_to(trial, trial->one);
    snprintf(name, sizeof(name), "%s: also when another process makes it", what);
    rule(trial, name, is_done(&again) && same_machines(&made, &again), &again);
    struct str other = make_draft(cloud, trial->one, TYPE_WORKER, zone, market, count + 1,
                                  trial->uid, launch);
    again = do_launch(cloud, trial->one, other);
    snprintf(name, sizeof(name), "%s: another call with its token is refused", what);
    rule(trial, name, again.outcome == OUTCOME_MISMATCH, &again);
    struct told list = list_with(trial, trial->two, &made);
    fits = is_done(&list) && no_twins(&list);
    for (size_t i = 0; i < made.count && fits; i++) {
        const struct machine *machine = find(&list, made.machines[i].id);
        fits = machine && bears_tags(trial, machine, launch);
    }
    snprintf(name, sizeof(name), "%s: listed with their tags from the first sight on", what);
    rule(trial, name, fits, &list);
    return made;
}

/* A command that only looks. */
static void try_looking(struct trial *trial, const struct told *made)
{
    struct provider *three = cloud_provider(&trial->cloud, trial->options);
    struct told list = list_with(trial, three, made);
    bool has_all = is_done(&list) && made->count > 0;
    for (size_t i = 0; i < made->count && has_all; i++) {
        has_all = find(&list, made->machines[i].id) != NULL;
    }
    rule(trial, "who never took the lease sees the machines", has_all, &list);
    three->ops->close(three);
}

static void try_partial(struct trial *trial)
{
    struct cloud *cloud = &trial->cloud;
    const char *zone = trial->options->zones[1];
    struct str call = make_draft(cloud, trial->one, TYPE_SCARCE, zone, MARKET_ON_DEMAND, LARGE,
                                 trial->uid, next_launch(trial));
    struct told made = do_launch(cloud, trial->one, call);
    rule(trial, "of a kind that is scarce come as many as there are",
         is_done(&made) && made.count > 0 && made.count < LARGE, &made);
    struct told all = made;
    struct told again = do_launch(cloud, trial->one, call);
    rule(trial, "and no more when it is asked again",
         is_done(&again) && same_machines(&made, &again), &again);
    call = make_draft(cloud, trial->one, TYPE_SCARCE, zone, MARKET_ON_DEMAND, 1, trial->uid,
                      next_launch(trial));
    made = do_launch(cloud, trial->one, call);
    rule(trial, "when there are none it is said", made.outcome == OUTCOME_CAPACITY, &made);
    if (cloud_is_own(trial->options)) { /* the hosts are needed again */
        made = do_change(cloud, trial->one, "terminate", ids_of(trial, &all), all.count);
        rule(trial, "hosts are freed", is_done(&made), &made);
    }
}

static void try_ending(struct trial *trial)
{
    struct cloud *cloud = &trial->cloud;
    uint64_t launch = next_launch(trial);
    struct str call = make_draft(cloud, trial->one, TYPE_WORKER, trial->options->zones[0],
                                 MARKET_ON_DEMAND, SMALL, trial->uid, launch);
    struct told made = do_launch(cloud, trial->one, call);
    struct str *ids = ids_of(trial, &made);
    (void)list_with(trial, trial->one, &made);
    struct told told = do_change(cloud, trial->one, "terminate", ids, made.count);
    rule(trial, "machines end", is_done(&told), &told);
    told = do_change(cloud, trial->one, "terminate", ids, made.count);
    rule(trial, "ending them twice is no error", is_done(&told), &told);
    told = do_change(cloud, trial->two, "terminate", ids, made.count);
    rule(trial, "nor by another process", is_done(&told), &told);
    told = do_launch(cloud, trial->one, call);
    rule(trial, "a launch whose machines have ended does not make them again",
         is_done(&told) && live_count(&told) == 0, &told);
    bool gone = true;
    for (size_t i = 0; i < made.count && gone; i++) {
        gone = wait_state(trial, ids[i], MACHINE_GONE);
    }
    rule(trial, "in the end they are listed as gone", gone, NULL);
    told = do_launch(cloud, trial->one, call);
    rule(trial, "not even then", is_done(&told) && live_count(&told) == 0, &told);
}

/* ---- at the end of the lease ---- */

enum late { LATE_UNSENT, LATE_LOST, LATE_ANSWERED, LATE_BEFORE };

static bool has_token(const struct told *list, struct str token)
{
    for (size_t i = 0; i < list->count; i++) {
        if (is_live(&list->machines[i]) && str_eq(list->machines[i].token, token)) {
            return true;
        }
    }
    return false;
}

/* Launches, and ends the lease at `at`: was that before the answer? */
static bool launch_until(struct trial *trial, struct str call, int64_t at, struct told *late)
{
    struct cloud *cloud = &trial->cloud;
    bool is_own = cloud_is_own(trial->options);
    own_hosts_jump_after(is_own ? at : 0, LATE_LEASE_MS);
    trial->one->ops->launch(trial->one, call, tell_machines, late);
    if (is_own) {
        await(cloud, late);
        if (own_hosts_have_jumped()) {
            return true;
        }
        own_hosts_jump_after(0, 0);
    } else {
        sleep_ms(cloud, at);
    }
    bool is_late = !late->is_done;
    cloud_jump(LATE_LEASE_MS);
    if (is_late) {
        await(cloud, late);
    }
    return is_late;
}

/* The lease of one ends when a launch has come to `at`; then two takes over and repeats it. `at` is
 * a time in milliseconds; with own hosts it is a number of scripts, because their time depends on
 * the load of this machine. */
static enum late launch_late(struct trial *trial, int64_t at)
{
    struct cloud *cloud = &trial->cloud;
    struct told told = do_take(cloud, trial->one, trial->options->holder, LATE_LEASE_MS,
                               trial->epoch);
    rule(trial, "a short lease is taken", is_done(&told), &told);
    trial->epoch = told.lease.epoch;
    uint64_t launch = next_launch(trial);
    struct str call = make_draft(cloud, trial->one, TYPE_WORKER, trial->options->zones[0],
                                 MARKET_ON_DEMAND, SMALL, trial->uid, launch);
    struct told late = {.cloud = cloud};
    enum late when = LATE_BEFORE;
    if (launch_until(trial, call, at, &late)) {
        when = late.outcome == OUTCOME_NO_LEASE ? LATE_UNSENT
               : is_done(&late)                 ? LATE_ANSWERED
                                                : LATE_LOST;
    }
    give_to(trial, trial->two);
    struct told list = do_list(cloud, trial->two);
    rule(trial, "what was not sent for want of the lease has no effect",
         is_done(&list) && (when != LATE_UNSENT ||
                            !has_token(&list, launch_token(trial->uid, launch, &cloud->arena))),
         &late);
    told = do_launch(cloud, trial->two, call);
    rule(trial, "a launch answered after the end of the lease terminates nothing",
         is_done(&told) && live_count(&told) == SMALL &&
             (!is_done(&late) || same_machines(&late, &told)),
         is_done(&told) ? &late : &told);
    (void)list_with(trial, trial->two, &told);
    list = do_change(cloud, trial->two, "terminate", ids_of(trial, &told), told.count);
    rule(trial, "the next holder terminates its instances", is_done(&list), &list);
    give_to(trial, trial->one);
    return when;
}

/* These look for the moment between sending and answer. Of scripts it is the last one. */
static enum late search_scripts(struct trial *trial)
{
    enum late when = LATE_UNSENT;
    for (int64_t at = 1; at <= LATE_TRIES && when != LATE_ANSWERED && when != LATE_BEFORE; at++) {
        when = launch_late(trial, at);
    }
    return when;
}

static enum late search_ms(struct trial *trial, int64_t later)
{
    enum late when = LATE_BEFORE;
    int64_t sooner = 0;
    for (int i = 0; i < LATE_TRIES && when != LATE_ANSWERED; i++) {
        int64_t at = sooner + (later - sooner) * 2 / 3;
        when = launch_late(trial, at);
        sooner = when == LATE_UNSENT ? at : sooner;
        later = when == LATE_BEFORE ? at : later;
    }
    return when;
}

static void try_late(struct trial *trial)
{
    struct cloud *cloud = &trial->cloud;
    int64_t since = loop_now_ms(cloud->loop);
    struct str call = make_draft(cloud, trial->one, TYPE_WORKER, trial->options->zones[0],
                                 MARKET_ON_DEMAND, SMALL, trial->uid, next_launch(trial));
    struct told told = do_launch(cloud, trial->one, call);
    int64_t took_ms = loop_now_ms(cloud->loop) - since;
    (void)list_with(trial, trial->one, &told);
    told = do_change(cloud, trial->one, "terminate", ids_of(trial, &told), told.count);
    rule(trial, "a launch in time is ended", is_done(&told), &told);
    enum late when = cloud_is_own(trial->options) ? search_scripts(trial)
                                                  : search_ms(trial, took_ms);
    if (when == LATE_ANSWERED) {
        rule(trial, "a launch was answered after the end of the lease", true, NULL);
    } else {
        without("a launch was answered after the end of the lease", "the cloud is too fast");
    }
}

static void try_unknown(struct trial *trial, struct str known)
{
    struct cloud *cloud = &trial->cloud;
    struct str ids[] = {STR("i-0123456789abcdef0"), known};
    struct told told = do_change(cloud, trial->one, "tag", ids, 2);
    rule(trial, "of machines that are unknown it is said", told.outcome == OUTCOME_NOT_FOUND,
         &told);
    struct told list = do_list(cloud, trial->one);
    const struct machine *machine = find(&list, known);
    rule(trial, "and the known ones are served",
         machine && str_is(tag_of(machine, "ray-node-status"), "up-to-date"), &list);
    told = do_change(cloud, trial->one, "terminate", ids, 2);
    rule(trial, "also when they are ended", told.outcome == OUTCOME_NOT_FOUND, &told);
    rule(trial, "the known one ends", wait_state(trial, known, MACHINE_GONE), NULL);
    told = do_change(cloud, trial->one, "terminate", ids, 0);
    rule(trial, "nothing to end is nothing to fail", is_done(&told), &told);
}

static void try_stopping(struct trial *trial, struct str id)
{
    struct cloud *cloud = &trial->cloud;
    rule(trial, "a machine runs", wait_state(trial, id, MACHINE_RUNNING), NULL);
    struct told told = do_change(cloud, trial->one, "stop", &id, 1);
    if (cloud_is_own(trial->options) || trial->options->is_plain) {
        rule(trial, "machines that cannot be stopped are not", told.outcome == OUTCOME_INVALID,
             &told);
        without("a machine stops and starts", "the machines keep running");
        without("zones and spot instances", "there are neither");
        return;
    }
    rule(trial, "it stops", is_done(&told) && wait_state(trial, id, MACHINE_STOPPED), &told);
    told = do_change(cloud, trial->one, "start", &id, 1);
    rule(trial, "it starts again", is_done(&told) && wait_state(trial, id, MACHINE_RUNNING), &told);
}

static void try_foreign(struct trial *trial)
{
    struct str id = str_from(trial->options->foreign);
    static const char *const verbs[] = {"tag", "terminate", "stop"};
    char name[100];
    if (id.len == 0) {
        return;
    }
    bool cannot_stop = cloud_is_own(trial->options) || trial->options->is_plain;
    size_t count = ARRAY_LEN(verbs) - cannot_stop;
    for (size_t i = 0; i < count; i++) {
        struct told told = do_change(&trial->cloud, trial->one, verbs[i], &id, 1);
        snprintf(name, sizeof(name), "%s does not touch a machine of somebody else", verbs[i]);
        rule(trial, name, told.outcome == OUTCOME_NOT_FOUND, &told);
    }
    struct told list = do_list(&trial->cloud, trial->one);
    rule(trial, "nor is it listed", is_done(&list) && !find(&list, id), &list);
}

/* ---- the end ---- */

static void try_removing(struct trial *trial)
{
    struct cloud *cloud = &trial->cloud;
    struct told told = do_remove(cloud, trial->one);
    bool tells = is_done(&told) && told.count > 0;
    for (size_t i = 0; i < told.count && tells; i++) {
        tells = str_is(told.things[i].kind, "instance");
    }
    rule(trial, "with machines nothing is removed, and they are told", tells, &told);
    struct told list = do_list(cloud, trial->one);
    told = do_change(cloud, trial->one, "terminate", ids_of(trial, &list), list.count);
    rule(trial, "all machines end", is_done(&told) || told.outcome == OUTCOME_NOT_FOUND, &told);
    told = do_remove(cloud, trial->one);
    rule(trial, "then all is removed", is_done(&told) && told.count == 0, &told);
    for (size_t i = 0; i < told.count; i++) {
        printf("left %.*s %.*s %.*s\n", STR_ARG(told.things[i].kind), STR_ARG(told.things[i].id),
               STR_ARG(told.things[i].note));
    }
    told = do_remove(cloud, trial->two);
    rule(trial, "removing it again finds nothing", is_done(&told) && told.count == 0, &told);
    struct told renewed = do_renew(cloud, trial->one, LEASE_MS);
    rule(trial, "what is removed cannot be held", renewed.outcome == OUTCOME_MISMATCH, &renewed);
    told = do_take(cloud, trial->two, "two", LEASE_MS, 0);
    rule(trial, "a cluster of the same name is another one",
         is_done(&told) && !str_eq(told.lease.uid, trial->uid), &told);
    list = do_list(cloud, trial->two);
    rule(trial, "and has no machines", is_done(&list) && list.count == 0, &list);
    told = do_remove(cloud, trial->two);
    rule(trial, "it goes as it came", is_done(&told) && told.count == 0, &told);
}

static void open_trial(struct trial *trial, const struct options *options)
{
    *trial = (struct trial){.options = options};
    cloud_open(&trial->cloud, options);
    trial->one = cloud_provider(&trial->cloud, options);
    trial->two = cloud_provider(&trial->cloud, options);
    struct told told = do_preflight(&trial->cloud, trial->one);
    rule(trial, "the cloud can be surveyed", is_done(&told), &told);
    (void)do_preflight(&trial->cloud, trial->two);
}

static int close_trial(struct trial *trial)
{
    trial->one->ops->close(trial->one);
    trial->two->ops->close(trial->two);
    cloud_close(&trial->cloud);
    printf("%s %d\n", trial->failures == 0 ? "all rules hold, failures" : "failures",
           trial->failures);
    return trial->failures == 0 ? 0 : 1;
}

int run_rules(const struct options *options)
{
    struct trial trial;
    open_trial(&trial, options);
    try_first_taking(&trial);
    try_lease(&trial);
    try_prepare(&trial);
    try_head(&trial);
    struct told plain = try_launch(&trial, MARKET_ON_DEMAND, options->zones[0], SMALL, "on demand");
    try_looking(&trial, &plain);
    (void)try_launch(&trial, MARKET_SPOT, options->zones[1], SMALL, "spot");
    (void)try_launch(&trial, MARKET_ON_DEMAND, options->zones[1], LARGE, "many");
    try_partial(&trial);
    try_ending(&trial);
    try_late(&trial);
    if (plain.count >= 2) {
        try_stopping(&trial, plain.machines[0].id);
        try_unknown(&trial, plain.machines[1].id);
    }
    try_foreign(&trial);
    try_removing(&trial);
    return close_trial(&trial);
}

int run_late(const struct options *options)
{
    struct trial trial;
    open_trial(&trial, options);
    try_first_taking(&trial);
    try_prepare(&trial);
    try_late(&trial);
    struct told told = do_remove(&trial.cloud, trial.one);
    for (int i = 0; i < LATE_TRIES && told.count > 0; i++) { /* instances that still end */
        sleep_ms(&trial.cloud, 500);
        told = do_remove(&trial.cloud, trial.one);
    }
    rule(&trial, "then all is removed", is_done(&told) && told.count == 0, &told);
    return close_trial(&trial);
}
