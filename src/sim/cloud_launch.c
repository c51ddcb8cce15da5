/* cloud_launch.c: launches and their tokens, and the planned lifecycle of new machines. */
#include "sim/cloud_effect.h"

enum { NOTICE_MS = 120 * 1000 };

/* A launch that had an effect, as the cloud remembers it: one record per token and zone. */
struct cloud_token {
    uint64_t launch;
    uint32_t zone;
    uint32_t offering;
    int64_t count; /* requested */
    int64_t used_at;
    const uint64_t *instances;
    size_t instance_count;
};

struct token_key {
    const struct cloud *cloud;
    uint64_t launch;
    uint32_t zone;
};

static bool is_same_token(const void *context, size_t position)
{
    const struct token_key *key = context;
    const struct cloud_token *token = &key->cloud->tokens[position];
    return token->launch == key->launch && token->zone == key->zone;
}

static uint64_t token_hash(uint64_t launch, uint32_t zone)
{
    return (launch + 1) * UINT64_C(0x9e3779b97f4a7c15) ^ zone;
}

/* The record of this token, forgotten or not; NULL if it never had an effect in this zone. */
static struct cloud_token *cloud_launch_find_token(const struct cloud *cloud, uint64_t launch,
                                                   uint32_t zone)
{
    struct token_key key = {cloud, launch, zone};
    size_t position = table_find(&cloud->token_index, token_hash(launch, zone), is_same_token,
                                 &key);
    return position == TABLE_NONE ? NULL : &cloud->tokens[position];
}

static struct cloud_token *add_token(struct cloud *cloud, uint64_t launch, uint32_t zone)
{
    ARENA_GROW(cloud->arena, cloud->tokens, cloud->token_count, cloud->token_capacity);
    table_add(&cloud->token_index, cloud->arena, token_hash(launch, zone), cloud->token_count);
    return &cloud->tokens[cloud->token_count++];
}

static bool is_remembered(const struct cloud *cloud, const struct cloud_token *token)
{
    const struct faults *faults = cloud->faults;
    return !faults->is_on[FAULT_token_forgotten] ||
           cloud->event_queue->now < token->used_at + faults->length[FAULT_token_forgotten];
}

static int64_t later(int64_t now, int64_t wait)
{
    return wait > INT64_MAX - now ? INT64_MAX : now + wait;
}

/* Plans the earliest end of the machine without our action. A machine that fails gives no
 * notice. */
static void plan_end(struct cloud *cloud, struct instance *instance)
{
    struct rng *rng = &cloud->rng;
    int64_t now = instance->created_at;
    if (cloud->offerings[instance->offering].market == MARKET_SPOT) {
        instance->notice_at = later(now, fault_wait(cloud->faults, FAULT_spot_notice, rng));
        instance->taken_at = later(instance->notice_at, NOTICE_MS);
        int64_t killed_at = later(now, fault_wait(cloud->faults, FAULT_spot_kill, rng));
        if (killed_at < instance->taken_at) {
            instance->taken_at = killed_at;
            instance->notice_at = INT64_MAX;
        }
    }
    int64_t dies_at = later(now, fault_wait(cloud->faults, FAULT_machine_dies, rng));
    if (dies_at < instance->taken_at) {
        instance->taken_at = dies_at;
        instance->notice_at = INT64_MAX;
        instance->will_die = true;
        instance->will_hang = rng_chance(rng, 500);
    }
    if (instance->notice_at != INT64_MAX) {
        event_queue_add(cloud->event_queue, instance->notice_at, EVENT_QUEUE_INSTANCE_NOTICE, 0,
                        instance->id, 0);
    }
    if (instance->taken_at != INT64_MAX) {
        event_queue_add(cloud->event_queue, instance->taken_at, EVENT_QUEUE_INSTANCE_TAKEN, 0,
                        instance->id, 0);
    }
}

/* The cloud reports "running" some time before sshd answers. A slow machine may hang in either
 * phase, and some never reach sshd. */
static void plan_boot(struct cloud *cloud, struct instance *instance)
{
    const struct faults *faults = cloud->faults;
    struct rng *rng = &cloud->rng;
    int64_t boot = rng_between(rng, faults->boot_least, faults->boot_most);
    int64_t pending = rng_between(rng, boot / 10, boot / 2);
    bool never_boots = false;
    if (fault_strikes(faults, FAULT_slow_boot, rng)) {
        int64_t extra = draw_span(rng, faults->length[FAULT_slow_boot]);
        boot += extra;
        pending += rng_chance(rng, 250) ? extra : 0;
        never_boots = rng_chance(rng, 250);
    }
    instance->running_at = instance->created_at + pending;
    instance->ssh_at = never_boots ? INT64_MAX : instance->created_at + boot;
    event_queue_add(cloud->event_queue, instance->running_at, EVENT_QUEUE_INSTANCE_RUNNING, 0,
                    instance->id, 0);
}

static uint64_t create_instance(struct cloud *cloud, const struct cloud_call *call)
{
    const struct faults *faults = cloud->faults;
    struct rng *rng = &cloud->rng;
    struct instance *instance = cloud_add_instance(cloud);
    instance->launch = call->launch;
    instance->offering = call->offering;
    instance->is_ours = true;
    instance->shows_at = instance->created_at + cloud_lag(cloud);
    instance->setup_time = rng_between(rng, faults->setup_least, faults->setup_most);
    instance->fails_setup = fault_strikes(faults, FAULT_setup_fails, rng);
    instance->never_joins = fault_strikes(faults, FAULT_never_joins, rng);
    plan_boot(cloud, instance);
    plan_end(cloud, instance);
    return instance->id;
}

static void answer_with(struct cloud_call *call, const struct cloud_token *token)
{
    call->outcome = OUTCOME_DONE;
    call->instances = token->instances;
    call->instance_count = token->instance_count;
}

/* Looks up the token before any refusal: a repeated launch is not a new one. */
void cloud_launch_effect(struct cloud *cloud, struct cloud_call *call)
{
    if (call->offering >= cloud->offering_count || call->count < 1) {
        call->outcome = OUTCOME_INVALID;
        return;
    }
    uint32_t zone = cloud->offerings[call->offering].zone;
    struct cloud_token *token = cloud_launch_find_token(cloud, call->launch, zone);
    if (token && is_remembered(cloud, token)) {
        if (token->offering == call->offering && token->count == call->count) {
            answer_with(call, token);
        } else {
            call->outcome = OUTCOME_MISMATCH;
        }
        return;
    }
    if (fault_strikes(cloud->faults, FAULT_quota, &cloud->rng)) {
        call->outcome = OUTCOME_QUOTA;
        return;
    }
    if (!cloud->has_capacity[call->offering]) {
        call->outcome = OUTCOME_CAPACITY;
        return;
    }
    int64_t count = call->count;
    if (count > 1 && fault_strikes(cloud->faults, FAULT_partial_launch, &cloud->rng)) {
        count = rng_between(&cloud->rng, 1, count - 1);
    }
    uint64_t *instances = ARENA_ARRAY(cloud->arena, (size_t)count, uint64_t);
    for (int64_t i = 0; i < count; i++) {
        instances[i] = create_instance(cloud, call);
    }
    token = token ? token : add_token(cloud, call->launch, zone);
    *token = (struct cloud_token){.launch = call->launch,
                                  .zone = zone,
                                  .offering = call->offering,
                                  .count = call->count,
                                  .used_at = cloud->event_queue->now,
                                  .instances = instances,
                                  .instance_count = (size_t)count};
    answer_with(call, token);
}
