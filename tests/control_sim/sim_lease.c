/* sim_lease.c: the lease object: the first process whose compare-and-swap of the epoch
 * succeeds holds the lease. */
#include "sim_call.h"

enum { LEASE_GRACE_MS = 10 * SECOND_MS };

static void tell_lease(struct sim_call *call)
{
    const struct sim_lease *lease = &call->world->cloud.lease;
    call->tells_lease = true;
    call->lease = (struct cluster_lease){
        .uid = lease->uid,
        .epoch = lease->epoch,
        .holder = arena_str(&call->memory, lease->holder),
        .since = call->asked_ms / SECOND_MS,
        .until = lease->until_ms / SECOND_MS,
        .lease_object = STR("lt-1"),
        .account = STR(""),
    };
}

static bool has_living(struct world *world)
{
    for (size_t i = 0; i < world->cloud.count; i++) {
        enum machine_state state = sim_instance_state(&world->cloud.instances[i], world_now(world));
        if (state != MACHINE_ENDING && state != MACHINE_GONE) {
            return true;
        }
    }
    return false;
}

/* As AWS does: live instances keep their uid, and epochs continue above all earlier ones. */
static void create_lease(struct sim_call *call)
{
    struct world *world = call->world;
    struct sim_lease *lease = &world->cloud.lease;
    const struct take_request *request = &call->request;
    bool is_known = request->known_uid.len > 0;
    if (lease->uid.len == 0 || (!has_living(world) && !is_known)) {
        lease->uid = arena_printf(&world->memory, "%032llx",
                                  (unsigned long long)rng_next(&world->cloud.rng));
    } else if (!has_living(world)) {
        lease->uid = arena_str(&world->memory, request->known_uid);
    }
    uint64_t base = lease->highest > 0 ? lease->highest + 1 : 0;
    lease->epoch = base > request->known_epoch ? base : request->known_epoch;
    lease->exists = true;
    lease->is_released = true;
}

static void effect_take(struct sim_call *call)
{
    struct world *world = call->world;
    struct sim_lease *lease = &world->cloud.lease;
    int64_t now = world_now(world);
    if (!lease->exists && !call->request.may_create) {
        sim_call_refuse(call, OUTCOME_NOT_FOUND, ERR_NOT_FOUND, "there is no lease object");
        return;
    }
    if (!lease->exists) {
        create_lease(call);
    }
    bool is_free = lease->is_released || now > lease->until_ms + LEASE_GRACE_MS;
    if (!is_free && call->request.from != lease->epoch) {
        sim_call_refuse(call, OUTCOME_MISMATCH, ERR_EXISTS, "another process holds the lease");
        tell_lease(call);
        return;
    }
    lease->holder = arena_str(&world->memory, call->request.holder);
    lease->epoch++;
    lease->highest = lease->epoch > lease->highest ? lease->epoch : lease->highest;
    lease->is_released = false;
    lease->until_ms = now + call->request.lease_ms;
    tell_lease(call);
    world_say(world, "cloud", "the lease %llu is held by %.*s", (unsigned long long)lease->epoch,
              STR_ARG(lease->holder));
}

void sim_lease_effect(struct sim_call *call)
{
    struct sim_lease *lease = &call->world->cloud.lease;
    int64_t now = world_now(call->world);
    if (call->verb == VERB_TAKE) {
        effect_take(call);
        return;
    }
    if (!lease->exists) {
        sim_call_refuse(call, OUTCOME_MISMATCH, ERR_NOT_FOUND, "the lease object was deleted");
    } else if (lease->epoch != call->epoch) {
        sim_call_refuse(call, OUTCOME_MISMATCH, ERR_EXISTS, "another process took the lease");
        tell_lease(call);
    } else if (now >= lease->until_ms) {
        sim_call_refuse(call, OUTCOME_MISMATCH, ERR_EXISTS,
                        "the lease expired before it was renewed");
    } else if (call->verb == VERB_RENEW) {
        lease->until_ms = now + call->request.lease_ms;
        tell_lease(call);
    } else {
        lease->is_released = true;
        world_say(call->world, "cloud", "the lease is released");
    }
    if (call->verb == VERB_RELEASE) {
        call->answer.outcome = OUTCOME_DONE;
    }
}
