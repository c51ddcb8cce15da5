/* fake_provider.c: instances in an array; timers deliver the answers. */
#include "fake_provider.h"

#include "io/xalloc.h"
#include "provider/launch_token.h"

#include <string.h>

struct answer_later;

struct fake_provider {
    struct provider base;
    struct fake_cloud *cloud;
    struct loop *loop;
    uint64_t epoch;
    struct answer_later *first;
};

/* One operation in progress. */
struct answer_later {
    struct fake_provider *provider;
    struct answer_later *next;
    struct loop_timer *timer;
    enum fake_verb verb;
    struct provider_answer answer;
    provider_done_fn *done;
    provider_machines_fn *done_machines;
    provider_lease_fn *done_lease;
    provider_preflight_fn *done_preflight;
    provider_resources_fn *done_things;
    provider_found_fn *done_found;
    void *context;
    struct str call;
    struct str ids[8]; /* of list_by() */
    size_t id_count;
    bool tells_lease;
    struct cluster_lease lease;
};

void fake_cloud_init(struct fake_cloud *cloud)
{
    *cloud = (struct fake_cloud){.uid = STR("0123456789abcdef0123456789abcdef")};
    arena_init(&cloud->arena);
    buf_init(&cloud->calls, 1 << 20);
    buf_init(&cloud->sent, 1 << 20);
}

void fake_cloud_clear(struct fake_cloud *cloud)
{
    buf_clear(&cloud->calls);
    buf_clear(&cloud->sent);
    arena_clear(&cloud->arena);
}

size_t fake_cloud_living(const struct fake_cloud *cloud)
{
    size_t living = 0;
    for (size_t i = 0; i < cloud->count; i++) {
        living += cloud->machines[i].state < MACHINE_ENDING;
    }
    return living;
}

struct machine *fake_cloud_find(struct fake_cloud *cloud, const char *id)
{
    for (size_t i = 0; i < cloud->count; i++) {
        if (str_is(cloud->machines[i].id, id)) {
            return &cloud->machines[i];
        }
    }
    return NULL;
}

static void reserve(struct fake_cloud *cloud)
{
    if (cloud->count == cloud->capacity) {
        ARENA_GROW(&cloud->arena, cloud->machines, cloud->count, cloud->capacity);
        int64_t *times = ARENA_ARRAY(&cloud->arena, cloud->capacity, int64_t);
        memcpy(times, cloud->made_at ? cloud->made_at : times, cloud->count * sizeof(*times));
        cloud->made_at = times;
    }
}

struct machine *fake_cloud_add(struct fake_cloud *cloud, const char *uid, const char *kind,
                               const char *launch)
{
    struct machine_tag *tags = ARENA_ARRAY(&cloud->arena, 3, struct machine_tag);
    size_t count = 0;
    reserve(cloud);
    tags[count++] = (struct machine_tag){STR("ray-node-type"), str_from(kind)};
    tags[count++] = (struct machine_tag){STR(TAG_LAUNCH), str_from(launch)};
    if (uid) {
        tags[count++] = (struct machine_tag){STR(TAG_CLUSTER_UID), str_from(uid)};
    }
    cloud->made_at[cloud->count] = 0;
    cloud->machines[cloud->count] = (struct machine){
        .id = arena_printf(&cloud->arena, "i-%zu", cloud->count + 1),
        .type = STR("m5.large"),
        .state = MACHINE_RUNNING,
        .tags = tags,
        .tag_count = count,
    };
    return &cloud->machines[cloud->count++];
}

/* ---- answering ---- */

static void unlink_answer(struct answer_later *later)
{
    struct answer_later **at = &later->provider->first;
    while (*at != later) {
        at = &(*at)->next;
    }
    *at = later->next;
    loop_timer_free(later->timer);
}

static void boot(struct fake_provider *provider)
{
    struct fake_cloud *cloud = provider->cloud;
    for (size_t i = 0; i < cloud->count; i++) {
        struct machine *machine = &cloud->machines[i];
        if (machine->state == MACHINE_PENDING &&
            loop_now_ms(provider->loop) >= cloud->made_at[i] + cloud->boot_ms) {
            machine->state = MACHINE_RUNNING;
            machine->private_ip = arena_printf(&cloud->arena, "10.0.0.%zu", i + 10);
        }
    }
}

static struct str uid_of(const struct machine *machine)
{
    for (size_t i = 0; i < machine->tag_count; i++) {
        if (str_is(machine->tags[i].key, TAG_CLUSTER_UID)) {
            return machine->tags[i].value;
        }
    }
    return STR("");
}

/* Instances of launch() have no uid tag: all of them belong to the cluster. */
static bool is_told(const struct answer_later *later, const struct machine *machine)
{
    const struct fake_cloud *cloud = later->provider->cloud;
    bool is_known = later->id_count == 0;
    for (size_t i = 0; i < later->id_count; i++) {
        is_known = is_known || str_eq(later->ids[i], machine->id);
    }
    if (later->verb == FAKE_LIST) {
        return !cloud->is_blind && (machine->token.len > 0 || str_eq(uid_of(machine), cloud->uid));
    }
    return later->verb == FAKE_LIST_BY ? !cloud->is_blind && is_known
                                       : str_eq(machine->token, later->call);
}

static void tell_machines(const struct answer_later *later)
{
    struct fake_cloud *cloud = later->provider->cloud;
    struct machine *found = heap_zeroed((cloud->count + 1) * sizeof(*found));
    size_t count = 0;
    boot(later->provider);
    for (size_t i = 0; later->answer.outcome == OUTCOME_DONE && i < cloud->count; i++) {
        if (is_told(later, &cloud->machines[i])) {
            found[count++] = cloud->machines[i];
        }
    }
    later->done_machines(later->context, &later->answer, found, count);
    free(found);
}

static void tell_found(const struct answer_later *later)
{
    const struct fake_cloud *cloud = later->provider->cloud;
    struct cluster_found found = {.lease_until = INT64_MAX};
    if (cloud->epoch > 0 && !cloud->has_no_lease) {
        found.has_lease = true;
        found.uid = cloud->uid;
        found.lease_until = cloud->lease_until > 0 ? cloud->lease_until : INT64_MAX;
    }
    later->done_found(later->context, &later->answer,
                      later->answer.outcome == OUTCOME_DONE ? &found : NULL);
}

static void answer(void *context)
{
    struct answer_later *later = context;
    unlink_answer(later);
    if (later->done_machines) {
        tell_machines(later);
    } else if (later->done_lease) {
        later->done_lease(later->context, &later->answer,
                          later->tells_lease ? &later->lease : NULL);
    } else if (later->done_preflight) {
        const struct fake_cloud *cloud = later->provider->cloud;
        bool is_done = later->answer.outcome == OUTCOME_DONE;
        later->done_preflight(later->context, &later->answer, is_done ? cloud->findings : NULL,
                              is_done ? cloud->finding_count : 0);
    } else if (later->done_things && later->verb == FAKE_REMOVE) {
        later->done_things(later->context, &later->answer, later->provider->cloud->things,
                           later->provider->cloud->thing_count);
    } else if (later->done_things) {
        later->done_things(later->context, &later->answer, NULL, 0);
    } else if (later->done_found) {
        tell_found(later);
    } else {
        later->done(later->context, &later->answer);
    }
    free(later);
}

static struct answer_later *begin(struct provider *base, enum fake_verb verb, void *context)
{
    struct fake_provider *provider = (struct fake_provider *)base;
    struct fake_cloud *cloud = provider->cloud;
    struct answer_later *later = HEAP_NEW(struct answer_later);
    later->provider = provider;
    later->verb = verb;
    later->context = context;
    later->answer.outcome = cloud->next[verb] != OUTCOME_DONE ? cloud->next[verb]
                                                              : cloud->always[verb];
    if (later->answer.outcome != OUTCOME_DONE) {
        (void)err_set(&later->answer.err, ERR_UNAVAILABLE, "the cloud says no");
    }
    cloud->next[verb] = OUTCOME_DONE;
    cloud->counts[verb]++;
    later->next = provider->first;
    provider->first = later;
    later->timer = loop_timer_new(provider->loop, answer, later);
    if (!cloud->is_mute[verb]) {
        loop_timer_start(later->timer, cloud->delay_ms[verb]);
    }
    return later;
}

static bool acts(const struct answer_later *later)
{
    return later->answer.outcome == OUTCOME_DONE ||
           (later->answer.outcome == OUTCOME_UNKNOWN && later->provider->cloud->acts_anyway);
}

/* ---- the cluster ---- */

static void preflight(struct provider *base, enum preflight_scope scope,
                      provider_preflight_fn *done, void *context)
{
    (void)scope;
    struct answer_later *later = begin(base, FAKE_PREFLIGHT, context);
    buf_add_c(&later->provider->cloud->calls, "survey\n");
    later->done_preflight = done;
}

static size_t zones(struct provider *base, size_t type, struct str *ret_zones, size_t most)
{
    const struct fake_cloud *cloud = ((struct fake_provider *)base)->cloud;
    size_t count = 0;
    (void)type;
    for (; count < most && cloud->zones[count]; count++) {
        ret_zones[count] = str_from(cloud->zones[count]);
    }
    return count;
}

static struct provider_type_facts type_facts(struct provider *base, size_t type)
{
    const struct fake_cloud *cloud = ((struct fake_provider *)base)->cloud;
    return type < FAKE_TYPES_MAX ? cloud->type_facts[type] : (struct provider_type_facts){0};
}

static void find(struct provider *base, provider_found_fn *done, void *context)
{
    begin(base, FAKE_FIND, context)->done_found = done;
}

static void adopt(struct provider *base, struct str uid)
{
    struct fake_cloud *cloud = ((struct fake_provider *)base)->cloud;
    buf_addf(&cloud->calls, "adopt %.*s\n", STR_ARG(uid));
    cloud->uid = arena_str(&cloud->arena, uid);
}

static void remove_all(struct provider *base, provider_resources_fn *done, void *context)
{
    struct answer_later *later = begin(base, FAKE_REMOVE, context);
    buf_add_c(&later->provider->cloud->calls, "remove\n");
    later->done_things = done;
}

static void prepare(struct provider *base, struct str key, provider_resources_fn *done,
                    void *context)
{
    struct answer_later *later = begin(base, FAKE_PREPARE, context);
    buf_addf(&later->provider->cloud->calls, "prepare %.*s\n", STR_ARG(key));
    later->done_things = done;
}

static void tell_lease(struct answer_later *later, provider_lease_fn *done)
{
    const struct fake_cloud *cloud = later->provider->cloud;
    later->done_lease = done;
    later->lease = (struct cluster_lease){.uid = cloud->uid,
                                          .epoch = cloud->epoch,
                                          .holder = cloud->holder,
                                          .lease_object = STR("lt-1")};
    later->tells_lease = later->answer.outcome == OUTCOME_DONE ||
                         later->answer.outcome == OUTCOME_MISMATCH;
}

static void take(struct provider *base, const struct take_request *request, provider_lease_fn *done,
                 void *context)
{
    struct answer_later *later = begin(base, FAKE_TAKE, context);
    struct fake_cloud *cloud = later->provider->cloud;
    buf_addf(&cloud->calls, "take %.*s%s%s\n", STR_ARG(request->holder),
             request->is_new ? ", new" : "", request->lease_object.len > 0 ? ", handed over" : "");
    if (cloud->has_no_lease && !request->may_create) {
        later->answer.outcome = OUTCOME_NOT_FOUND;
        later->done_lease = done;
        later->lease = (struct cluster_lease){.uid = arena_str(&cloud->arena, request->known_uid)};
        later->tells_lease = true;
        return;
    }
    if (acts(later) && cloud->has_no_lease) { /* created again, for the cluster that is known */
        cloud->has_no_lease = false;
        cloud->is_released = true;
        cloud->uid = request->known_uid.len > 0 ? arena_str(&cloud->arena, request->known_uid)
                                                : cloud->uid;
        cloud->epoch = request->known_epoch > cloud->epoch ? request->known_epoch : cloud->epoch;
    }
    if (request->from != 0 && cloud->restarts > 0) {
        cloud->restarts--;
        cloud->epoch++;
    }
    if (acts(later)) {
        if (cloud->epoch == 0 || cloud->is_released || request->from == cloud->epoch) {
            cloud->holder = arena_str(&cloud->arena, request->holder);
            cloud->is_released = false;
            later->provider->epoch = ++cloud->epoch;
        } else {
            later->answer.outcome = OUTCOME_MISMATCH;
            (void)err_set(&later->answer.err, ERR_EXISTS, "held by %.*s", STR_ARG(cloud->holder));
        }
    }
    tell_lease(later, done);
}

static void renew(struct provider *base, int64_t lease_ms, provider_lease_fn *done, void *context)
{
    struct answer_later *later = begin(base, FAKE_RENEW, context);
    (void)lease_ms;
    buf_add_c(&later->provider->cloud->calls, "renew\n");
    if (later->answer.outcome == OUTCOME_DONE &&
        later->provider->epoch != later->provider->cloud->epoch) {
        later->answer.outcome = OUTCOME_MISMATCH;
        (void)err_set(&later->answer.err,
                      later->provider->cloud->epoch == 0 ? ERR_NOT_FOUND : ERR_EXISTS,
                      "not ours any more");
    }
    tell_lease(later, done);
    if (later->provider->cloud->epoch == 0 || later->provider->cloud->hides_lease) {
        later->tells_lease = false;
    }
}

static void release(struct provider *base, provider_done_fn *done, void *context)
{
    struct answer_later *later = begin(base, FAKE_RELEASE, context);
    buf_add_c(&later->provider->cloud->calls, "release\n");
    later->provider->cloud->is_released = true;
    later->done = done;
}

/* ---- instances ---- */

static void list(struct provider *base, provider_machines_fn *done, void *context)
{
    struct answer_later *later = begin(base, FAKE_LIST, context);
    later->done_machines = done;
}

static void list_by(struct provider *base, const struct machine_query *query,
                    provider_machines_fn *done, void *context)
{
    struct answer_later *later = begin(base, FAKE_LIST_BY, context);
    struct fake_cloud *cloud = later->provider->cloud;
    later->done_machines = done;
    for (size_t i = 0; i < query->id_count && i < 8; i++) {
        later->ids[later->id_count++] = arena_str(&cloud->arena, query->ids[i]);
        buf_addf(&cloud->calls, "look up %.*s\n", STR_ARG(query->ids[i]));
    }
}

/* "COUNT TYPE ZONE MARKET TOKEN LAUNCH key=value ...|user data", readable for tests. */
static bool draft(struct provider *base, const struct launch_request *request, struct arena *arena,
                  struct str *ret_call, struct err *err)
{
    AUTO_BUF struct buf text;
    (void)base;
    (void)err;
    buf_init(&text, 1 << 20);
    buf_addf(&text, "%d type-%zu zone-%.*s %s %.*s %.*s", (int)request->count, request->type,
             STR_ARG(request->zone), request->market == MARKET_SPOT ? "spot" : "on-demand",
             STR_ARG(request->token), STR_ARG(launch_number_text(request->launch, arena)));
    for (size_t i = 0; i < request->tag_count; i++) {
        buf_addf(&text, " %.*s=%.*s", STR_ARG(request->tags[i].key),
                 STR_ARG(request->tags[i].value));
    }
    buf_addf(&text, "|%.*s%s", STR_ARG(request->user_data), request->rests ? "|rests" : "");
    *ret_call = arena_str(arena, buf_str(&text));
    return true;
}

static void add_machine(struct fake_provider *provider, struct str call)
{
    struct fake_cloud *cloud = provider->cloud;
    struct str rest = str_sub(call, 0, str_find_char(call, '|'));
    struct machine_tag *tags = ARENA_ARRAY(&cloud->arena, 16, struct machine_tag);
    size_t tag_count = 0;
    reserve(cloud);
    for (int i = 0; i < 5; i++) {
        (void)str_cut(&rest, ' ');
    }
    tags[tag_count++] = (struct machine_tag){STR(TAG_LAUNCH), str_cut(&rest, ' ')};
    while (rest.len > 0) {
        struct str value = str_cut(&rest, ' ');
        struct str key = str_cut(&value, '=');
        tags[tag_count++] = (struct machine_tag){key, value};
    }
    cloud->made_at[cloud->count] = loop_now_ms(provider->loop);
    cloud->machines[cloud->count] = (struct machine){
        .id = arena_printf(&cloud->arena, "i-%zu", cloud->count + 1),
        .type = STR("m5.large"),
        .zone = STR("us-west-2a"),
        .token = call,
        .tags = tags,
        .tag_count = tag_count,
    };
    cloud->count++;
}

/* A creating call is not sent without the lease (docs/dev/providers.md). */
static bool loses_lease(struct answer_later *later)
{
    struct fake_provider *provider = later->provider;
    bool is_held = provider->epoch == provider->cloud->epoch && !provider->cloud->has_lapsed;
    if (!is_held) {
        later->answer.outcome = OUTCOME_NO_LEASE;
        (void)err_set(&later->answer.err, ERR_EXISTS, "not sent: the lease has ended");
    }
    return !is_held;
}

static bool was_launched(const struct fake_cloud *cloud, struct str call)
{
    for (size_t i = 0; i < cloud->count; i++) {
        if (str_eq(cloud->machines[i].token, call)) {
            return true;
        }
    }
    return false;
}

static void launch(struct provider *base, struct str call, provider_machines_fn *done,
                   void *context)
{
    struct answer_later *later = begin(base, FAKE_LAUNCH, context);
    struct fake_cloud *cloud = later->provider->cloud;
    struct str rest = call;
    int64_t count = 0;
    later->done_machines = done;
    later->call = arena_str(&cloud->arena, call);
    (void)!str_to_i64(str_cut(&rest, ' '), &count);
    for (int i = 0; i < 4; i++) {
        (void)str_cut(&rest, ' ');
    }
    buf_addf(&cloud->calls, "launch %.*s\n", STR_ARG(str_cut(&rest, ' ')));
    if (loses_lease(later)) {
        return;
    }
    buf_add(&cloud->sent, call);
    buf_add_c(&cloud->sent, "\n");
    if (acts(later) && !was_launched(cloud, call)) {
        for (int64_t i = 0; i < count; i++) {
            add_machine(later->provider, later->call);
        }
    }
}

static void terminate(struct provider *base, const struct str *ids, size_t count,
                      provider_done_fn *done, void *context)
{
    struct answer_later *later = begin(base, FAKE_TERMINATE, context);
    struct fake_cloud *cloud = later->provider->cloud;
    later->done = done;
    for (size_t i = 0; i < count && cloud->refused; i++) {
        if (str_is(ids[i], cloud->refused)) { /* all instances of a call or none, as in EC2 */
            later->answer.outcome = OUTCOME_INVALID;
            (void)err_set(&later->answer.err, ERR_AUTH, "it may not be terminated");
        }
    }
    buf_add_c(&cloud->calls, "terminate");
    for (size_t i = 0; i < count; i++) {
        buf_addf(&cloud->calls, " %.*s", STR_ARG(ids[i]));
        struct machine *machine = fake_cloud_find(cloud, arena_str(&cloud->arena, ids[i]).ptr);
        if (machine && acts(later)) {
            machine->state = MACHINE_GONE;
        }
    }
    buf_add_c(&cloud->calls, "\n");
}

static void move_all(struct answer_later *later, const char *verb, const struct str *ids,
                     size_t count, enum machine_state from, enum machine_state to)
{
    struct fake_cloud *cloud = later->provider->cloud;
    buf_add_c(&cloud->calls, verb);
    for (size_t i = 0; i < count; i++) {
        buf_addf(&cloud->calls, " %.*s", STR_ARG(ids[i]));
        struct machine *machine = fake_cloud_find(cloud, arena_str(&cloud->arena, ids[i]).ptr);
        if (machine && machine->state == from && acts(later)) {
            machine->state = to;
            cloud->made_at[machine - cloud->machines] = loop_now_ms(later->provider->loop);
        }
    }
    buf_add_c(&cloud->calls, "\n");
}

static void stop(struct provider *base, const struct str *ids, size_t count, provider_done_fn *done,
                 void *context)
{
    struct answer_later *later = begin(base, FAKE_STOP, context);
    later->done = done;
    move_all(later, "stop", ids, count, MACHINE_RUNNING, MACHINE_STOPPED);
}

static void start(struct provider *base, const struct str *ids, size_t count,
                  provider_done_fn *done, void *context)
{
    struct answer_later *later = begin(base, FAKE_START, context);
    later->done = done;
    if (loses_lease(later)) {
        return;
    }
    move_all(later, "start", ids, count, MACHINE_STOPPED, MACHINE_PENDING);
}

static void set_tag(struct fake_cloud *cloud, struct machine *machine,
                    const struct machine_tag *tag)
{
    struct machine_tag *tags = ARENA_ARRAY(&cloud->arena, machine->tag_count + 1,
                                           struct machine_tag);
    size_t count = 0;
    for (size_t i = 0; i < machine->tag_count; i++) {
        if (!str_eq(machine->tags[i].key, tag->key)) {
            tags[count++] = machine->tags[i];
        }
    }
    tags[count++] = (struct machine_tag){arena_str(&cloud->arena, tag->key),
                                         arena_str(&cloud->arena, tag->value)};
    machine->tags = tags;
    machine->tag_count = count;
}

static void tag(struct provider *base, const struct str *ids, size_t count,
                const struct machine_tag *tags, size_t tag_count, provider_done_fn *done,
                void *context)
{
    struct answer_later *later = begin(base, FAKE_TAG, context);
    struct fake_cloud *cloud = later->provider->cloud;
    later->done = done;
    buf_add_c(&cloud->calls, "tag");
    for (size_t i = 0; i < count; i++) {
        buf_addf(&cloud->calls, " %.*s", STR_ARG(ids[i]));
        struct machine *machine = fake_cloud_find(cloud, arena_str(&cloud->arena, ids[i]).ptr);
        for (size_t j = 0; machine && acts(later) && j < tag_count; j++) {
            set_tag(cloud, machine, &tags[j]);
        }
    }
    for (size_t i = 0; i < tag_count; i++) {
        buf_addf(&cloud->calls, " %.*s=%.*s", STR_ARG(tags[i].key), STR_ARG(tags[i].value));
    }
    buf_add_c(&cloud->calls, "\n");
}

/* ---- the table ---- */

static void close_provider(struct provider *base)
{
    struct fake_provider *provider = (struct fake_provider *)base;
    while (provider->first) {
        struct answer_later *later = provider->first;
        unlink_answer(later);
        free(later);
    }
    free(provider);
}

static const struct provider_ops ops = {
    .name = "fake",
    .preflight = preflight,
    .zones = zones,
    .type_facts = type_facts,
    .take = take,
    .renew = renew,
    .release = release,
    .prepare = prepare,
    .find = find,
    .adopt = adopt,
    .remove = remove_all,
    .list = list,
    .list_by = list_by,
    .draft = draft,
    .launch = launch,
    .terminate = terminate,
    .stop = stop,
    .start = start,
    .tag = tag,
    .close = close_provider,
};

struct provider *fake_provider_new(struct fake_cloud *cloud, struct loop *loop)
{
    struct fake_provider *provider = HEAP_NEW(struct fake_provider);
    *provider = (struct fake_provider){.base = {&ops}, .cloud = cloud, .loop = loop};
    return &provider->base;
}
