/* state_read.c: parses nodes and pending requests in Ray's cluster state. */
#include "base/arena.h"
#include "ray/state.h"
#include "ray/state_internal.h"

#include <string.h>

/* The limit of Ray's own arithmetic and ours; larger values or NaN are invalid. */
#define AMOUNT_MAX 9e14

/* Malformed bytes are detected at the end: until then they are parsed as far as possible. */
struct state_read_reading {
    struct arena *arena;
    bool is_broken;
};

typedef void read_fn(struct state_read_reading *in, struct str bytes, void *item);

/* Parses all fields of a message that have this key, each into its own item. */
static void *state_read_list(struct state_read_reading *in, struct str message, uint32_t key,
                             size_t size, read_fn *read, size_t *ret_count)
{
    size_t count = wire_count(message, key);
    char *items = arena_array(in->arena, count, size);
    struct wire wire = wire_open(message);
    struct wire_field field;
    size_t at = 0;
    while (wire_next(&wire, &field)) {
        if (field.key == key) {
            read(in, field.bytes, items + at++ * size);
        }
    }
    in->is_broken |= wire.is_broken;
    *ret_count = count;
    return items;
}

/* The last field with this key; empty if there is none. */
static struct str read_one(struct state_read_reading *in, struct str message, uint32_t key)
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

static uint64_t state_read_number(struct state_read_reading *in, struct str message, uint32_t key)
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

static void state_read_text(struct state_read_reading *in, struct str bytes, void *item)
{
    (void)in;
    *(struct str *)item = bytes;
}

/* A node has many of these, so each is parsed in one pass. */
static void read_quantity(struct state_read_reading *in, struct str bytes, void *item)
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
static void read_label(struct state_read_reading *in, struct str bytes, void *item)
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

/* ---- nodes ---- */

/* The counts of a node's lists, so that it is parsed in two passes instead of one per list. */
struct node_lists {
    enum ray_node_status status;
    size_t totals, available, labels, put_labels, activities;
};

static void count_field(const struct wire_field *field, struct ray_node_detail *node,
                        struct node_lists *lists)
{
    switch (field->key) {
    case NODE_STATUS:
        lists->status = state_node_status(field->number);
        break;
    case NODE_TYPE:
        node->type = field->bytes;
        break;
    case NODE_ADDRESS:
        node->address = field->bytes;
        break;
    case NODE_MACHINE:
        node->machine = field->bytes;
        break;
    case NODE_TOTAL:
        lists->totals++;
        break;
    case NODE_AVAILABLE:
        lists->available++;
        break;
    case NODE_LABEL:
        lists->labels++;
        break;
    case NODE_PUT_LABEL:
        lists->put_labels++;
        break;
    case NODE_ACTIVITY:
        lists->activities++;
        break;
    default:
        break;
    }
}

/* Added labels follow those of the start of the node. */
static void state_read_lists(struct state_read_reading *in, struct str bytes,
                             struct node_lists lists, struct ray_node_detail *node)
{
    struct ray_quantity *totals = ARENA_ARRAY(in->arena, lists.totals, struct ray_quantity);
    struct ray_quantity *available = ARENA_ARRAY(in->arena, lists.available, struct ray_quantity);
    struct ray_label *labels = ARENA_ARRAY(in->arena, lists.labels + lists.put_labels,
                                           struct ray_label);
    struct str *activities = ARENA_ARRAY(in->arena, lists.activities, struct str);
    struct wire wire = wire_open(bytes);
    struct wire_field field;
    size_t put = lists.labels;
    while (wire_next(&wire, &field)) {
        if (field.key == NODE_TOTAL) {
            read_quantity(in, field.bytes, &totals[node->total_count++]);
        } else if (field.key == NODE_AVAILABLE) {
            read_quantity(in, field.bytes, &available[node->available_count++]);
        } else if (field.key == NODE_LABEL) {
            read_label(in, field.bytes, &labels[node->label_count++]);
        } else if (field.key == NODE_PUT_LABEL) {
            read_label(in, field.bytes, &labels[put++]);
        } else if (field.key == NODE_ACTIVITY && lists.status == RAY_NODE_RUNNING) {
            activities[node->activity_count++] = field.bytes;
        }
    }
    node->totals = totals;
    node->available = available;
    node->labels = labels;
    node->label_count = put;
    node->activities = activities;
}

static bool is_of_head(const struct ray_node_detail *node)
{
    for (size_t i = 0; i < node->total_count; i++) {
        if (str_is(node->totals[i].name, "node:__internal_head__")) {
            return true;
        }
    }
    return false;
}

bool ray_node_read(struct str bytes, struct arena *arena, struct ray_node_detail *ret_node,
                   struct err *err)
{
    struct state_read_reading in = {.arena = arena};
    struct wire wire = wire_open(bytes);
    struct wire_field field;
    struct ray_node_detail node = {0};
    struct node_lists lists = {0};
    while (wire_next(&wire, &field)) {
        count_field(&field, &node, &lists);
    }
    in.is_broken = wire.is_broken;
    if (lists.status != RAY_NODE_DEAD) {
        state_read_lists(&in, bytes, lists, &node);
        node.is_head = is_of_head(&node);
    }
    if (in.is_broken) {
        return state_garbled(err);
    }
    *ret_node = node;
    return true;
}

/* ---- requests ---- */

static void state_read_rule(struct state_read_reading *in, struct str bytes, void *item)
{
    struct ray_rule *rule = item;
    uint64_t op = state_read_number(in, bytes, RULE_OPERATOR);
    rule->key = read_one(in, bytes, RULE_KEY);
    rule->op = op == RAY_IN || op == RAY_NOT_IN ? (enum ray_operator)op : RAY_OPERATOR_OTHER;
    rule->values = state_read_list(in, bytes, RULE_VALUE, sizeof(*rule->values), state_read_text,
                                   &rule->value_count);
}

static void read_selector(struct state_read_reading *in, struct str bytes, void *item)
{
    struct ray_selector *selector = item;
    selector->rules = state_read_list(in, bytes, SELECTOR_RULE, sizeof(*selector->rules),
                                      state_read_rule, &selector->rule_count);
}

static void state_read_placement(struct state_read_reading *in, struct str bytes, void *item)
{
    struct ray_placement *placement = item;
    placement->is_apart = wire_count(bytes, PLACEMENT_APART) > 0;
    read_label(in, read_one(in, bytes, placement->is_apart ? PLACEMENT_APART : PLACEMENT_TOGETHER),
               &placement->label);
}

static void state_read_request(struct state_read_reading *in, struct str bytes, void *item)
{
    struct ray_request *request = item;
    request->amounts = state_read_list(in, bytes, REQUEST_AMOUNT, sizeof(*request->amounts),
                                       read_quantity, &request->amount_count);
    request->selectors = state_read_list(in, bytes, REQUEST_SELECTOR, sizeof(*request->selectors),
                                         read_selector, &request->selector_count);
    request->placements = state_read_list(in, bytes, REQUEST_PLACEMENT,
                                          sizeof(*request->placements), state_read_placement,
                                          &request->placement_count);
}

static void read_demand(struct state_read_reading *in, struct str bytes, void *item)
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
            demands[kept++] = demands[i];
        }
    }
    return kept;
}

static struct ray_demand *state_read_demands(struct state_read_reading *in, struct str bytes,
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
static void pin_request(struct state_read_reading *in, struct ray_request *request,
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

static void read_locality(struct state_read_reading *in, struct str bytes, struct ray_gang *gang,
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
static void state_read_gang(struct state_read_reading *in, struct str bytes, void *item)
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

/* ---- the load ---- */

bool ray_state_load(struct str bytes, struct arena *arena, struct ray_load_read *ret_load,
                    struct err *err)
{
    struct str state;
    if (!state_find(bytes, &state, err)) {
        return false;
    }
    struct state_read_reading in = {.arena = arena};
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
