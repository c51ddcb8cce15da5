/* handover.c: reads and writes the file, and stores it in the journal. */
#include "app/handover/handover.h"

#include "app/control/journal_time.h"
#include "base/encode.h"
#include "io/json_line.h"

#include <inttypes.h>

enum { MACHINES_MAX = 1000000 };

#define EXPECTED "a handover"

/* ---- writing ---- */

static void put_u64(json_t *json, const char *name, uint64_t value)
{
    json_object_set_new(json, name, json_integer((json_int_t)value));
}

static json_t *intent_json(const struct journal_intent *intent)
{
    json_t *json = json_object();
    AUTO_BUF struct buf call;
    buf_init(&call, HANDOVER_BYTES_MAX);
    encode_base64(&call, intent->call);
    put_u64(json, "launch", intent->launch);
    put_u64(json, "offering", intent->offering);
    json_put_number(json, "count", intent->count);
    json_put_text(json, "token", intent->token);
    json_put_text(json, "call", buf_str(&call));
    json_put_number(json, "wall_ms", intent->wall_ms);
    if (intent->is_settled) {
        put_u64(json, "outcome", intent->outcome);
    }
    return json;
}

static void put_lists(json_t *json, const struct handover *handover)
{
    json_t *environment = json_object();
    json_t *machines = json_array();
    json_t *intents = json_array();
    for (size_t i = 0; i < handover->environment_count; i++) {
        struct str name = handover->environment[i].name;
        struct str value = handover->environment[i].value;
        json_object_setn_new(environment, name.ptr, name.len, json_stringn(value.ptr, value.len));
    }
    for (size_t i = 0; i < handover->machine_count; i++) {
        json_t *machine = json_object();
        put_u64(machine, "instance", handover->machines[i].instance);
        json_put_text(machine, "id", handover->machines[i].id);
        json_array_append_new(machines, machine);
    }
    for (size_t i = 0; i < handover->intent_count; i++) {
        json_array_append_new(intents, intent_json(&handover->intents[i]));
    }
    json_t *launched = json_array();
    for (size_t i = 0; i < handover->launched_count; i++) {
        json_t *one = json_object();
        put_u64(one, "launch", handover->launched[i].launch);
        put_u64(one, "instance", handover->launched[i].instance);
        put_u64(one, "wall_ms", (uint64_t)handover->launched[i].wall_ms);
        json_array_append_new(launched, one);
    }
    json_object_set_new(json, "launched", launched);
    json_object_set_new(json, "environment", environment);
    json_object_set_new(json, "machines", machines);
    json_object_set_new(json, "intents", intents);
}

void handover_write(const struct handover *handover, struct buf *out)
{
    json_t *json = json_object();
    json_put_number(json, "format", HANDOVER_FORMAT);
    json_put_text(json, "uid", handover->uid);
    put_u64(json, "epoch", handover->epoch);
    json_put_text(json, "anchor", handover->lease_object);
    put_u64(json, "sole_writer_epoch", handover->sole_writer_epoch);
    put_u64(json, "sole_writer_since", (uint64_t)handover->sole_writer_since);
    put_u64(json, "written_ms", (uint64_t)handover->written_ms);
    json_put_number(json, "serial", handover->serial);
    json_put_text(json, "config", handover->config);
    json_put_text(json, "secret", handover->secret);
    json_put_text(json, "key", handover->key);
    json_put_text(json, "public_key", handover->public_key);
    json_put_text(json, "head_id", handover->head_id);
    json_put_text(json, "head_private_ip", handover->head_private_ip);
    json_put_text(json, "head_public_ip", handover->head_public_ip);
    json_put_text(json, "type_zones", handover->type_zones);
    json_put_text(json, "type_images", handover->type_images);
    json_put_text(json, "type_disks", handover->type_disks);
    json_put_text(json, "prices", handover->prices);
    json_put_text(json, "runtime_hash", handover->runtime_hash);
    json_put_text(json, "contents_hash", handover->contents_hash);
    json_object_set_new(json, "restarts_ray", json_boolean(handover->restarts_ray));
    put_lists(json, handover);
    json_put_out(json, true, out);
}

/* ---- reading ---- */

bool handover_missing(const char *path, struct err *err)
{
    return err_set(err, ERR_NOT_FOUND,
                   "%s not found: this machine is not the head of a cluster. Run `shoal up` to "
                   "create one",
                   path);
}

static bool read_intent(const json_t *json, struct arena *arena, struct journal_intent *ret_intent)
{
    AUTO_BUF struct buf call;
    buf_init(&call, HANDOVER_BYTES_MAX);
    decode_base64(&call, json_take_text(json, "call", arena));
    const json_t *outcome = json_object_get(json, "outcome");
    *ret_intent = (struct journal_intent){
        .launch = (uint64_t)json_take_number(json, "launch", 0, INT64_MAX),
        .offering = (uint32_t)json_take_number(json, "offering", 0, UINT32_MAX),
        .count = json_take_number(json, "count", 0, MACHINES_MAX),
        .token = json_take_text(json, "token", arena),
        .call = arena_str(arena, buf_str(&call)),
        .wall_ms = json_take_number(json, "wall_ms", 0, INT64_MAX),
        .is_settled = outcome != NULL,
        .outcome = (enum outcome)json_take_number(json, "outcome", 0, OUTCOME_COUNT - 1),
    };
    return ret_intent->launch != 0 && ret_intent->token.len > 0;
}

static bool read_launched(const json_t *list, struct arena *arena, struct handover *handover)
{
    size_t count = json_array_size(list);
    struct journal_launched *launched = ARENA_ARRAY(arena, count, struct journal_launched);
    bool ok = true;
    for (size_t i = 0; i < count; i++) {
        const json_t *one = json_array_get(list, i);
        launched[i].launch = (uint64_t)json_take_number(one, "launch", 0, INT64_MAX);
        launched[i].instance = (uint64_t)json_take_number(one, "instance", 0, INT64_MAX);
        launched[i].wall_ms = json_take_number(one, "wall_ms", 0, INT64_MAX);
        ok = ok && launched[i].launch != 0 && launched[i].instance != INSTANCE_NONE;
    }
    handover->launched = launched;
    handover->launched_count = count;
    return ok;
}

static bool handover_read_lists(const json_t *json, struct arena *arena, struct handover *handover)
{
    json_t *environment = json_object_get(json, "environment");
    const json_t *machines = json_object_get(json, "machines");
    const json_t *intents = json_object_get(json, "intents");
    struct step_variable *variables = ARENA_ARRAY(arena, json_object_size(environment),
                                                  struct step_variable);
    struct handover_machine *known = ARENA_ARRAY(arena, json_array_size(machines),
                                                 struct handover_machine);
    struct journal_intent *open = ARENA_ARRAY(arena, json_array_size(intents),
                                              struct journal_intent);
    const char *name;
    json_t *value;
    json_object_foreach(environment, name, value)
    {
        variables[handover->environment_count++] = (struct step_variable){
            arena_str(arena, str_from(name)), json_take_text(environment, name, arena)};
    }
    bool ok = true;
    for (size_t i = 0; i < json_array_size(machines); i++) {
        const json_t *machine = json_array_get(machines, i);
        known[i].instance = (uint64_t)json_take_number(machine, "instance", 0, INT64_MAX);
        known[i].id = json_take_text(machine, "id", arena);
        ok = ok && known[i].instance != INSTANCE_NONE && known[i].id.len > 0;
    }
    for (size_t i = 0; i < json_array_size(intents); i++) {
        ok = read_intent(json_array_get(intents, i), arena, &open[i]) && ok;
    }
    handover->environment = variables;
    handover->machines = known;
    handover->machine_count = json_array_size(machines);
    handover->intents = open;
    handover->intent_count = json_array_size(intents);
    return read_launched(json_object_get(json, "launched"), arena, handover) && ok;
}

bool handover_read(struct str text, struct arena *arena, struct handover *ret_handover,
                   struct err *err)
{
    json_t *json;
    if (!json_line_read(text, EXPECTED, &json, err)) {
        return false;
    }
    int64_t format = json_take_number(json, "format", 0, INT64_MAX);
    struct handover handover = {
        .uid = json_take_text(json, "uid", arena),
        .epoch = (uint64_t)json_take_number(json, "epoch", 0, INT64_MAX),
        .lease_object = json_take_text(json, "anchor", arena),
        .sole_writer_epoch = (uint64_t)json_take_number(json, "sole_writer_epoch", 0, INT64_MAX),
        .sole_writer_since = json_take_number(json, "sole_writer_since", 0, INT64_MAX),
        .written_ms = json_take_number(json, "written_ms", 0, INT64_MAX),
        .serial = json_take_number(json, "serial", 0, INT64_MAX),
        .config = json_take_text(json, "config", arena),
        .secret = json_take_text(json, "secret", arena),
        .key = json_take_text(json, "key", arena),
        .public_key = json_take_text(json, "public_key", arena),
        .head_id = json_take_text(json, "head_id", arena),
        .head_private_ip = json_take_text(json, "head_private_ip", arena),
        .head_public_ip = json_take_text(json, "head_public_ip", arena),
        .type_zones = json_take_text(json, "type_zones", arena),
        .type_images = json_take_text(json, "type_images", arena),
        .type_disks = json_take_text(json, "type_disks", arena),
        .prices = json_take_text(json, "prices", arena),
        .runtime_hash = json_take_text(json, "runtime_hash", arena),
        .contents_hash = json_take_text(json, "contents_hash", arena),
        .restarts_ray = json_is_true(json_object_get(json, "restarts_ray")),
    };
    bool ok = handover_read_lists(json, arena, &handover) && handover.uid.len > 0 &&
              handover.config.len > 0 && handover.head_id.len > 0;
    json_decref(json);
    if (format > HANDOVER_FORMAT) {
        return err_set(err, ERR_PROTOCOL,
                       "this handover was written by a newer version of Shoal (format %" PRId64
                       "; this version supports up to %d)",
                       format, HANDOVER_FORMAT);
    }
    if (!ok) {
        return err_set(err, ERR_PROTOCOL, "this handover is damaged");
    }
    *ret_handover = handover;
    return true;
}

/* ---- the journal ---- */

struct handover_gathering {
    struct arena *arena;
    struct handover_machine *machines;
    struct journal_intent *intents;
    struct journal_launched *launched;
    size_t machine_count, machine_capacity, intent_count, intent_capacity;
    size_t launched_count, launched_capacity;
};

static void gather_machine(void *context, uint64_t instance, struct str id)
{
    struct handover_gathering *all = context;
    ARENA_PUSH(all->arena, all->machines, all->machine_count,
               all->machine_capacity) = (struct handover_machine){instance,
                                                                  arena_str(all->arena, id)};
}

static void gather_intent(void *context, const struct journal_intent *intent)
{
    struct handover_gathering *all = context;
    struct journal_intent *kept = &ARENA_PUSH(all->arena, all->intents, all->intent_count,
                                              all->intent_capacity);
    *kept = *intent;
    kept->token = arena_str(all->arena, intent->token);
    kept->call = arena_str(all->arena, intent->call);
}

static void gather_launched(void *context, const struct journal_launched *launched)
{
    struct handover_gathering *all = context;
    ARENA_PUSH(all->arena, all->launched, all->launched_count, all->launched_capacity) = *launched;
}

bool handover_gather(struct journal *journal, struct arena *arena, struct handover *handover,
                     struct err *err)
{
    struct handover_gathering all = {.arena = arena};
    uint64_t since;
    if (!journal_get_number(journal, "sole_writer_epoch", &handover->sole_writer_epoch, err) ||
        !journal_get_number(journal, "sole_writer_since", &since, err) ||
        !journal_machines(journal, gather_machine, &all, err) ||
        !journal_intents(journal, gather_intent, &all, err) ||
        !journal_all_launched(journal, gather_launched, &all, err)) {
        return false;
    }
    handover->sole_writer_since = (int64_t)since;
    handover->launched = all.launched;
    handover->launched_count = all.launched_count;
    handover->machines = all.machines;
    handover->machine_count = all.machine_count;
    handover->intents = all.intents;
    handover->intent_count = all.intent_count;
    return true;
}

/* Converts the laptop's time to the head's. */
static int64_t shifted(int64_t laptop_ms, int64_t shift_ms)
{
    return laptop_ms + shift_ms > 0 ? laptop_ms + shift_ms : 1;
}

static bool take_launches(struct journal *journal, const struct handover *handover,
                          int64_t shift_ms, struct err *err)
{
    bool ok = true;
    for (size_t i = 0; ok && i < handover->intent_count; i++) {
        struct journal_intent intent = handover->intents[i];
        intent.wall_ms = shifted(intent.wall_ms, shift_ms);
        ok = journal_adopt_intent(journal, &intent, err);
    }
    for (size_t i = 0; ok && i < handover->launched_count; i++) {
        struct journal_launched launched = handover->launched[i];
        launched.wall_ms = shifted(launched.wall_ms, shift_ms);
        ok = journal_launched(journal, &launched, err);
    }
    return ok;
}

/* The head's journal time minus the laptop's. */
static int64_t shift_of(struct journal *journal, const struct handover *handover)
{
    struct arena arena;
    arena_init(&arena);
    int64_t base_ms = journal_time_base(journal, &clock_of_machine, &arena);
    arena_clear(&arena);
    return clock_monotonic_ms(&clock_of_machine) + base_ms - handover->written_ms;
}

static bool handover_take_all(struct journal *journal, const struct handover *handover,
                              struct err *err)
{
    int64_t shift_ms = handover->written_ms > 0 ? shift_of(journal, handover) : 0;
    int64_t since = handover->sole_writer_since > 0 ? shifted(handover->sole_writer_since, shift_ms)
                                                    : 0;
    bool ok = journal_set(journal, "uid", handover->uid, err) &&
              journal_set(journal, SERVICE_GOAL, STR(""), err) &&
              journal_set_number(journal, "handover", (uint64_t)handover->serial, err);
    if (handover->head_id.len > 0) {
        ok = ok && journal_set(journal, "head-id", handover->head_id, err);
    }
    if (handover->epoch != 0) {
        /* The launches use the offering numbers of this handover. */
        ok = ok && journal_set(journal, "offerings", STR(""), err) &&
             journal_set_number(journal, "epoch", handover->epoch, err) &&
             journal_set_number(journal, "sole_writer_epoch", handover->sole_writer_epoch, err) &&
             journal_set_number(journal, "sole_writer_since", (uint64_t)since, err);
    }
    for (size_t i = 0; ok && i < handover->machine_count; i++) {
        ok = journal_adopt(journal, handover->machines[i].instance, handover->machines[i].id, err);
    }
    return ok && take_launches(journal, handover, shift_ms, err);
}

/* If the laptop lost the lease to us, only its configuration is used: our journal is newer. */
static struct handover without_records(const struct handover *handover)
{
    struct handover less = *handover;
    less.epoch = less.sole_writer_epoch = 0;
    less.machine_count = less.intent_count = less.launched_count = 0;
    return less;
}

/* With an epoch, the laptop held the lease until now and its records are complete. Numbers and
 * machines in the journal of a head that was stopped and started again are discarded. */
bool handover_take(struct journal *journal, const struct handover *handover, struct err *err)
{
    uint64_t epoch;
    if (!journal_get_number(journal, "epoch", &epoch, err)) {
        return false;
    }
    struct handover taken = epoch > handover->epoch ? without_records(handover) : *handover;
    if (!journal_begin(journal, err)) {
        return false;
    }
    bool ok = (taken.epoch == 0 || journal_forget_machines(journal, err)) &&
              handover_take_all(journal, &taken, err);
    return journal_end(journal, ok, err);
}
