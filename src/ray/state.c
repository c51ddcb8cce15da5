/*
 * state.c: one pass over Ray's cluster state: frequently changing fields, and hashes of the rest.
 */
#include "ray/state.h"

#include "ray/state_internal.h"

#include <string.h>

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

static uint64_t mark_number(uint64_t about, uint64_t number)
{
    return stir(stir(stir(about) ^ number));
}

static uint64_t mark_bytes(uint64_t about, struct str bytes)
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

/* ---- the load ---- */

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
            mark += mark_number(about, mark_message(field.bytes, known->inside, is_broken));
        } else if ((field.key & 7) == WIRE_BYTES) {
            mark += mark_bytes(about, field.bytes);
        } else {
            mark += mark_number(about, field.number);
        }
    }
    *is_broken |= wire.is_broken;
    return mark;
}

/* ---- nodes ---- */

enum ray_node_status state_node_status(uint64_t number)
{
    return number <= RAY_NODE_DRAINING ? (enum ray_node_status)number : RAY_NODE_UNSPECIFIED;
}

/* The parts of a hash; complete only at the end of the node. */
struct node_marks {
    struct str type, address, machine;
    uint64_t of_living; /* resources and labels: dead nodes have none */
    uint64_t of_activity;
};

static uint64_t add_marks(const struct ray_node_summary *glance, const struct node_marks *marks)
{
    uint64_t mark = mark_bytes(NODE_ID, glance->id) +
                    mark_bytes(NODE_INSTANCE, glance->instance_id) +
                    mark_bytes(NODE_TYPE, marks->type) + mark_bytes(NODE_ADDRESS, marks->address) +
                    mark_bytes(NODE_MACHINE, marks->machine) +
                    mark_number(NODE_STATUS, (uint64_t)glance->status);
    if (glance->status != RAY_NODE_DEAD) {
        mark += marks->of_living;
    }
    if (glance->status == RAY_NODE_RUNNING) {
        mark += marks->of_activity;
    }
    return mark;
}

static void state_take_field(const struct wire_field *field, struct ray_node_summary *glance,
                             struct node_marks *marks)
{
    switch (field->key) {
    case NODE_ID:
        glance->id = field->bytes;
        break;
    case NODE_INSTANCE:
        glance->instance_id = field->bytes;
        break;
    case NODE_TYPE:
        marks->type = field->bytes;
        break;
    case NODE_ADDRESS:
        marks->address = field->bytes;
        break;
    case NODE_MACHINE:
        marks->machine = field->bytes;
        break;
    case NODE_STATUS:
        glance->status = state_node_status(field->number);
        break;
    case NODE_IDLE:
        glance->idle_ms = (int64_t)field->number;
        break;
    case NODE_AVAILABLE:
    case NODE_TOTAL:
    case NODE_PUT_LABEL:
    case NODE_LABEL:
        marks->of_living += mark_bytes(field->key, field->bytes);
        break;
    case NODE_ACTIVITY:
        marks->of_activity += mark_bytes(field->key, field->bytes);
        break;
    default:
        break;
    }
}

static bool glance_at(struct str bytes, struct ray_node_summary *ret_glance)
{
    struct wire wire = wire_open(bytes);
    struct wire_field field;
    struct ray_node_summary glance = {.bytes = bytes};
    struct node_marks marks = {0};
    while (wire_next(&wire, &field)) {
        state_take_field(&field, &glance, &marks);
    }
    if (glance.status != RAY_NODE_IDLE || glance.idle_ms < 0) {
        glance.idle_ms = 0;
    }
    glance.mark = add_marks(&glance, &marks);
    *ret_glance = glance;
    return !wire.is_broken;
}

/* ---- the reply ---- */

bool state_garbled(struct err *err)
{
    return err_set(err, ERR_PROTOCOL, "invalid cluster state from Ray");
}

/* Fails on a reply without a state, which would look like a cluster without nodes. */
bool state_find(struct str reply, struct str *ret_state, struct err *err)
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
        if (!glance_at(field->bytes, &glance)) {
            return false;
        }
        if (glance.id.len == RAY_ID_BYTES) {
            state->node_count++;
            node(context, &glance);
        }
        break;
    case STATE_DEMAND:
        state->load_mark += mark_number(field->key,
                                        mark_message(field->bytes, demand_fields, &is_broken));
        break;
    case STATE_GANG:
        state->load_mark += mark_number(field->key,
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
