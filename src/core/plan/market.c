/* market.c: builds the columns, classes and kinds of the cover from the fleet and the log. */
#include "base/require.h"
#include "base/table.h"
#include "core/plan/index_sort.h"
#include "core/plan/pack.h"
#include "core/plan/price_internal.h"
#include "core/resource.h"

#include <string.h>

/* Groups of existing nodes that are repacked; the others keep Ray's placement. */
enum { GROUPS_MAX = 48, GROUPS_OF_MANY_CLASSES = 16, MANY_CLASSES = 48 };

static enum demand_source market_source_of(const struct logged_class *class)
{
    return class->cause == LAUNCH_CONSTRAINT ? SOURCE_CONSTRAINT : SOURCE_DEMAND;
}

/* ---- columns and classes ------------------------------------------------------------------- */

static void market_add_column(struct market *market, enum demand_source source, uint32_t name)
{
    uint32_t *column = &market->column_of[source][name];
    if (*column == COLUMN_NONE) {
        struct str text = intern_text(market->fleet->input->names, name);
        *column = (uint32_t)market->cover.column_count++;
        market->column_default[*column] = resource_is_implicit(text) ? RESOURCE_UNIT : 0;
    }
}

static void fill_columns(struct market *market)
{
    const struct price_log *log = &market->price->log;
    size_t names = market->fleet->input->names->count;
    market->column_default = ARENA_ARRAY(market->arena, 2 * names, int64_t);
    for (int i = SOURCE_DEMAND; i <= SOURCE_CONSTRAINT; i++) {
        market->column_of[i] = ARENA_ARRAY(market->arena, names, uint32_t);
        for (size_t j = 0; j < names; j++) {
            market->column_of[i][j] = COLUMN_NONE;
        }
    }
    for (size_t i = 0; i < log->class_count; i++) {
        const struct request *request = log->classes[i].request;
        for (size_t j = 0; j < request->amount_count; j++) {
            if (request->amounts[j].amount > 0) {
                market_add_column(market, market_source_of(&log->classes[i]),
                                  request->amounts[j].name);
            }
        }
    }
}

/* The anti-affinity label of a request, or NAME_NONE. False if there are several. */
static bool only_key(const struct request *request, uint32_t *ret_key)
{
    *ret_key = NAME_NONE;
    for (size_t i = 0; i < request->placement_count; i++) {
        if (request->placements[i].kind == PLACEMENT_ANTI_AFFINITY) {
            if (*ret_key != NAME_NONE && *ret_key != request->placements[i].label.key) {
                return false;
            }
            *ret_key = request->placements[i].label.key;
        }
    }
    return true;
}

/* Does a selector use a label that anti-affinity adds to nodes? Then the order would matter. */
static bool looks_at_keys(const struct request *request, const uint8_t *is_key)
{
    for (size_t i = 0; i < request->selector_count; i++) {
        for (size_t j = 0; j < request->selectors[i].rule_count; j++) {
            if (is_key[request->selectors[i].rules[j].key]) {
                return true;
            }
        }
    }
    return false;
}

static bool fill_classes(struct market *market)
{
    struct cover *cover = &market->cover;
    const struct price_log *log = &market->price->log;
    size_t names = market->fleet->input->names->count;
    uint32_t *key_number = ARENA_ARRAY(market->arena, names, uint32_t);
    uint8_t *is_key = ARENA_ARRAY(market->arena, names, uint8_t);
    cover->class_count = log->class_count;
    cover->classes = ARENA_ARRAY(market->arena, log->class_count, struct cover_class);
    for (size_t i = 0; i < log->class_count; i++) {
        const struct request *request = log->classes[i].request;
        int64_t *needs = ARENA_ARRAY(market->arena, cover->column_count, int64_t);
        uint32_t key;
        if (!only_key(request, &key)) {
            return false;
        }
        for (size_t j = 0; j < request->amount_count; j++) {
            if (request->amounts[j].amount > 0) {
                const uint32_t *columns = market->column_of[market_source_of(&log->classes[i])];
                needs[columns[request->amounts[j].name]] = request->amounts[j].amount;
            }
        }
        if (key != NAME_NONE && !is_key[key]) {
            is_key[key] = 1;
            key_number[key] = (uint32_t)cover->key_count++;
        }
        cover->classes[i] = (struct cover_class){needs, 0,
                                                 key == NAME_NONE ? COVER_NO_KEY : key_number[key]};
        market->has_labels = market->has_labels || key != NAME_NONE || request->selector_count > 0;
    }
    for (size_t i = 0; i < log->class_count; i++) {
        if (looks_at_keys(log->classes[i].request, is_key)) {
            return false;
        }
    }
    return true;
}

/* ---- kinds --------------------------------------------------------------------------------- */

static bool selectors_accept(const struct request *request, struct label_set labels)
{
    for (size_t i = 0; i < request->selector_count; i++) {
        const struct label_selector *selector = &request->selectors[i];
        size_t accepted = 0;
        while (accepted < selector->rule_count &&
               label_rule_accepts(&selector->rules[accepted],
                                  label_value(labels, selector->rules[accepted].key))) {
            accepted++;
        }
        if (accepted == selector->rule_count) {
            return true;
        }
    }
    return request->selector_count == 0;
}

static void fill_accepts(struct market *market, struct cover_kind *kind, struct label_set labels)
{
    const struct price_log *log = &market->price->log;
    kind->accepts = ARENA_ARRAY(market->arena, log->class_count, uint8_t);
    for (size_t i = 0; i < log->class_count; i++) {
        const struct request *request = log->classes[i].request;
        uint32_t key = NAME_NONE;
        kind->accepts[i] = only_key(request, &key) && selectors_accept(request, labels) &&
                           (key == NAME_NONE || label_value(labels, key) == NAME_NONE);
    }
}

/* The room of a node for demand and for the constraint, by column. */
static void fill_room(const struct market *market, const struct capacity *capacities, size_t count,
                      bool is_running, int64_t *room)
{
    for (size_t i = 0; i < market->cover.column_count; i++) {
        room[i] = market->column_default[i];
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t column = market->column_of[SOURCE_DEMAND][capacities[i].name];
        int64_t free = is_running ? capacities[i].free : capacities[i].total;
        if (column != COLUMN_NONE && free != CAPACITY_ABSENT) {
            room[column] = free;
        }
        column = market->column_of[SOURCE_CONSTRAINT][capacities[i].name];
        if (column != COLUMN_NONE && capacities[i].total != CAPACITY_ABSENT) {
            room[column] = capacities[i].total;
        }
    }
}

static void fill_new_kinds(struct market *market)
{
    const struct plan_input *input = market->fleet->input;
    struct cover *cover = &market->cover;
    for (uint32_t i = 0; i < input->type_count; i++) {
        const struct plan_type *type = &input->types[i];
        int64_t limit = type->max_nodes - market->price->type_nodes[i] - market->kept_of_type[i];
        if (type->is_gone || type->price < 0 || limit <= 0) {
            continue;
        }
        struct cover_kind *kind = &cover->kinds[cover->kind_count];
        int64_t *room = ARENA_ARRAY(market->arena, cover->column_count, int64_t);
        fill_room(market, type->capacities, type->capacity_count, false, room);
        *kind = (struct cover_kind){
            .price = type->price, .limit = limit, .is_new = true, .room = room};
        fill_accepts(market, kind, type->labels);
        market->type_of_kind[cover->kind_count++] = i;
    }
    market->new_kinds = cover->kind_count;
    cover->new_limit = COVER_NO_LIMIT;
    if (input->max_nodes >= 0) {
        int64_t left = input->max_nodes - market->price->total_nodes - market->kept;
        cover->new_limit = left > 0 ? left : 0;
    }
}

/* ---- groups -------------------------------------------------------------------------------- */

static bool labels_same(struct label_set a, struct label_set b)
{
    bool is_same = a.count == b.count;
    for (size_t i = 0; is_same && a.items != b.items && i < a.count; i++) {
        is_same = a.items[i].key == b.items[i].key && a.items[i].value == b.items[i].value;
    }
    return is_same;
}

static double worth_of(const struct market *market, const int64_t *room)
{
    double worth = 0.0;
    for (size_t i = 0; i < market->cover.column_count; i++) {
        int64_t most = 1;
        for (size_t j = 0; j < market->new_kinds; j++) {
            int64_t offered = market->cover.kinds[j].room[i];
            most = offered > most ? offered : most;
        }
        worth += room[i] > 0 ? (double)room[i] / (double)most : 0.0;
    }
    return worth;
}

/* A node looking for its group. */
struct market_seeker {
    const struct market *market;
    const struct fleet_node *node;
    const int64_t *room;
};

static bool market_is_alike(const void *context, size_t position)
{
    const struct market_seeker *seeker = context;
    const struct market *market = seeker->market;
    const struct node_group *group = &market->groups[position];
    size_t bytes = market->cover.column_count * sizeof(int64_t);
    return memcmp(group->room, seeker->room, bytes) == 0 &&
           (!market->has_labels ||
            labels_same(market->fleet->nodes[group->first].labels, seeker->node->labels));
}

static void join_group(struct market *market, struct table *table, uint32_t index,
                       const int64_t *room)
{
    struct market_seeker seeker = {market, &market->fleet->nodes[index], room};
    uint64_t hash = 0;
    for (size_t i = 0; i < market->cover.column_count; i++) {
        hash = (hash ^ (uint64_t)room[i]) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 29;
    }
    size_t found = table_find(table, hash, market_is_alike, &seeker);
    market->next_in_group[index] = NOWHERE;
    if (found == TABLE_NONE) {
        found = market->group_count++;
        int64_t *copy = ARENA_ARRAY(market->arena, market->cover.column_count, int64_t);
        memcpy(copy, room, market->cover.column_count * sizeof(*copy));
        market->groups[found] = (struct node_group){.first = index, .room = copy};
        table_add(table, market->arena, hash, found);
    } else {
        market->next_in_group[market->groups[found].last] = index;
    }
    require(market->group_count <= market->price->node_count, "a group has at least one node");
    require(found < market->group_count, "the group of a node");
    market->groups[found].last = index;
    market->groups[found].count++;
    market->group_of[index] = (uint32_t)found;
}

static int compare_worth(const void *context, uint32_t a, uint32_t b)
{
    const struct node_group *groups = context;
    return groups[a].worth > groups[b].worth ? -1 : groups[a].worth < groups[b].worth;
}

/* Keeps the groups with the most room and dissolves the others. */
static void choose_groups(struct market *market)
{
    size_t count = market->group_count;
    uint32_t *order = ARENA_ARRAY(market->arena, 2 * count, uint32_t);
    uint32_t *number = ARENA_ARRAY(market->arena, count, uint32_t);
    for (uint32_t i = 0; i < count; i++) {
        struct node_group *group = &market->groups[i];
        group->worth = (double)group->count * worth_of(market, group->room);
        order[i] = i;
        number[i] = NOWHERE;
    }
    index_sort(order, order + count, count, compare_worth, market->groups);
    size_t most = market->cover.class_count > MANY_CLASSES ? GROUPS_OF_MANY_CLASSES : GROUPS_MAX;
    market->group_count = count < most ? count : most;
    require(market->group_count <= GROUPS_MAX, "the kinds have room for all groups");
    struct node_group *chosen = ARENA_ARRAY(market->arena, market->group_count, struct node_group);
    for (uint32_t i = 0; i < market->group_count; i++) {
        chosen[i] = market->groups[order[i]];
        number[order[i]] = i;
    }
    market->groups = chosen;
    for (size_t i = 0; i < market->price->node_count; i++) {
        if (market->group_of[i] != NOWHERE) {
            market->group_of[i] = number[market->group_of[i]];
        }
    }
}

/* Nodes that Ray uses are added first: if only some of a group are needed, then these. */
static void gather_nodes(struct market *market)
{
    const struct fleet *fleet = market->fleet;
    int64_t *room = ARENA_ARRAY(market->arena, market->cover.column_count, int64_t);
    uint8_t *takes_part = ARENA_ARRAY(market->arena, market->price->node_count, uint8_t);
    struct table table = {0};
    market->groups = ARENA_ARRAY(market->arena, market->price->node_count, struct node_group);
    market->next_in_group = ARENA_ARRAY(market->arena, market->price->node_count, uint32_t);
    for (size_t i = 0; i < market->price->node_count; i++) {
        market->group_of[i] = NOWHERE;
    }
    for (size_t i = 0; i < fleet->order_count; i++) {
        if (fleet->order[i] < market->price->node_count) {
            takes_part[fleet->order[i]] = 1;
        }
    }
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < market->price->node_count; i++) {
            const struct fleet_node *node = &fleet->nodes[i];
            bool is_used = node->demand.has_requests ||
                           (node->constraint && node->constraint->has_requests);
            if (takes_part[i] && is_used == (pass == 0)) {
                fill_room(market, node->capacities, node->capacity_count, node->is_running, room);
                join_group(market, &table, i, room);
            }
        }
    }
}

static void fill_group_kinds(struct market *market)
{
    struct cover *cover = &market->cover;
    gather_nodes(market);
    choose_groups(market);
    for (size_t i = 0; i < market->group_count; i++) {
        const struct node_group *group = &market->groups[i];
        require(group->count > 0, "a group has at least one node");
        struct cover_kind *kind = &cover->kinds[cover->kind_count++];
        *kind = (struct cover_kind){.limit = group->count, .room = group->room};
        fill_accepts(market, kind, market->fleet->nodes[group->first].labels);
    }
}

bool market_fill(struct market *market)
{
    size_t type_count = market->fleet->input->type_count;
    struct cover *cover = &market->cover;
    cover->arena = market->arena;
    cover->kinds = ARENA_ARRAY(market->arena, type_count + GROUPS_MAX, struct cover_kind);
    market->type_of_kind = ARENA_ARRAY(market->arena, type_count, uint32_t);
    fill_columns(market);
    if (!fill_classes(market)) {
        return false;
    }
    fill_new_kinds(market);
    fill_group_kinds(market);
    return true;
}
