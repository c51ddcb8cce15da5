/*
 * state.c: Ray's cluster state: one pass over the reply for hashes, and the pending requests.
 */
#include "ray/state.h"

#include "base/arena.h"
#include "base/require.h"
#include "ray/state_internal.h"

#include <string.h>

/* The limit of Ray's own arithmetic and ours; larger values or NaN are invalid. */
#define AMOUNT_MAX 9e14

/* ---- marks ---- */

/*
 * 64-bit hashes. They need not resist attacks, because only the cluster's own GCS produces the
 * bytes. Unordered parts are added up.
 */
static uint64_t stir(uint64_t mark)
{
    mark *= 0x9E3779B97F4A7C15U;
    return mark ^ mark >> 32;
}

uint64_t state_mark_number(uint64_t about, uint64_t number)
{
    return stir(stir(stir(about) ^ number));
}

uint64_t state_mark_bytes(uint64_t about, struct str bytes)
{
    uint64_t mark = stir(about) ^ bytes.len;
    uint64_t word;
    for (; bytes.len >= sizeof(word); bytes.ptr += sizeof(word), bytes.len -= sizeof(word)) {
        memcpy(&word, bytes.ptr, sizeof(word));
        mark = stir(mark ^ word);
    }
    word = 0;
    if (bytes.len > 0) {
        memcpy(&word, bytes.ptr, bytes.len);
    }
    return stir(stir(mark ^ word));
}

/* ---- marks of the load ---- */

/* A field that is part of the hash. With subfields it is a message; otherwise its raw bytes are
 * used. */
struct mark_field {
    uint32_t key;
    const struct mark_field *inside;
    bool is_ordered; /* relative to others of its key */
};

static const struct mark_field rule_fields[] = {{RULE_KEY}, {RULE_OPERATOR}, {RULE_VALUE}, {0}};
static const struct mark_field selector_fields[] = {{SELECTOR_RULE, rule_fields}, {0}};
static const struct mark_field request_fields[] = {
    {REQUEST_AMOUNT},
    {REQUEST_PLACEMENT},
    {REQUEST_SELECTOR, selector_fields, .is_ordered = true},
    {0},
};
static const struct mark_field demand_fields[] = {
    {DEMAND_REQUEST, request_fields},
    {DEMAND_COUNT},
    {0},
};
static const struct mark_field constraint_fields[] = {{CONSTRAINT_DEMAND, demand_fields}, {0}};
static const struct mark_field locality_fields[] = {
    {LOCALITY_CONSTRAINT},
    {LOCALITY_SELECTOR, selector_fields},
    {0},
};
static const struct mark_field bundles_fields[] = {
    {BUNDLES_REQUEST, request_fields},
    {BUNDLES_LOCALITY, locality_fields},
    {0},
};
static const struct mark_field gang_fields[] = {
    {GANG_REQUEST, request_fields},
    {GANG_DETAILS},
    {GANG_BUNDLES, bundles_fields, .is_ordered = true},
    {0},
};

static const struct mark_field *find_field(const struct mark_field *fields, uint32_t key)
{
    for (; fields->key != 0; fields++) {
        if (fields->key == key) {
            return fields;
        }
    }
    return NULL;
}

/* The recursion is as deep as the tables above. */
static uint64_t mark_message(struct str bytes, const struct mark_field *fields, bool *is_broken)
{
    struct wire wire = wire_open(bytes);
    struct wire_field field;
    uint64_t mark = 0;
    uint64_t position = 0;
    while (wire_next(&wire, &field)) {
        const struct mark_field *known = find_field(fields, field.key);
        if (!known) {
            continue;
        }
        uint64_t about = field.key + (known->is_ordered ? ++position << 32 : 0);
        if (known->inside) {
            mark += state_mark_number(about, mark_message(field.bytes, known->inside, is_broken));
        } else if ((field.key & 7) == WIRE_BYTES) {
            mark += state_mark_bytes(about, field.bytes);
        } else {
            mark += state_mark_number(about, field.number);
        }
    }
    *is_broken |= wire.is_broken;
    return mark;
}

/* ---- fields ---- */

typedef void read_fn(struct state_reading *in, struct str bytes, void *item);

/* Parses all fields of a message that have this key, each into its own item. */
static void *state_read_list(struct state_reading *in, struct str message, uint32_t key,
                             size_t size, read_fn *read, size_t *ret_count)
{
    size_t count = wire_count(message, key);
    char *items = arena_array(in->arena, count, size);
    struct wire wire = wire_open(message);
    struct wire_field field;
    size_t at = 0;
    while (wire_next(&wire, &field)) {
        if (field.key == key) {
            require(at < count, "two passes over the same bytes find the same fields");
            read(in, field.bytes, items + at++ * size);
        }
    }
    in->is_broken |= wire.is_broken;
    *ret_count = count;
    return items;
}

/* The last field with this key; empty if there is none. */
static struct str read_one(struct state_reading *in, struct str message, uint32_t key)
{
    struct wire wire = wire_open(message);
    struct wire_field field;
    struct str found = {0};
    while (wire_next(&wire, &field)) {
        if (field.key == key) {
            found = field.bytes;
        }
    }
    in->is_broken |= wire.is_broken;
    return found;
}

static uint64_t state_read_number(struct state_reading *in, struct str message, uint32_t key)
{
    struct wire wire = wire_open(message);
    struct wire_field field;
    uint64_t found = 0;
    while (wire_next(&wire, &field)) {
        if (field.key == key) {
            found = field.number;
        }
    }
    in->is_broken |= wire.is_broken;
    return found;
}

static void state_read_text(struct state_reading *in, struct str bytes, void *item)
{
    (void)in;
    *(struct str *)item = bytes;
}

/* A node has many of these, so each is parsed in one pass. */
void state_read_quantity(struct state_reading *in, struct str bytes, void *item)
{
    struct ray_quantity *quantity = item;
    struct wire wire = wire_open(bytes);
    struct wire_field field;
    double amount = 0;
    quantity->name = (struct str){0};
    while (wire_next(&wire, &field)) {
        if (field.key == ENTRY_KEY) {
            quantity->name = field.bytes;
        } else if (field.key == ENTRY_AMOUNT) {
            amount = wire_double(field.number);
        }
    }
    in->is_broken |= wire.is_broken;
    /* Written so that NaN becomes 0. */
    quantity->amount = amount > 0 ? (amount < AMOUNT_MAX ? amount : AMOUNT_MAX) : 0;
}

/* An entry of a map, or the name and value of a placement, which have the same tags. */
void state_read_label(struct state_reading *in, struct str bytes, void *item)
{
    struct ray_label *label = item;
    struct wire wire = wire_open(bytes);
    struct wire_field field;
    *label = (struct ray_label){0};
    while (wire_next(&wire, &field)) {
        if (field.key == ENTRY_KEY) {
            label->key = field.bytes;
        } else if (field.key == ENTRY_TEXT) {
            label->value = field.bytes;
        }
    }
    in->is_broken |= wire.is_broken;
}

/* ---- requests ---- */

static void state_read_rule(struct state_reading *in, struct str bytes, void *item)
{
    struct ray_rule *rule = item;
    uint64_t op = state_read_number(in, bytes, RULE_OPERATOR);
    rule->key = read_one(in, bytes, RULE_KEY);
    rule->op = op == RAY_IN || op == RAY_NOT_IN ? (enum ray_operator)op : RAY_OPERATOR_OTHER;
    rule->values = state_read_list(in, bytes, RULE_VALUE, sizeof(*rule->values), state_read_text,
                                   &rule->value_count);
}

static void read_selector(struct state_reading *in, struct str bytes, void *item)
{
    struct ray_selector *selector = item;
    selector->rules = state_read_list(in, bytes, SELECTOR_RULE, sizeof(*selector->rules),
                                      state_read_rule, &selector->rule_count);
}

static void state_read_placement(struct state_reading *in, struct str bytes, void *item)
{
    struct ray_placement *placement = item;
    placement->is_apart = wire_count(bytes, PLACEMENT_APART) > 0;
    state_read_label(
        in, read_one(in, bytes, placement->is_apart ? PLACEMENT_APART : PLACEMENT_TOGETHER),
        &placement->label);
}

static void state_read_request(struct state_reading *in, struct str bytes, void *item)
{
    struct ray_request *request = item;
    request->amounts = state_read_list(in, bytes, REQUEST_AMOUNT, sizeof(*request->amounts),
                                       state_read_quantity, &request->amount_count);
    request->selectors = state_read_list(in, bytes, REQUEST_SELECTOR, sizeof(*request->selectors),
                                         read_selector, &request->selector_count);
    request->placements = state_read_list(in, bytes, REQUEST_PLACEMENT,
                                          sizeof(*request->placements), state_read_placement,
                                          &request->placement_count);
}

static void read_demand(struct state_reading *in, struct str bytes, void *item)
{
    struct ray_demand *demand = item;
    demand->bytes = read_one(in, bytes, DEMAND_REQUEST);
    demand->count = (int64_t)state_read_number(in, bytes, DEMAND_COUNT);
    state_read_request(in, demand->bytes, &demand->request);
}

/* Ray adds at least one empty selector to every request, which matches any node. */
static bool state_read_is_empty(const struct ray_request *request)
{
    for (size_t i = 0; i < request->selector_count; i++) {
        if (request->selectors[i].rule_count > 0) {
            return false;
        }
    }
    return request->amount_count == 0 && request->placement_count == 0;
}

/* Removes empty requests. */
static size_t keep_demands(struct ray_demand *demands, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (demands[i].count > 0 && !state_read_is_empty(&demands[i].request)) {
            require(kept <= i, "demands move forward only");
            demands[kept++] = demands[i];
        }
    }
    return kept;
}

static struct ray_demand *state_read_demands(struct state_reading *in, struct str bytes,
                                             uint32_t key, size_t *ret_count)
{
    size_t count;
    struct ray_demand *demands = state_read_list(in, bytes, key, sizeof(*demands), read_demand,
                                                 &count);
    *ret_count = keep_demands(demands, count);
    return demands;
}

/* ---- gangs ---- */

/* Adds these rules to each selector of a request: the gang must return to the location of its
 * running part. */
static void pin_request(struct state_reading *in, struct ray_request *request,
                        const struct ray_selector *pin)
{
    size_t count = request->selector_count > 0 ? request->selector_count : 1;
    struct ray_selector *pinned = ARENA_ARRAY(in->arena, count, struct ray_selector);
    for (size_t i = 0; i < count; i++) {
        struct ray_selector old = {0};
        if (i < request->selector_count) {
            old = request->selectors[i];
        }
        struct ray_rule *rules = ARENA_ARRAY(in->arena, old.rule_count + pin->rule_count,
                                             struct ray_rule);
        if (old.rule_count > 0) {
            memcpy(rules, old.rules, old.rule_count * sizeof(*rules));
        }
        memcpy(rules + old.rule_count, pin->rules, pin->rule_count * sizeof(*rules));
        pinned[i] = (struct ray_selector){rules, old.rule_count + pin->rule_count};
    }
    request->selectors = pinned;
    request->selector_count = count;
}

enum { STRATEGY_STRICT_PACK = 2 }; /* Ray's value; the only strategy it uses with labels */

static void read_locality(struct state_reading *in, struct str bytes, struct ray_gang *gang,
                          struct ray_request *requests)
{
    struct str constraint = read_one(in, bytes, LOCALITY_CONSTRAINT);
    struct ray_selector pin = {0};
    if (state_read_number(in, constraint, LOCALITY_STRATEGY) == STRATEGY_STRICT_PACK) {
        gang->locality = read_one(in, constraint, LOCALITY_LABEL);
    }
    read_selector(in, read_one(in, bytes, LOCALITY_SELECTOR), &pin);
    for (size_t i = 0; pin.rule_count > 0 && i < gang->request_count; i++) {
        pin_request(in, &requests[i], &pin);
    }
}

/* The first field with this key; empty if there is none. */
static struct str read_first(struct str message, uint32_t key)
{
    struct wire wire = wire_open(message);
    struct wire_field field;
    while (wire_next(&wire, &field)) {
        if (field.key == key) {
            return field.bytes;
        }
    }
    return (struct str){0};
}

/* The requests are included twice; the deprecated ones lack selectors. */
static void state_read_gang(struct state_reading *in, struct str bytes, void *item)
{
    struct ray_gang *gang = item;
    struct str bundles = read_first(bytes, GANG_BUNDLES);
    struct ray_request *requests = state_read_list(in, bundles, BUNDLES_REQUEST, sizeof(*requests),
                                                   state_read_request, &gang->request_count);
    gang->bytes = bytes;
    gang->details = read_one(in, bytes, GANG_DETAILS);
    if (gang->request_count > 0) {
        read_locality(in, read_one(in, bundles, BUNDLES_LOCALITY), gang, requests);
    } else {
        requests = state_read_list(in, bytes, GANG_REQUEST, sizeof(*requests), state_read_request,
                                   &gang->request_count);
    }
    gang->requests = requests;
}

static size_t keep_gangs(struct ray_gang *gangs, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (gangs[i].request_count > 0) {
            gangs[kept++] = gangs[i];
        }
    }
    return kept;
}

/* ---- the reply ---- */

bool state_garbled(struct err *err)
{
    return err_set(err, ERR_PROTOCOL, "invalid cluster state from Ray");
}

/* Fails on a reply without a state, which would look like a cluster without nodes. */
static bool state_find(struct str reply, struct str *ret_state, struct err *err)
{
    struct wire wire = wire_open(reply);
    struct wire_field field;
    struct str state = {0};
    size_t count = 0;
    while (wire_next(&wire, &field)) {
        if (field.key == REPLY_STATE) {
            state = field.bytes;
            count++;
        }
    }
    if (wire.is_broken || count != 1) {
        return state_garbled(err);
    }
    *ret_state = state;
    return true;
}

/* Handles one field of the state; false if it is malformed. */
static bool pass_field(const struct wire_field *field, ray_node_summary_fn *node, void *context,
                       struct ray_state *state)
{
    bool is_broken = false;
    struct ray_node_summary glance;
    switch (field->key) {
    case STATE_VERSION:
        state->version = (int64_t)field->number;
        break;
    case STATE_SESSION:
        state->session = field->bytes;
        break;
    case STATE_NODE:
        if (!state_node_summarize(field->bytes, &glance)) {
            return false;
        }
        if (glance.id.len == RAY_ID_BYTES) {
            state->node_count++;
            node(context, &glance);
        }
        break;
    case STATE_DEMAND:
        state->load_mark += state_mark_number(
            field->key, mark_message(field->bytes, demand_fields, &is_broken));
        break;
    case STATE_GANG:
        state->load_mark += state_mark_number(field->key,
                                              mark_message(field->bytes, gang_fields, &is_broken));
        break;
    case STATE_CONSTRAINT: /* an empty one is equivalent to none: it adds nothing */
        state->load_mark += mark_message(field->bytes, constraint_fields, &is_broken);
        break;
    default:
        break;
    }
    return !is_broken;
}

bool ray_state_pass(struct str bytes, ray_node_summary_fn *node, void *context,
                    struct ray_state *ret_state, struct err *err)
{
    struct str inside;
    if (!state_find(bytes, &inside, err)) {
        return false;
    }
    struct ray_state state = {0};
    struct wire wire = wire_open(inside);
    struct wire_field field;
    while (wire_next(&wire, &field)) {
        if (!pass_field(&field, node, context, &state)) {
            return state_garbled(err);
        }
    }
    if (wire.is_broken) {
        return state_garbled(err);
    }
    *ret_state = state;
    return true;
}

bool ray_state_load(struct str bytes, struct arena *arena, struct ray_load_read *ret_load,
                    struct err *err)
{
    struct str state;
    if (!state_find(bytes, &state, err)) {
        return false;
    }
    struct state_reading in = {.arena = arena};
    struct ray_load_read load = {0};
    size_t gang_count;
    struct ray_gang *gangs = state_read_list(&in, state, STATE_GANG, sizeof(*gangs),
                                             state_read_gang, &gang_count);
    load.gangs = gangs;
    load.gang_count = keep_gangs(gangs, gang_count);
    load.demands = state_read_demands(&in, state, STATE_DEMAND, &load.demand_count);
    load.constraint = state_read_demands(&in, read_one(&in, state, STATE_CONSTRAINT),
                                         CONSTRAINT_DEMAND, &load.constraint_count);
    if (in.is_broken) {
        return state_garbled(err);
    }
    *ret_load = load;
    return true;
}
