/* load_code.c: encodes nodes and demand. */
#include "core/record/load_code.h"

#include "core/record/frame.h"

enum {
    OPERATOR_COUNT = LABEL_NEVER + 1,
    PLACEMENT_KIND_COUNT = PLACEMENT_ANTI_AFFINITY + 1,
    /* Minimal encoded sizes. */
    LABEL_BYTES = 2,
    CAPACITY_BYTES = 3,
    AMOUNT_BYTES = 2,
    VALUE_BYTES = 1,
    RULE_BYTES = 3,
    SELECTOR_BYTES = 1,
    PLACEMENT_BYTES = 3,
    REQUEST_BYTES = 3,
    DEMAND_BYTES = REQUEST_BYTES + 1,
    GANG_BYTES = 1,
};

/* Allocates nothing for empty arrays: many of them must stay cheap. */
#define ARRAY_OF(arena, count, type) ((count) > 0 ? ARENA_ARRAY((arena), (count), type) : NULL)

static void put_label(struct byte_writer *writer, struct label label)
{
    bytes_put_u64(writer, label.key);
    bytes_put_u64(writer, label.value);
}

static struct label take_label(struct byte_reader *reader)
{
    struct label label;
    label.key = bytes_take_u32(reader);
    label.value = bytes_take_u32(reader);
    return label;
}

void ray_node_put(struct byte_writer *writer, const struct ray_node *node)
{
    bytes_put_u64(writer, node->instance);
    bytes_put_enum(writer, node->status, RAY_STATUS_COUNT);
    bytes_put_i64(writer, node->idle_since);
    bytes_put_count(writer, node->capacity_count, RECORD_CAPACITIES_MAX);
    for (size_t i = 0; !writer->is_bad && i < node->capacity_count; i++) {
        bytes_put_u64(writer, node->capacities[i].name);
        bytes_put_i64(writer, node->capacities[i].total);
        bytes_put_i64(writer, node->capacities[i].free);
    }
    bytes_put_count(writer, node->labels.count, RECORD_LABELS_MAX);
    for (size_t i = 0; !writer->is_bad && i < node->labels.count; i++) {
        put_label(writer, node->labels.items[i]);
    }
}

void ray_node_take(struct byte_reader *reader, struct arena *arena, struct ray_node *ret_node)
{
    ret_node->instance = bytes_take_u64(reader);
    ret_node->status = (enum ray_status)bytes_take_enum(reader, RAY_STATUS_COUNT);
    ret_node->idle_since = bytes_take_i64(reader);
    size_t count = bytes_take_count(reader, RECORD_CAPACITIES_MAX, CAPACITY_BYTES);
    struct capacity *capacities = ARRAY_OF(arena, count, struct capacity);
    for (size_t i = 0; i < count; i++) {
        capacities[i].name = bytes_take_u32(reader);
        capacities[i].total = bytes_take_i64(reader);
        capacities[i].free = bytes_take_i64(reader);
    }
    ret_node->capacities = capacities;
    ret_node->capacity_count = count;
    count = bytes_take_count(reader, RECORD_LABELS_MAX, LABEL_BYTES);
    struct label *labels = ARRAY_OF(arena, count, struct label);
    for (size_t i = 0; i < count; i++) {
        labels[i] = take_label(reader);
    }
    ret_node->labels = (struct label_set){labels, count};
}

static void put_selector(struct byte_writer *writer, const struct label_selector *selector)
{
    bytes_put_count(writer, selector->rule_count, RECORD_RULES_MAX);
    for (size_t i = 0; !writer->is_bad && i < selector->rule_count; i++) {
        const struct label_rule *rule = &selector->rules[i];
        bytes_put_u64(writer, rule->key);
        bytes_put_enum(writer, rule->op, OPERATOR_COUNT);
        bytes_put_count(writer, rule->value_count, RECORD_VALUES_MAX);
        for (size_t j = 0; !writer->is_bad && j < rule->value_count; j++) {
            bytes_put_u64(writer, rule->values[j]);
        }
    }
}

static void take_rule(struct byte_reader *reader, struct arena *arena, struct label_rule *ret_rule)
{
    ret_rule->key = bytes_take_u32(reader);
    ret_rule->op = (enum label_operator)bytes_take_enum(reader, OPERATOR_COUNT);
    size_t count = bytes_take_count(reader, RECORD_VALUES_MAX, VALUE_BYTES);
    uint32_t *values = ARRAY_OF(arena, count, uint32_t);
    for (size_t i = 0; i < count; i++) {
        values[i] = bytes_take_u32(reader);
    }
    ret_rule->values = values;
    ret_rule->value_count = count;
}

static void take_selector(struct byte_reader *reader, struct arena *arena,
                          struct label_selector *ret_selector)
{
    size_t count = bytes_take_count(reader, RECORD_RULES_MAX, RULE_BYTES);
    struct label_rule *rules = ARRAY_OF(arena, count, struct label_rule);
    for (size_t i = 0; i < count; i++) {
        take_rule(reader, arena, &rules[i]);
    }
    *ret_selector = (struct label_selector){rules, count};
}

static void load_code_put_request(struct byte_writer *writer, const struct request *request)
{
    bytes_put_count(writer, request->amount_count, RECORD_AMOUNTS_MAX);
    for (size_t i = 0; !writer->is_bad && i < request->amount_count; i++) {
        bytes_put_u64(writer, request->amounts[i].name);
        bytes_put_i64(writer, request->amounts[i].amount);
    }
    bytes_put_count(writer, request->selector_count, RECORD_SELECTORS_MAX);
    for (size_t i = 0; !writer->is_bad && i < request->selector_count; i++) {
        put_selector(writer, &request->selectors[i]);
    }
    bytes_put_count(writer, request->placement_count, RECORD_PLACEMENTS_MAX);
    for (size_t i = 0; !writer->is_bad && i < request->placement_count; i++) {
        bytes_put_enum(writer, request->placements[i].kind, PLACEMENT_KIND_COUNT);
        put_label(writer, request->placements[i].label);
    }
}

static void take_request(struct byte_reader *reader, struct arena *arena,
                         struct request *ret_request)
{
    size_t amount_count = bytes_take_count(reader, RECORD_AMOUNTS_MAX, AMOUNT_BYTES);
    struct amount *amounts = ARRAY_OF(arena, amount_count, struct amount);
    for (size_t i = 0; i < amount_count; i++) {
        amounts[i].name = bytes_take_u32(reader);
        amounts[i].amount = bytes_take_i64(reader);
    }
    size_t selector_count = bytes_take_count(reader, RECORD_SELECTORS_MAX, SELECTOR_BYTES);
    struct label_selector *selectors = ARRAY_OF(arena, selector_count, struct label_selector);
    for (size_t i = 0; i < selector_count; i++) {
        take_selector(reader, arena, &selectors[i]);
    }
    size_t placement_count = bytes_take_count(reader, RECORD_PLACEMENTS_MAX, PLACEMENT_BYTES);
    struct placement *placements = ARRAY_OF(arena, placement_count, struct placement);
    for (size_t i = 0; i < placement_count; i++) {
        placements[i].kind = (enum placement_kind)bytes_take_enum(reader, PLACEMENT_KIND_COUNT);
        placements[i].label = take_label(reader);
    }
    *ret_request = (struct request){.amounts = amounts,
                                    .amount_count = amount_count,
                                    .selectors = selectors,
                                    .selector_count = selector_count,
                                    .placements = placements,
                                    .placement_count = placement_count};
}

static void put_demands(struct byte_writer *writer, const struct demand *demands, size_t count)
{
    bytes_put_count(writer, count, RECORD_DEMANDS_MAX);
    for (size_t i = 0; !writer->is_bad && i < count; i++) {
        load_code_put_request(writer, &demands[i].request);
        if (demands[i].count < 0) {
            writer->is_bad = true;
        }
        bytes_put_i64(writer, demands[i].count);
    }
}

static const struct demand *take_demands(struct byte_reader *reader, struct arena *arena,
                                         size_t *ret_count)
{
    size_t count = bytes_take_count(reader, RECORD_DEMANDS_MAX, DEMAND_BYTES);
    struct demand *demands = ARRAY_OF(arena, count, struct demand);
    for (size_t i = 0; i < count && !reader->is_bad; i++) {
        take_request(reader, arena, &demands[i].request);
        demands[i].count = bytes_take_i64(reader);
        if (demands[i].count < 0) {
            reader->is_bad = true;
        }
    }
    *ret_count = count;
    return demands;
}

static void take_gang(struct byte_reader *reader, struct arena *arena, struct gang *ret_gang)
{
    size_t count = bytes_take_count(reader, RECORD_REQUESTS_MAX, REQUEST_BYTES);
    struct request *requests = ARRAY_OF(arena, count, struct request);
    for (size_t i = 0; i < count && !reader->is_bad; i++) {
        take_request(reader, arena, &requests[i]);
    }
    *ret_gang = (struct gang){requests, count};
}

void ray_load_put(struct byte_writer *writer, const struct ray_load *load)
{
    put_demands(writer, load->demands, load->demand_count);
    bytes_put_count(writer, load->gang_count, RECORD_GANGS_MAX);
    for (size_t i = 0; !writer->is_bad && i < load->gang_count; i++) {
        const struct gang *gang = &load->gangs[i];
        bytes_put_count(writer, gang->request_count, RECORD_REQUESTS_MAX);
        for (size_t j = 0; !writer->is_bad && j < gang->request_count; j++) {
            load_code_put_request(writer, &gang->requests[j]);
        }
    }
    put_demands(writer, load->constraint, load->constraint_count);
}

void ray_load_take(struct byte_reader *reader, struct arena *arena, struct ray_load *ret_load)
{
    ret_load->demands = take_demands(reader, arena, &ret_load->demand_count);
    size_t count = bytes_take_count(reader, RECORD_GANGS_MAX, GANG_BYTES);
    struct gang *gangs = ARRAY_OF(arena, count, struct gang);
    for (size_t i = 0; i < count && !reader->is_bad; i++) {
        take_gang(reader, arena, &gangs[i]);
    }
    ret_load->gangs = gangs;
    ret_load->gang_count = count;
    ret_load->constraint = take_demands(reader, arena, &ret_load->constraint_count);
}
