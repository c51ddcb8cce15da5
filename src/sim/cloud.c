/*
 * cloud.c: the timing of calls and the lifecycle of machines. The effects of launches and listings
 * are in cloud_launch.c and cloud_listing.c.
 */
#include "sim/cloud.h"

#include "base/panic.h"
#include "sim/cloud_effect.h"

enum { LINGER_LEAST_MS = 50 * 60 * 1000, LINGER_MOST_MS = 70 * 60 * 1000 };

static void cloud_plan_next(struct cloud *cloud, enum event_queue_kind kind, uint32_t who,
                            int64_t wait)
{
    if (wait != INT64_MAX) {
        event_queue_add(cloud->event_queue, cloud->event_queue->now + wait, kind, who, 0, 0);
    }
}

void cloud_init(struct cloud *cloud, struct event_queue *event_queue, struct faults *faults,
                const struct offering *offerings, size_t offering_count, uint64_t seed,
                struct arena *arena)
{
    *cloud = (struct cloud){.arena = arena,
                            .event_queue = event_queue,
                            .faults = faults,
                            .rng = {seed},
                            .offerings = offerings,
                            .offering_count = offering_count,
                            .has_capacity = ARENA_ARRAY(arena, offering_count, bool)};
    struct rng *rng = &cloud->rng;
    for (uint32_t i = 0; i < offering_count; i++) {
        cloud->has_capacity[i] = true;
        bool begins_without = fault_strikes(faults, FAULT_no_capacity, rng);
        int64_t wait = fault_wait(faults, FAULT_no_capacity, rng);
        cloud_plan_next(cloud, EVENT_QUEUE_CAPACITY_CHANGE, i, begins_without ? 0 : wait);
    }
    cloud_plan_next(cloud, EVENT_QUEUE_OUTAGE_CHANGE, 0, fault_wait(faults, FAULT_outage, rng));
    cloud_plan_next(cloud, EVENT_QUEUE_HAND, 0, fault_wait(faults, FAULT_hand, rng));
}

/* ---- machines -------------------------------------------------------------------------------- */

struct instance *cloud_add_instance(struct cloud *cloud)
{
    ARENA_GROW(cloud->arena, cloud->instances, cloud->instance_count, cloud->instance_capacity);
    ARENA_PUSH(cloud->arena, cloud->listable, cloud->listable_count,
               cloud->listable_capacity) = (uint32_t)cloud->instance_count;
    struct instance *instance = &cloud->instances[cloud->instance_count++];
    *instance = (struct instance){.id = cloud->instance_count,
                                  .created_at = cloud->event_queue->now,
                                  .shows_at = cloud->event_queue->now,
                                  .running_at = INT64_MAX,
                                  .ssh_at = INT64_MAX,
                                  .ended_at = INT64_MAX,
                                  .gone_at = INT64_MAX,
                                  .vanishes_at = INT64_MAX,
                                  .notice_at = INT64_MAX,
                                  .taken_at = INT64_MAX,
                                  .died_at = INT64_MAX,
                                  .setup_begun_at = INT64_MAX,
                                  .setup_done_at = INT64_MAX};
    return instance;
}

uint64_t cloud_plant(struct cloud *cloud, uint32_t offering, bool is_ours, bool is_head)
{
    struct instance *instance = cloud_add_instance(cloud);
    int64_t now = cloud->event_queue->now;
    instance->offering = offering;
    instance->is_ours = is_ours;
    instance->is_head = is_head;
    /* The tags of others may look like ours; only the uid differs. */
    instance->launch = is_ours ? 0 : (uint64_t)rng_between(&cloud->rng, 1, 8);
    instance->running_at = instance->ssh_at = now;
    instance->setup_begun_at = instance->setup_done_at = now;
    return instance->id;
}

/* Starts the termination of the instance; EVENT_QUEUE_INSTANCE_GONE follows. */
static void cloud_end_instance(struct cloud *cloud, struct instance *instance, enum ended_by by)
{
    int64_t now = cloud->event_queue->now;
    instance->ended_by = by;
    instance->ended_at = now;
    instance->gone_at = now + rng_between(&cloud->rng, 1, cloud->faults->ending_most);
    instance->vanishes_at = instance->gone_at +
                            rng_between(&cloud->rng, LINGER_LEAST_MS, LINGER_MOST_MS);
    if (instance->died_at == INT64_MAX) {
        instance->died_at = instance->gone_at;
    }
    event_queue_add(cloud->event_queue, instance->gone_at, EVENT_QUEUE_INSTANCE_GONE, 0,
                    instance->id, 0);
}

bool instance_is_live(const struct instance *instance, int64_t now)
{
    return instance->created_at <= now && now < instance->ended_at;
}

bool instance_answers(const struct instance *instance, int64_t now)
{
    return instance->ssh_at <= now && now < instance->died_at;
}

const struct instance *cloud_instance(const struct cloud *cloud, uint64_t id)
{
    return id >= 1 && id <= cloud->instance_count ? &cloud->instances[id - 1] : NULL;
}

/* While an instance is not visible, some replicas know it and others do not. */
static void cloud_terminate_effect(struct cloud *cloud, struct cloud_call *call)
{
    int64_t now = cloud->event_queue->now;
    if (call->instance < 1 || call->instance > cloud->instance_count) {
        call->outcome = OUTCOME_NOT_FOUND;
        return;
    }
    struct instance *instance = &cloud->instances[call->instance - 1];
    bool is_hidden = now < instance->shows_at && rng_chance(&cloud->rng, 500);
    if (is_hidden || now >= instance->vanishes_at) {
        call->outcome = OUTCOME_NOT_FOUND;
        return;
    }
    call->outcome = OUTCOME_DONE;
    if (instance_is_live(instance, now)) {
        cloud_end_instance(cloud, instance, ENDED_BY_CONTROLLER);
        instance->ended_by_controller = call->sim_controller;
        instance->ended_by_incarnation = call->incarnation;
    }
}

/* Terminates one of our live workers manually. */
static void end_by_hand(struct cloud *cloud)
{
    struct instance *chosen = NULL;
    int64_t seen = 0;
    for (size_t i = 0; i < cloud->listable_count; i++) {
        struct instance *instance = &cloud->instances[cloud->listable[i]];
        if (instance->is_ours && !instance->is_head &&
            instance_is_live(instance, cloud->event_queue->now) &&
            rng_below(&cloud->rng, ++seen) == 0) {
            chosen = instance;
        }
    }
    if (chosen) {
        cloud_end_instance(cloud, chosen, ENDED_BY_HAND);
    }
}

static void take_instance(struct cloud *cloud, struct instance *instance)
{
    instance->died_at = cloud->event_queue->now;
    if (!instance->will_hang) {
        cloud_end_instance(cloud, instance, instance->will_die ? ENDED_BY_DEATH : ENDED_BY_SPOT);
    }
}

static bool on_instance(struct cloud *cloud, const struct event_queue_entry *entry)
{
    struct instance *instance = &cloud->instances[entry->what - 1];
    bool works = instance_is_live(instance, entry->at) && entry->at < instance->died_at;
    switch (entry->kind) {
    case EVENT_QUEUE_INSTANCE_RUNNING:
        return works;
    case EVENT_QUEUE_INSTANCE_NOTICE:
        return works && instance->notice_at == entry->at;
    case EVENT_QUEUE_INSTANCE_TAKEN:
        if (!works || instance->taken_at != entry->at) {
            return false;
        }
        take_instance(cloud, instance);
        return true;
    default:
        return true;
    }
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* A call number includes the use count of its record, so stale numbers are detected. */
static uint64_t call_number(uint32_t position, const struct cloud_call *call)
{
    return ((uint64_t)call->use << 32) | (position + 1);
}

static uint32_t open_call(struct cloud *cloud)
{
    if (cloud->free_call != 0) {
        uint32_t position = cloud->free_call - 1;
        cloud->free_call = cloud->calls[position]->next_free;
        return position;
    }
    ARENA_GROW(cloud->arena, cloud->calls, cloud->call_count, cloud->call_capacity);
    cloud->calls[cloud->call_count] = ARENA_NEW(cloud->arena, struct cloud_call);
    return (uint32_t)cloud->call_count++;
}

static struct cloud_call *find_call(const struct cloud *cloud, uint64_t number)
{
    uint64_t position = (number & UINT32_MAX) - 1;
    if (position >= cloud->call_count || !cloud->calls[position]->is_open ||
        cloud->calls[position]->use != number >> 32) {
        panic("sim: call %llu was released", (unsigned long long)number);
    }
    return cloud->calls[position];
}

const struct cloud_call *cloud_call(const struct cloud *cloud, uint64_t number)
{
    return find_call(cloud, number);
}

void cloud_release(struct cloud *cloud, uint64_t number)
{
    struct cloud_call *call = find_call(cloud, number);
    if (cloud->event_queue->now < call->reply_at) {
        panic("sim: call %llu is still in flight", (unsigned long long)number);
    }
    if (call->effect_at > cloud->event_queue->now) {
        call->is_forgotten = true; /* its caller has given up, but it will still take effect */
        return;
    }
    call->is_open = false;
    call->next_free = cloud->free_call;
    cloud->free_call = (uint32_t)(number & UINT32_MAX);
}

static int64_t at_most(int64_t value, int64_t limit)
{
    return value < limit ? value : limit;
}

/* Plans the time until the effect and until the reply of a call. Both are within call_timeout. */
static void plan_way(struct cloud *cloud, struct cloud_call *call, int64_t *ret_effect,
                     int64_t *ret_reply)
{
    const struct faults *faults = cloud->faults;
    struct rng *rng = &cloud->rng;
    int64_t timeout = faults->call_timeout;
    int64_t reply = at_most(rng_between(rng, faults->call_time / 10, faults->call_time), timeout);
    int64_t effect = rng_between(rng, 0, reply);
    bool is_slow = rng_chance(rng, 500);
    int64_t slow_effect = rng_between(rng, 0, timeout);
    if (cloud->is_away) {
        /* The API returns an error at once, or the call hangs. */
        call->is_lost_before = true;
        reply = rng_chance(rng, 500) ? reply : timeout;
    } else if (fault_strikes(faults, FAULT_lost_call, rng)) {
        call->is_lost_before = true;
        reply = timeout;
    } else if (fault_strikes(faults, FAULT_lost_answer, rng)) {
        /* Sometimes the connection breaks early, and the call takes effect afterwards. */
        call->is_lost_after = true;
        reply = rng_chance(rng, 500) ? reply : timeout;
        effect = is_slow ? slow_effect : effect;
    }
    *ret_effect = effect;
    *ret_reply = reply;
}

uint64_t cloud_send(struct cloud *cloud, const struct cloud_call *call)
{
    uint32_t position = open_call(cloud);
    struct cloud_call *record = cloud->calls[position];
    *record = (struct cloud_call){.verb = call->verb,
                                  .sim_controller = call->sim_controller,
                                  .incarnation = call->incarnation,
                                  .sent_at = cloud->event_queue->now,
                                  .launch = call->launch,
                                  .offering = call->offering,
                                  .count = call->count,
                                  .instance = call->instance,
                                  .outcome = OUTCOME_UNKNOWN,
                                  .is_open = true,
                                  .use = record->use + 1,
                                  .room = record->room,
                                  .room_capacity = record->room_capacity};
    int64_t effect = 0;
    int64_t reply = 0;
    plan_way(cloud, record, &effect, &reply);
    record->reply_at = record->sent_at + reply;
    record->effect_at = record->is_lost_before ? 0 : record->sent_at + effect;
    uint64_t number = call_number(position, record);
    if (!record->is_lost_before) {
        event_queue_add(cloud->event_queue, record->sent_at + effect, EVENT_QUEUE_CALL_EFFECT,
                        call->sim_controller, number, call->incarnation);
    }
    event_queue_add(cloud->event_queue, record->reply_at, EVENT_QUEUE_CALL_REPLY,
                    call->sim_controller, number, call->incarnation);
    cloud->calls_made[call->verb]++;
    return number;
}

static void lose_answer(struct cloud_call *call)
{
    call->outcome = OUTCOME_UNKNOWN;
    call->instances = NULL;
    call->instance_count = 0;
    call->listed = NULL;
    call->listed_count = 0;
    call->is_complete = false;
}

static bool take_effect(struct cloud *cloud, uint64_t number)
{
    struct cloud_call *call = find_call(cloud, number);
    call->is_done = true;
    if (call->is_lost_before) {
        return false;
    }
    if (fault_strikes(cloud->faults, FAULT_throttle, &cloud->rng)) {
        call->outcome = OUTCOME_THROTTLED;
    } else if (call->verb == CLOUD_LAUNCH) {
        cloud_launch_effect(cloud, call);
    } else if (call->verb == CLOUD_TERMINATE) {
        cloud_terminate_effect(cloud, call);
    } else if (!call->is_lost_after) {
        cloud_list_effect(cloud, call);
    }
    if (call->is_lost_after) {
        lose_answer(call);
    }
    if (call->is_forgotten) {
        event_queue_add(cloud->event_queue, cloud->event_queue->now, EVENT_QUEUE_CALL_FORGOTTEN,
                        call->sim_controller, number, call->incarnation);
    }
    return true;
}

/* ---- faults ---------------------------------------------------------------------------------- */

/* An outage also affects calls in flight: half of those without an effect so far never have one,
 * and all replies are lost. */
static void begin_outage(struct cloud *cloud)
{
    cloud->is_away = true;
    for (size_t i = 0; i < cloud->call_count; i++) {
        struct cloud_call *call = cloud->calls[i];
        if (!call->is_open || call->reply_at <= cloud->event_queue->now) {
            continue;
        }
        if (call->is_done) {
            lose_answer(call);
        } else if (rng_chance(&cloud->rng, 500)) {
            call->is_lost_before = true;
        } else {
            call->is_lost_after = true;
        }
    }
}

static bool on_outage(struct cloud *cloud)
{
    const struct faults *faults = cloud->faults;
    if (!faults->is_on[FAULT_outage]) {
        return false;
    }
    int64_t wait = 0;
    if (cloud->is_away) {
        cloud->is_away = false;
        wait = fault_wait(faults, FAULT_outage, &cloud->rng);
    } else {
        begin_outage(cloud);
        wait = draw_span(&cloud->rng, faults->length[FAULT_outage]);
    }
    cloud_plan_next(cloud, EVENT_QUEUE_OUTAGE_CHANGE, 0, wait);
    return true;
}

static bool on_capacity(struct cloud *cloud, uint32_t offering)
{
    const struct faults *faults = cloud->faults;
    if (!faults->is_on[FAULT_no_capacity]) {
        return false;
    }
    bool has_capacity = cloud->has_capacity[offering] = !cloud->has_capacity[offering];
    cloud_plan_next(cloud, EVENT_QUEUE_CAPACITY_CHANGE, offering,
                    has_capacity ? fault_wait(faults, FAULT_no_capacity, &cloud->rng)
                                 : draw_span(&cloud->rng, faults->length[FAULT_no_capacity]));
    return true;
}

static bool on_hand(struct cloud *cloud)
{
    if (!cloud->faults->is_on[FAULT_hand]) {
        return false;
    }
    end_by_hand(cloud);
    cloud_plan_next(cloud, EVENT_QUEUE_HAND, 0, fault_wait(cloud->faults, FAULT_hand, &cloud->rng));
    return true;
}

void cloud_heal(struct cloud *cloud)
{
    cloud->is_away = false;
    for (size_t i = 0; i < cloud->offering_count; i++) {
        cloud->has_capacity[i] = true;
    }
    for (size_t i = 0; i < cloud->instance_count; i++) {
        struct instance *instance = &cloud->instances[i];
        if (instance->notice_at > cloud->event_queue->now) {
            instance->notice_at = instance->taken_at = INT64_MAX;
        }
    }
}

bool cloud_on(struct cloud *cloud, const struct event_queue_entry *entry)
{
    switch (entry->kind) {
    case EVENT_QUEUE_CALL_EFFECT:
        return take_effect(cloud, entry->what);
    case EVENT_QUEUE_CALL_FORGOTTEN:
        cloud_release(cloud, entry->what);
        return false;
    case EVENT_QUEUE_INSTANCE_RUNNING:
    case EVENT_QUEUE_INSTANCE_NOTICE:
    case EVENT_QUEUE_INSTANCE_TAKEN:
    case EVENT_QUEUE_INSTANCE_GONE:
        return on_instance(cloud, entry);
    case EVENT_QUEUE_CAPACITY_CHANGE:
        return on_capacity(cloud, entry->who);
    case EVENT_QUEUE_OUTAGE_CHANGE:
        return on_outage(cloud);
    case EVENT_QUEUE_HAND:
        return on_hand(cloud);
    default:
        return true;
    }
}
