/* straight.c: operations one after the other. */
#include "conform.h"

#include "base/panic.h"
#include "io/file.h"
#include "provider/launch_token.h"

enum { TRIES = 40, WAIT_FIRST_MS = 100, WAIT_MOST_MS = 2000 };

/* ---- callbacks ---- */

static void keep(struct told *told, const struct provider_answer *answer)
{
    told->is_done = true;
    told->calls++;
    told->outcome = answer->outcome;
    told->err = answer->outcome == OUTCOME_DONE ? (struct err){0} : answer->err;
    loop_stop(told->cloud->loop);
}

void tell_done(void *context, const struct provider_answer *answer)
{
    keep(context, answer);
}

static struct machine copy_machine(const struct machine *machine, struct arena *arena)
{
    struct machine copy = *machine;
    struct machine_tag *tags = ARENA_ARRAY(arena, machine->tag_count, struct machine_tag);
    for (size_t i = 0; i < machine->tag_count; i++) {
        tags[i].key = arena_str(arena, machine->tags[i].key);
        tags[i].value = arena_str(arena, machine->tags[i].value);
    }
    copy.id = arena_str(arena, machine->id);
    copy.type = arena_str(arena, machine->type);
    copy.zone = arena_str(arena, machine->zone);
    copy.private_ip = arena_str(arena, machine->private_ip);
    copy.public_ip = arena_str(arena, machine->public_ip);
    copy.why = arena_str(arena, machine->why);
    copy.token = arena_str(arena, machine->token);
    copy.tags = tags;
    return copy;
}

void tell_machines(void *context, const struct provider_answer *answer,
                   const struct machine *machines, size_t count)
{
    struct told *told = context;
    struct arena *arena = &told->cloud->arena;
    told->machines = ARENA_ARRAY(arena, count, struct machine);
    told->count = count;
    for (size_t i = 0; i < count; i++) {
        told->machines[i] = copy_machine(&machines[i], arena);
    }
    if (answer->outcome != OUTCOME_DONE && count > 0) {
        panic("machines without an answer that is certain");
    }
    keep(told, answer);
}

void tell_lease(void *context, const struct provider_answer *answer,
                const struct cluster_lease *lease)
{
    struct told *told = context;
    struct arena *arena = &told->cloud->arena;
    told->has_lease = lease != NULL;
    if (lease) {
        told->lease = *lease;
        told->lease.uid = arena_str(arena, lease->uid);
        told->lease.holder = arena_str(arena, lease->holder);
        told->lease.lease_object = arena_str(arena, lease->lease_object);
        told->lease.account = arena_str(arena, lease->account);
    }
    keep(told, answer);
}

void tell_things(void *context, const struct provider_answer *answer,
                 const struct provider_resource *things, size_t count)
{
    struct told *told = context;
    struct arena *arena = &told->cloud->arena;
    told->things = ARENA_ARRAY(arena, count, struct provider_resource);
    for (size_t i = 0; i < count; i++) {
        if (!things[i].is_gone) {
            told->things[told->count++] = (struct provider_resource){
                .kind = arena_str(arena, things[i].kind),
                .id = arena_str(arena, things[i].id),
                .note = arena_str(arena, things[i].note)};
        }
    }
    keep(told, answer);
}

void tell_preflight(void *context, const struct provider_answer *answer,
                    const struct finding *findings, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (findings[i].level == FINDING_ERROR) {
            fprintf(stderr, "survey: %.*s: %.*s\n", STR_ARG(findings[i].subject),
                    STR_ARG(findings[i].text));
        }
    }
    keep(context, answer);
}

/* ---- waiting ---- */

void await(struct cloud *cloud, struct told *told)
{
    if (told->is_done) {
        panic("a callback came from inside the call that asked for it");
    }
    while (!told->is_done) {
        loop_run(cloud->loop);
    }
}

static void wake(void *context)
{
    struct told *told = context;
    told->is_done = true;
    loop_stop(told->cloud->loop);
}

void sleep_ms(struct cloud *cloud, int64_t ms)
{
    struct told told = {.cloud = cloud};
    struct loop_timer *timer = loop_timer_new(cloud->loop, wake, &told);
    loop_timer_start(timer, ms);
    await(cloud, &told);
    loop_timer_free(timer);
}

/* True when it is to be asked again, after a pause. */
static bool again(struct cloud *cloud, const struct told *told, int *tries)
{
    bool is_open = told->outcome == OUTCOME_UNKNOWN || told->outcome == OUTCOME_THROTTLED;
    if (!is_open || ++*tries == TRIES) {
        return false;
    }
    int64_t wait = (int64_t)WAIT_FIRST_MS << (*tries < 5 ? *tries : 5);
    fprintf(stderr, "again: %s\n", told->err.text);
    sleep_ms(cloud, wait < WAIT_MOST_MS ? wait : WAIT_MOST_MS);
    return true;
}

/* `call` starts the operation with `&told` as its context. */
#define SETTLE(cloud, call)                     \
    struct told told;                           \
    int tries = 0;                              \
    do {                                        \
        told = (struct told){.cloud = (cloud)}; \
        call;                                   \
        await((cloud), &told);                  \
    } while (again((cloud), &told, &tries));    \
    return told

/* ---- operations ---- */

struct told do_preflight(struct cloud *cloud, struct provider *provider)
{
    SETTLE(cloud, provider->ops->preflight(provider, PREFLIGHT_FOR_LAUNCH, tell_preflight, &told));
}

struct told do_take(struct cloud *cloud, struct provider *provider, const char *holder,
                    int64_t lease_ms, uint64_t take_from)
{
    const struct take_request request = {
        .holder = str_from(holder), .lease_ms = lease_ms, .from = take_from, .may_create = true};
    SETTLE(cloud, provider->ops->take(provider, &request, tell_lease, &told));
}

struct told do_take_new(struct cloud *cloud, struct provider *provider, const char *holder,
                        int64_t lease_ms)
{
    const struct take_request request = {
        .holder = str_from(holder), .lease_ms = lease_ms, .is_new = true, .may_create = true};
    SETTLE(cloud, provider->ops->take(provider, &request, tell_lease, &told));
}

struct told do_take_handed(struct cloud *cloud, struct provider *provider, const char *holder,
                           int64_t lease_ms, const struct cluster_lease *lease)
{
    const struct take_request request = {.holder = str_from(holder),
                                         .lease_ms = lease_ms,
                                         .may_create = true,
                                         .from = lease->epoch,
                                         .uid = lease->uid,
                                         .lease_object = lease->lease_object};
    SETTLE(cloud, provider->ops->take(provider, &request, tell_lease, &told));
}

struct told do_renew(struct cloud *cloud, struct provider *provider, int64_t lease_ms)
{
    SETTLE(cloud, provider->ops->renew(provider, lease_ms, tell_lease, &told));
}

struct told do_release(struct cloud *cloud, struct provider *provider)
{
    SETTLE(cloud, provider->ops->release(provider, tell_done, &told));
}

struct told do_prepare(struct cloud *cloud, struct provider *provider, const char *key_file)
{
    AUTO_BUF struct buf key;
    struct err err;
    buf_init(&key, 64 * 1024);
    if (!file_read(key_file, &key, &err)) {
        panic("%s", err.text);
    }
    SETTLE(cloud, provider->ops->prepare(provider, buf_str(&key), tell_things, &told));
}

struct told do_find(struct cloud *cloud, struct provider *provider)
{
    SETTLE(cloud, provider->ops->prepare(provider, STR(""), tell_things, &told));
}

struct told do_remove(struct cloud *cloud, struct provider *provider)
{
    SETTLE(cloud, provider->ops->remove(provider, tell_things, &told));
}

struct told do_list(struct cloud *cloud, struct provider *provider)
{
    SETTLE(cloud, provider->ops->list(provider, tell_machines, &told));
}

struct told do_launch(struct cloud *cloud, struct provider *provider, struct str call)
{
    SETTLE(cloud, provider->ops->launch(provider, call, tell_machines, &told));
}

static void start_change(struct provider *provider, const char *what, const struct str *ids,
                         size_t count, struct told *told)
{
    static const struct machine_tag status = {{"ray-node-status", 15}, {"up-to-date", 10}};
    struct str name = str_from(what);
    if (str_is(name, "terminate")) {
        provider->ops->terminate(provider, ids, count, tell_done, told);
    } else if (str_is(name, "stop")) {
        provider->ops->stop(provider, ids, count, tell_done, told);
    } else if (str_is(name, "start")) {
        provider->ops->start(provider, ids, count, tell_done, told);
    } else {
        provider->ops->tag(provider, ids, count, &status, 1, tell_done, told);
    }
}

struct told do_change(struct cloud *cloud, struct provider *provider, const char *what,
                      const struct str *ids, size_t count)
{
    SETTLE(cloud, start_change(provider, what, ids, count, &told));
}

struct str make_draft(struct cloud *cloud, struct provider *provider, size_t type, const char *zone,
                      enum market market, int64_t count, struct str uid, uint64_t launch)
{
    struct machine_tag tags[] = {
        {STR("ray-node-type"), type == TYPE_HEAD ? STR("head") : STR("worker")},
        {STR("ray-user-node-type"), cloud->cluster.types[type].name},
        {STR("ray-node-name"), STR("ray-conform")},
        {STR("ray-node-status"), STR("uninitialized")},
    };
    struct launch_request request = {.token = launch_token(uid, launch, &cloud->arena),
                                     .launch = launch,
                                     .type = type,
                                     .zone = str_from(zone),
                                     .market = market,
                                     .count = count,
                                     .rests = type == TYPE_HEAD,
                                     .user_data = STR("#!/bin/sh\n"),
                                     .tags = tags,
                                     .tag_count = ARRAY_LEN(tags)};
    struct str call = STR("");
    struct err err;
    if (!provider->ops->draft(provider, &request, &cloud->arena, &call, &err)) {
        panic("%s", err.text);
    }
    return call;
}

struct str tag_of(const struct machine *machine, const char *key)
{
    for (size_t i = 0; i < machine->tag_count; i++) {
        if (str_is(machine->tags[i].key, key)) {
            return machine->tags[i].value;
        }
    }
    return STR("");
}

bool is_live(const struct machine *machine)
{
    return machine->state != MACHINE_GONE && machine->state != MACHINE_ENDING;
}
