/* reuse.c: selects stopped machines and starts them as part of a launch. */
#include "app/control/reuse.h"

#include "app/control/inventory.h"
#include "app/control/launch_request.h"
#include "app/control/launching.h"
#include "base/require.h"
#include "io/xalloc.h"
#include "provider/launch_token.h"

#define MARK "start "

enum { WRITTEN_BYTES_MAX = 1 << 20 };

/* ---- journal format ---- */

struct str reuse_write(const struct reuse *reuse, struct arena *arena)
{
    AUTO_BUF struct buf text;
    buf_init(&text, WRITTEN_BYTES_MAX);
    for (size_t i = 0; i < reuse->count; i++) {
        buf_addf(&text, "%s%.*s", i == 0 ? MARK : " ", STR_ARG(reuse->ids[i]));
    }
    if (reuse->count > 0) {
        buf_add_char(&text, '\n');
    }
    buf_add(&text, reuse->call);
    return arena_str(arena, buf_str(&text));
}

struct reuse reuse_read(struct str written, struct arena *arena)
{
    struct str rest = written;
    struct reuse reuse = {.call = written};
    if (!str_starts(written, MARK)) {
        return reuse;
    }
    struct str line = str_cut(&rest, '\n');
    size_t line_bytes = line.len;
    struct str *ids = ARENA_ARRAY(arena, line_bytes, struct str);
    (void)str_cut(&line, ' ');
    while (line.len > 0) {
        struct str id = str_cut(&line, ' ');
        if (id.len > 0) {
            require(reuse.count < line_bytes, "each id has at least one character");
            ids[reuse.count++] = id;
        }
    }
    reuse.ids = ids;
    reuse.call = rest;
    return reuse;
}

/* ---- claims ---- */

static void claim(struct reuser *reuser, uint64_t launch, struct str id)
{
    ARENA_PUSH(reuser->life, reuser->claims, reuser->claim_count,
               reuser->claim_capacity) = (struct reuse_claim){.launch = launch,
                                                              .id = arena_str(reuser->life, id)};
}

static bool is_claimed(const struct reuser *reuser, struct str id)
{
    for (size_t i = 0; i < reuser->claim_count; i++) {
        const struct reuse_claim *there = &reuser->claims[i];
        if (str_eq(there->id, id) && (there->is_refused || !there->is_over)) {
            return true;
        }
    }
    return false;
}

void reuse_close(struct reuser *reuser, uint64_t launch)
{
    for (size_t i = 0; i < reuser->claim_count; i++) {
        struct reuse_claim *there = &reuser->claims[i];
        there->is_over = there->is_over || there->launch == launch;
    }
}

static void reuse_reject(struct reuser *reuser, uint64_t launch)
{
    for (size_t i = 0; i < reuser->claim_count; i++) {
        struct reuse_claim *there = &reuser->claims[i];
        there->is_refused = there->is_refused || there->launch == launch;
    }
}

void reuse_claim_written(struct reuser *reuser, const struct journal_intent *intent)
{
    struct reuse reuse = reuse_read(intent->call, reuser->scratch);
    for (size_t i = 0; i < reuse.count; i++) {
        claim(reuser, intent->launch, reuse.ids[i]);
        reuser->claims[reuser->claim_count - 1].is_over = intent->is_settled;
        reuser->claims[reuser->claim_count - 1].may_run = !intent->is_settled;
    }
}

/* Returns whether the machines of the launch could run before. */
static bool set_may_run(struct reuser *reuser, uint64_t launch, bool may_run)
{
    bool could_run = false;
    for (size_t i = 0; i < reuser->claim_count; i++) {
        struct reuse_claim *there = &reuser->claims[i];
        if (there->launch == launch) {
            could_run = could_run || there->may_run;
            there->may_run = may_run;
        }
    }
    return could_run;
}

static bool may_run(const struct reuser *reuser, uint64_t launch)
{
    size_t i = 0;
    while (i < reuser->claim_count &&
           (reuser->claims[i].launch != launch || !reuser->claims[i].may_run)) {
        i++;
    }
    return i < reuser->claim_count;
}

bool reuse_was_started(const struct reuser *reuser, uint64_t launch, struct str id)
{
    for (size_t i = 0; i < reuser->claim_count; i++) {
        if (reuser->claims[i].launch == launch && str_eq(reuser->claims[i].id, id)) {
            return true;
        }
    }
    return false;
}

/* ---- selection ---- */

static uint64_t epoch_of(const struct machine *machine)
{
    uint64_t number = 0;
    return launch_number_parse(machine_tag_value(machine, TAG_LAUNCH), &number) ? number >> 32 : 0;
}

/* Only a machine that was set up by this head, not an earlier one: only this head knows the host
 * key that the machine generated then. */
static bool is_known_to_head(const struct reuser *reuser, const struct machine *machine)
{
    const struct known *head = machine_table_find(reuser->machines, HEAD_INSTANCE);
    struct str status = machine_tag_value(machine, "ray-node-status");
    return head && head->machine->state < MACHINE_ENDING &&
           epoch_of(head->machine) <= epoch_of(machine) &&
           (str_is(status, "setting-up") || str_is(status, "up-to-date"));
}

static bool reuse_fits(const struct reuser *reuser, const struct known *known, uint32_t type,
                       struct str hash)
{
    const struct machine *machine = known->machine;
    return !known->is_head && machine->state == MACHINE_STOPPED && !machine->is_left &&
           machine->market == MARKET_ON_DEMAND &&
           inventory_type_of(reuser->setup->core, machine) == type &&
           str_eq(machine_tag_value(machine, "ray-launch-config"), hash) &&
           is_known_to_head(reuser, machine) && !is_claimed(reuser, machine->id);
}

size_t reuse_pick(struct reuser *reuser, const struct action *action, const struct str **ret_ids)
{
    const struct offering *offering = &reuser->offerings[action->offering];
    struct str *ids = ARENA_ARRAY(reuser->scratch, (size_t)action->count, struct str);
    struct str hash;
    struct err err;
    size_t count = 0;
    require(action->kind == ACTION_LAUNCH, "only a launch uses stopped machines");
    *ret_ids = ids;
    if (!reuser->setup->keeps_stopped || offering->market != MARKET_ON_DEMAND ||
        !launch_hash(reuser->setup->config, offering->type, reuser->scratch, &hash, &err)) {
        return 0;
    }
    for (size_t i = 0; i < reuser->machines->count && count < (size_t)action->count; i++) {
        const struct known *known = &reuser->machines->items[i];
        if (reuse_fits(reuser, known, offering->type, hash)) {
            ids[count++] = arena_str(reuser->scratch, known->machine->id);
            claim(reuser, action->launch, known->machine->id);
        }
    }
    require(reuser->claim_count >= count, "each selected machine is claimed");
    return count;
}

/* ---- execution ---- */

struct reuse_run {
    struct reuser *reuser;
    struct arena memory;
    struct reuse reuse;
    bool could_run; /* before this try */
};

static void reuse_run_free(void *extra)
{
    struct reuse_run *run = extra;
    arena_clear(&run->memory);
    free(run);
}

static struct call *begin_call(struct reuse_run *run, uint64_t launch)
{
    require(launch != 0, "the machines are started for a launch");
    struct call *call = call_begin(run->reuser->calls);
    call->launch = launch;
    call->extra = run;
    call->extra_free = reuse_run_free;
    return call;
}

/* Moves the run to the next call. */
static struct call *reuse_proceed(struct call *before)
{
    struct reuse_run *run = before->extra;
    before->extra = NULL;
    return begin_call(run, before->launch);
}

/* Started machines count as pending; the last listing of them is stale. */
static struct machine *with_started(struct reuse_run *run, const struct machine *machines,
                                    size_t *count)
{
    struct machine *all = ARENA_ARRAY(&run->memory, *count + run->reuse.count, struct machine);
    size_t all_count = 0;
    for (size_t i = 0; i < run->reuse.count; i++) {
        const struct known *known = machine_table_find_id(run->reuser->machines, run->reuse.ids[i]);
        if (known) {
            struct machine *machine = &all[all_count++];
            *machine = *known->machine;
            if (machine->state == MACHINE_STOPPED) {
                machine->state = MACHINE_PENDING;
                machine->public_ip = STR("");
            }
        }
    }
    for (size_t i = 0; i < *count; i++) {
        all[all_count++] = machines[i];
    }
    require(all_count <= *count + run->reuse.count, "the machines fit into their array");
    require(all_count >= *count, "the launched machines are among them");
    *count = all_count;
    return all;
}

/* If the rest cannot be launched, the started machines are still the result. */
static void on_rest(void *context, const struct provider_answer *answer,
                    const struct machine *machines, size_t count)
{
    struct call *call = context;
    struct controller *controller = call_end(call);
    struct provider_answer done = {.outcome = OUTCOME_DONE};
    bool is_lasting = answer->outcome == OUTCOME_CAPACITY || answer->outcome == OUTCOME_QUOTA ||
                      answer->outcome == OUTCOME_DENIED || answer->outcome == OUTCOME_INVALID;
    if (!controller) {
        return;
    }
    is_lasting = is_lasting && !launching_is_unsure(controller, call->launch);
    struct reuse_run *run = call->extra;
    count = answer->outcome == OUTCOME_DONE ? count : 0;
    if (answer->outcome == OUTCOME_DONE || (is_lasting && run->reuse.count > 0)) {
        struct machine *all = with_started(run, machines, &count);
        launching_answer(controller, call, &done, all, count);
    } else {
        launching_answer(controller, call, answer, NULL, 0);
    }
    call_free(call);
}

static void launch_rest(struct call *before)
{
    struct call *call = reuse_proceed(before);
    const struct reuse_run *run = call->extra;
    struct provider *provider = run->reuser->provider;
    struct provider_answer done = {.outcome = OUTCOME_DONE};
    require(run->reuse.count > 0 || run->reuse.call.len > 0,
            "a launch starts machines or launches new ones");
    if (run->reuse.call.len > 0) {
        provider->ops->launch(provider, run->reuse.call, on_rest, call);
    } else {
        on_rest(call, &done, NULL, 0);
    }
}

/*
 * This try started nothing. What an earlier try may have started counts as started until a listing
 * shows what it is; before that is certain, the launch is repeated.
 */
static void reuse_refused(struct controller *controller, struct call *call,
                          const struct provider_answer *answer)
{
    struct reuse_run *run = call->extra;
    bool is_any = may_run(run->reuser, call->launch);
    reuse_reject(run->reuser, call->launch);
    if ((is_any && launching_is_unsure(controller, call->launch)) ||
        (!is_any && run->reuse.call.len == 0)) {
        launching_answer(controller, call, answer, NULL, 0);
        call_free(call);
        return;
    }
    notify_warning(run->reuser->notifier, answer, "cannot start stopped instances (%zu): %s",
                   run->reuse.count, answer->err.text);
    run->reuse.count = is_any ? run->reuse.count : 0;
    launch_rest(call);
}

static bool is_asked_again(enum outcome outcome)
{
    return outcome == OUTCOME_UNKNOWN || outcome == OUTCOME_THROTTLED ||
           outcome == OUTCOME_NO_LEASE;
}

static void reuse_on_started(void *context, const struct provider_answer *answer)
{
    struct call *call = context;
    struct controller *controller = call_end(call);
    if (!controller) {
        return;
    }
    const struct reuse_run *run = call->extra;
    if (answer->outcome == OUTCOME_DONE || answer->outcome == OUTCOME_NOT_FOUND) {
        launch_rest(call);
        return;
    }
    if (answer->outcome != OUTCOME_UNKNOWN) {
        (void)set_may_run(run->reuser, call->launch, run->could_run);
    }
    if (is_asked_again(answer->outcome)) {
        launching_answer(controller, call, answer, NULL, 0);
        call_free(call);
    } else {
        reuse_refused(controller, call, answer);
    }
}

static void reuse_on_tagged(void *context, const struct provider_answer *answer)
{
    struct call *call = context;
    struct controller *controller = call_end(call);
    if (!controller) {
        return;
    }
    struct reuse_run *run = call->extra;
    if (answer->outcome == OUTCOME_DONE || answer->outcome == OUTCOME_NOT_FOUND) {
        struct provider *provider = run->reuser->provider;
        run->could_run = set_may_run(run->reuser, call->launch, true);
        provider->ops->start(provider, run->reuse.ids, run->reuse.count, reuse_on_started,
                             reuse_proceed(call));
    } else if (is_asked_again(answer->outcome)) {
        launching_answer(controller, call, answer, NULL, 0);
        call_free(call);
    } else {
        reuse_refused(controller, call, answer);
    }
}

void reuse_send(struct reuser *reuser, uint64_t launch, struct str written)
{
    struct reuse_run *run = HEAP_NEW(struct reuse_run);
    run->reuser = reuser;
    arena_init(&run->memory);
    run->reuse = reuse_read(arena_str(&run->memory, written), &run->memory);
    require(run->reuse.count > 0, "there are machines to start");
    const struct machine_tag tags[] = {
        {STR(TAG_LAUNCH), launch_number_text(launch, &run->memory)},
    };
    reuser->provider->ops->tag(reuser->provider, run->reuse.ids, run->reuse.count, tags,
                               ARRAY_LEN(tags), reuse_on_tagged, begin_call(run, launch));
}
