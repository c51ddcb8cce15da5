/*
 * sim_provider.c: provider.h over the simulated cloud.
 *
 * A call is sent, takes effect and is answered at different times, and survives the process that
 * made it. As in the AWS provider, a launch or start is sent only while the lease is certainly held
 * by the loop's clock, and instances of a launch that is answered after the lease expired are
 * terminated.
 */
#include "sim_call.h"

#include "io/xalloc.h"
#include "provider/launch_token.h"

enum {
    LEASE_CHECK_MARGIN_MS = 3 * SECOND_MS,
};

static const char *const verb_names[VERB_COUNT] = {"preflight", "take",  "renew",  "release",
                                                   "prepare",   "list",  "launch", "terminate",
                                                   "stop",      "start", "tag"};

/* ---- life of a call ---- */

static void call_free(struct sim_call *call)
{
    *(call->newer ? &call->newer->older : &call->world->calls) = call->older;
    if (call->older) {
        call->older->newer = call->newer;
    }
    loop_timer_free(call->effect);
    arena_clear(&call->memory);
    free(call);
}

static void call_drop(struct sim_call *call)
{
    if (!call->effect && !call->reply) {
        call_free(call);
    }
}

void sim_provider_free_calls(struct world *world)
{
    while (world->calls) {
        call_free(world->calls);
    }
}

static void unlink_call(struct sim_call *call)
{
    struct sim_call **at = &call->provider->calls;
    while (*at != call) {
        at = &(*at)->next;
    }
    *at = call->next;
}

static void effect_list(struct sim_call *call);
static void effect_ids(struct sim_call *call);

typedef void effect_fn(struct sim_call *call);
static effect_fn *const effects[VERB_COUNT] = {[VERB_TAKE] = sim_lease_effect,
                                               [VERB_RENEW] = sim_lease_effect,
                                               [VERB_RELEASE] = sim_lease_effect,
                                               [VERB_LIST] = effect_list,
                                               [VERB_LAUNCH] = sim_launch_effect,
                                               [VERB_TERMINATE] = effect_ids,
                                               [VERB_STOP] = effect_ids,
                                               [VERB_START] = effect_ids,
                                               [VERB_TAG] = effect_ids};

static void take_effect(struct sim_call *call)
{
    struct world *world = call->world;
    if (control_fault_strikes(&world->faults, FAULT_throttle, &world->cloud.rng)) {
        sim_call_refuse(call, OUTCOME_THROTTLED, ERR_THROTTLED, "throttled");
    } else if (effects[call->verb]) {
        effects[call->verb](call);
    }
}

static void on_effect(void *context)
{
    struct sim_call *call = context;
    loop_timer_free(call->effect);
    call->effect = NULL;
    if (call->acts) {
        take_effect(call);
        world_mix(call->world, (uint64_t)call->verb << 8 | call->answer.outcome);
    }
    call_drop(call);
}

/* Instances of a launch that is answered too late are terminated by the provider itself. */
static void check_late_launch(struct sim_call *call)
{
    if (call->verb != VERB_LAUNCH || call->answer.outcome != OUTCOME_DONE ||
        world_now(call->world) < call->provider->lease_ends_ms) {
        return;
    }
    for (size_t i = 0; i < call->machine_count; i++) {
        sim_instance_end(call->world, sim_cloud_find(call->world, call->machines[i].id));
    }
    sim_call_refuse(call, OUTCOME_NO_LEASE, ERR_EXISTS, "the lease expired before the reply");
}

static void learn_lease(struct sim_call *call)
{
    struct sim_provider *provider = call->provider;
    int64_t now = world_now(call->world);
    if (call->verb != VERB_TAKE && call->verb != VERB_RENEW) {
        return;
    }
    bool is_late = call->verb == VERB_RENEW && now >= provider->lease_ends_ms;
    if (call->answer.outcome == OUTCOME_DONE && is_late) {
        sim_call_refuse(call, OUTCOME_MISMATCH, ERR_TIMEOUT,
                        "the lease expired before it could be renewed");
        call->tells_lease = false;
    }
    if (call->answer.outcome == OUTCOME_DONE) {
        provider->epoch = call->lease.epoch;
        provider->lease_ends_ms = call->asked_ms + call->request.lease_ms - LEASE_CHECK_MARGIN_MS;
        provider->confirmed_ms = call->asked_ms;
    } else if (call->answer.outcome == OUTCOME_MISMATCH) {
        provider->lease_ends_ms = 0;
    }
}

static void answer(struct sim_call *call)
{
    bool is_done = call->answer.outcome == OUTCOME_DONE;
    if (call->done_machines) {
        call->done_machines(call->context, &call->answer, is_done ? call->machines : NULL,
                            is_done ? call->machine_count : 0);
    } else if (call->done_lease) {
        call->done_lease(call->context, &call->answer, call->tells_lease ? &call->lease : NULL);
    } else if (call->done_preflight) {
        call->done_preflight(call->context, &call->answer, NULL, 0);
    } else if (call->done_things) {
        call->done_things(call->context, &call->answer, NULL, 0);
    } else {
        call->done(call->context, &call->answer);
    }
}

static void on_reply(void *context)
{
    struct sim_call *call = context;
    loop_timer_free(call->reply);
    call->reply = NULL;
    if (call->is_lost || call->effect) {
        sim_call_refuse(call, OUTCOME_UNKNOWN, ERR_TIMEOUT, "no reply");
        call->tells_lease = false;
    } else {
        check_late_launch(call);
        learn_lease(call);
    }
    unlink_call(call);
    if (world_is_traced(call->world) && call->verb != VERB_LIST) {
        world_say(call->world, sim_process_name(call->provider->process), "%s: %s",
                  verb_names[call->verb], outcome_text(call->answer.outcome));
    }
    if (!call->provider->process->is_dead) {
        answer(call);
    }
    call_drop(call);
}

/* ---- sending ---- */

/* Times until the effect and the reply; a suspended process sends after it resumes. */
static void plan_course(struct sim_call *call)
{
    struct world *world = call->world;
    struct rng *rng = &world->cloud.rng;
    int64_t reply = rng_between(rng, 1, world->faults.call_ms);
    int64_t effect = rng_between(rng, 0, reply - 1);
    int64_t wait = 0;
    call->acts = true;
    call->is_sent = true;
    if (control_fault_strikes(&world->faults, FAULT_suspend, rng)) {
        wait = rng_between(rng, SECOND_MS, 3 * MINUTE_MS);
        virtual_loop_suspend(call->provider->process->session.loop, world_now(world) + wait);
        world_say(world, sim_process_name(call->provider->process), "suspended for %lld ms",
                  (long long)wait);
    }
    if (control_fault_strikes(&world->faults, FAULT_lost_call, rng)) {
        call->acts = false;
        call->is_lost = true;
        reply = CALL_TIMEOUT_MS;
    } else if (control_fault_strikes(&world->faults, FAULT_lost_answer, rng)) {
        call->is_lost = true;
        effect = rng_chance(rng, 500) ? rng_between(rng, 0, CALL_TIMEOUT_MS) : effect;
        reply = rng_chance(rng, 500) ? reply : CALL_TIMEOUT_MS;
    }
    call->has_lease = world_now(world) + wait < call->provider->lease_ends_ms;
    if ((call->verb == VERB_LAUNCH || call->verb == VERB_START) && !call->has_lease) {
        call->acts = false;
        call->is_lost = false;
        effect = 0;
        reply = 1;
        sim_call_refuse(call, OUTCOME_NO_LEASE, ERR_EXISTS, "not sent: the lease is not ours");
    }
    loop_timer_start(call->effect, wait + effect);
    loop_timer_start(call->reply, wait + reply);
}

/* A call of a process that was killed in this callback is never sent. */
static struct sim_call *call_new(struct provider *base, enum sim_verb verb, void *context)
{
    struct sim_provider *provider = (struct sim_provider *)base;
    struct sim_process *process = provider->process;
    struct sim_call *call = HEAP_NEW(struct sim_call);
    bool is_dead = sim_process_dies(process);
    *call = (struct sim_call){.provider = provider,
                              .world = provider->world,
                              .next = provider->calls,
                              .verb = verb,
                              .context = context,
                              .asked_ms = world_now(provider->world),
                              .epoch = provider->epoch};
    arena_init(&call->memory);
    provider->calls = call;
    call->older = call->world->calls;
    if (call->older) {
        call->older->newer = call;
    }
    call->world->calls = call;
    call->effect = loop_timer_new(provider->world->loop, on_effect, call);
    call->reply = loop_timer_new(process->session.loop, on_reply, call);
    if (!is_dead) {
        checks_on_call(process, verb, provider->epoch, provider->confirmed_ms);
        world_mix(call->world, (uint64_t)verb << 40 ^ (uint64_t)call->asked_ms);
        plan_course(call);
    }
    return call;
}

/* The process may die right after it sent the call. */
static void sent(struct sim_call *call)
{
    (void)sim_process_dies(call->provider->process);
}

static void say_ids(struct sim_call *call)
{
    for (size_t i = 0; world_is_traced(call->world) && i < call->id_count; i++) {
        world_say(call->world, sim_process_name(call->provider->process), "calls %s %.*s",
                  verb_names[call->verb], STR_ARG(call->ids[i]));
    }
}

static void keep_ids(struct sim_call *call, const struct str *ids, size_t count)
{
    call->ids = ARENA_ARRAY(&call->memory, count, struct str);
    call->id_count = count;
    for (size_t i = 0; i < count; i++) {
        call->ids[i] = arena_str(&call->memory, ids[i]);
        if (!sim_cloud_find(call->world, ids[i])) {
            world_violate(call->world, "I14", "%s of an instance that never existed",
                          verb_names[call->verb]);
        }
    }
    say_ids(call);
}

/* ---- the lease ---- */

static void take(struct provider *base, const struct take_request *request, provider_lease_fn *done,
                 void *context)
{
    struct sim_call *call = call_new(base, VERB_TAKE, context);
    call->request = *request;
    call->request.holder = arena_str(&call->memory, request->holder);
    call->request.known_uid = arena_str(&call->memory, request->known_uid);
    call->done_lease = done;
    sent(call);
}

static void renew(struct provider *base, int64_t lease_ms, provider_lease_fn *done, void *context)
{
    struct sim_call *call = call_new(base, VERB_RENEW, context);
    call->request.lease_ms = lease_ms;
    call->done_lease = done;
    sent(call);
}

static void release(struct provider *base, provider_done_fn *done, void *context)
{
    struct sim_call *call = call_new(base, VERB_RELEASE, context);
    call->done = done;
    sent(call);
}

/* ---- preparing ---- */

static void preflight(struct provider *base, enum preflight_scope scope,
                      provider_preflight_fn *done, void *context)
{
    (void)scope;
    call_new(base, VERB_PREFLIGHT, context)->done_preflight = done;
}

static void prepare(struct provider *base, struct str key, provider_resources_fn *done,
                    void *context)
{
    (void)key;
    call_new(base, VERB_PREPARE, context)->done_things = done;
}

/* ---- launches ---- */

static void launch(struct provider *base, struct str bytes, provider_machines_fn *done,
                   void *context)
{
    struct sim_call *call = call_new(base, VERB_LAUNCH, context);
    struct sim_process *process = call->provider->process;
    call->call = arena_str(&call->memory, bytes);
    call->done_machines = done;
    if (!process->is_dead) {
        struct sim_launch read = sim_launch_read(call->call);
        world_say(call->world, sim_process_name(process), "calls launch %u.%u: %lld",
                  LAUNCH_ARG(read.launch), (long long)read.count);
        checks_on_launch_call(process, call->call);
    }
    sent(call);
}

/* ---- machines ---- */

static void effect_tag(struct sim_call *call, struct sim_instance *instance)
{
    if (call->launch != 0) {
        sim_instance_tag_launch(call->world, instance, call->launch);
    }
    if (call->status.len > 0) {
        instance->status = arena_str(&call->world->memory, call->status);
    }
}

static void effect_one(struct sim_call *call, struct sim_instance *instance)
{
    struct world *world = call->world;
    if (call->verb == VERB_TERMINATE) {
        checks_on_end(world, instance, false);
        sim_instance_end(world, instance);
    } else if (call->verb == VERB_STOP) {
        checks_on_end(world, instance, true);
        sim_instance_stop(world, instance);
    } else if (call->verb == VERB_START) {
        sim_instance_start(world, instance);
        checks_on_growth(world);
    } else {
        effect_tag(call, instance);
    }
}

/* An instance that no listing shows yet is perhaps not found. */
static void effect_ids(struct sim_call *call)
{
    struct world *world = call->world;
    bool is_refused = call->verb == VERB_START &&
                      control_fault_strikes(&world->faults, FAULT_no_capacity, &world->cloud.rng);
    if (is_refused) {
        sim_call_refuse(call, OUTCOME_CAPACITY, ERR_CAPACITY, "no capacity");
        return;
    }
    for (size_t i = 0; i < call->id_count; i++) {
        struct sim_instance *instance = sim_cloud_find(world, call->ids[i]);
        bool is_hidden = !instance || (world_now(world) < instance->shows_ms &&
                                       rng_chance(&world->cloud.rng, 500));
        if (is_hidden) {
            sim_call_refuse(call, OUTCOME_NOT_FOUND, ERR_NOT_FOUND, "no such instance");
        } else {
            effect_one(call, instance);
        }
    }
}

static void terminate(struct provider *base, const struct str *ids, size_t count,
                      provider_done_fn *done, void *context)
{
    struct sim_call *call = call_new(base, VERB_TERMINATE, context);
    struct sim_process *process = call->provider->process;
    keep_ids(call, ids, count);
    if (!process->is_dead) {
        checks_on_terminate_call(process, ids, count);
    }
    call->done = done;
    sent(call);
}

static void stop(struct provider *base, const struct str *ids, size_t count, provider_done_fn *done,
                 void *context)
{
    struct sim_call *call = call_new(base, VERB_STOP, context);
    keep_ids(call, ids, count);
    call->done = done;
    sent(call);
}

static void start(struct provider *base, const struct str *ids, size_t count,
                  provider_done_fn *done, void *context)
{
    struct sim_call *call = call_new(base, VERB_START, context);
    keep_ids(call, ids, count);
    call->done = done;
    sent(call);
}

static void tag(struct provider *base, const struct str *ids, size_t count,
                const struct machine_tag *tags, size_t tag_count, provider_done_fn *done,
                void *context)
{
    struct sim_call *call = call_new(base, VERB_TAG, context);
    keep_ids(call, ids, count);
    call->done = done;
    for (size_t i = 0; i < tag_count; i++) {
        if (str_is(tags[i].key, TAG_LAUNCH) && !launch_number_parse(tags[i].value, &call->launch)) {
            world_violate(call->world, "I1", "a tag is not a launch number");
        }
        if (str_is(tags[i].key, "ray-node-status")) {
            call->status = arena_str(&call->memory, tags[i].value);
        }
    }
    sent(call);
}

static void effect_list(struct sim_call *call)
{
    call->machine_count = sim_cloud_list(call->world, &call->memory, &call->machines);
}

static void list(struct provider *base, provider_machines_fn *done, void *context)
{
    call_new(base, VERB_LIST, context)->done_machines = done;
}

/* ---- the provider ---- */

static struct provider_type_facts type_facts(struct provider *base, size_t type)
{
    (void)base;
    (void)type;
    return (struct provider_type_facts){0};
}

static void close_provider(struct provider *base)
{
    struct sim_provider *provider = (struct sim_provider *)base;
    for (struct sim_call *call = provider->calls, *next; call; call = next) {
        next = call->next;
        loop_timer_free(call->reply);
        call->reply = NULL;
        call->provider = NULL;
        if (!call->is_sent) {
            loop_timer_free(call->effect);
            call->effect = NULL;
        }
        call_drop(call);
    }
    free(provider);
}

struct provider *sim_provider_new(struct sim_process *process)
{
    static const struct provider_ops ops = {.name = "sim",
                                            .preflight = preflight,
                                            .type_facts = type_facts,
                                            .take = take,
                                            .renew = renew,
                                            .release = release,
                                            .prepare = prepare,
                                            .list = list,
                                            .draft = sim_launch_draft,
                                            .launch = launch,
                                            .terminate = terminate,
                                            .stop = stop,
                                            .start = start,
                                            .tag = tag,
                                            .close = close_provider};
    struct sim_provider *provider = HEAP_NEW(struct sim_provider);
    provider->base.ops = &ops;
    provider->process = process;
    provider->world = process->world;
    return &provider->base;
}
