/* state_node.c: the nodes in Ray's cluster state: their changing fields and hash, and all of it. */
#include "base/arena.h"
#include "base/require.h"
#include "ray/state.h"
#include "ray/state_internal.h"

/* ---- summaries ---- */

/* Unknown values are treated as unspecified. */
static enum ray_node_status node_status(uint64_t number)
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
    uint64_t mark = state_mark_bytes(NODE_ID, glance->id) +
                    state_mark_bytes(NODE_INSTANCE, glance->instance_id) +
                    state_mark_bytes(NODE_TYPE, marks->type) +
                    state_mark_bytes(NODE_ADDRESS, marks->address) +
                    state_mark_bytes(NODE_MACHINE, marks->machine) +
                    state_mark_number(NODE_STATUS, (uint64_t)glance->status);
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
        glance->status = node_status(field->number);
        break;
    case NODE_IDLE:
        glance->idle_ms = (int64_t)field->number;
        break;
    case NODE_AVAILABLE:
    case NODE_TOTAL:
    case NODE_PUT_LABEL:
    case NODE_LABEL:
        marks->of_living += state_mark_bytes(field->key, field->bytes);
        break;
    case NODE_ACTIVITY:
        marks->of_activity += state_mark_bytes(field->key, field->bytes);
        break;
    default:
        break;
    }
}

bool state_node_summarize(struct str bytes, struct ray_node_summary *ret_glance)
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

/* ---- details ---- */

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
        lists->status = node_status(field->number);
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
static void state_read_lists(struct state_reading *in, struct str bytes, struct node_lists lists,
                             struct ray_node_detail *node)
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
            state_read_quantity(in, field.bytes, &totals[node->total_count++]);
        } else if (field.key == NODE_AVAILABLE) {
            state_read_quantity(in, field.bytes, &available[node->available_count++]);
        } else if (field.key == NODE_LABEL) {
            state_read_label(in, field.bytes, &labels[node->label_count++]);
        } else if (field.key == NODE_PUT_LABEL) {
            state_read_label(in, field.bytes, &labels[put++]);
        } else if (field.key == NODE_ACTIVITY && lists.status == RAY_NODE_RUNNING) {
            activities[node->activity_count++] = field.bytes;
        }
    }
    require(node->total_count == lists.totals && node->available_count == lists.available,
            "two passes over the same bytes find the same resources");
    require(node->label_count == lists.labels && put == lists.labels + lists.put_labels,
            "two passes over the same bytes find the same labels");
    require(node->activity_count <= lists.activities, "the activities fit into their array");
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
    struct state_reading in = {.arena = arena};
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
