/*
 * ray_mirror_load.c: what waits, in the core's words.
 *
 * A placement group that wants all its bundles on nodes with one value of a label (its locality) is
 * asked for without that wish, which the core does not know: there is room for it then, and Ray
 * decides whether it will do.
 */
#include "app/head/ray/ray_mirror_parts.h"

/* Of one amount; the bundles of a group that share a node are summed up. */
#define SUM_MOST INT64_C(2000000000000000000)
#define COUNT_MOST INT64_C(1000000000000)

struct reader {
    struct mirror_load *load;
    struct mirror_names *names;
    const struct mirror_load *before;
    int64_t wall_ms;
    uint32_t store; /* the name */
};

void mirror_load_init(struct mirror_load *load)
{
    *load = (struct mirror_load){0};
    arena_init(&load->memory);
}

void mirror_load_clear(struct mirror_load *load)
{
    arena_clear(&load->memory);
}

/* ---- requests ---- */

static void read_amounts(struct reader *reader, const struct ray_request *source, int64_t most,
                         struct request *request)
{
    struct amount *amounts = ARENA_ARRAY(&reader->load->memory, source->amount_count,
                                         struct amount);
    size_t count = 0;
    for (size_t i = 0; i < source->amount_count; i++) {
        uint32_t name = mirror_names_of_load(reader->names, source->amounts[i].name);
        int64_t amount = mirror_amount(source->amounts[i].amount);
        size_t at = 0;
        while (at < count && amounts[at].name != name) {
            at++;
        }
        amounts[at] = (struct amount){name, amount < most ? amount : most};
        count += at == count;
        reader->load->asks_store |= name == reader->store;
    }
    amounts_sort(reader->names->all, amounts, count);
    request->amounts = amounts;
    request->amount_count = count;
}

static void read_rule(struct reader *reader, const struct ray_rule *source, struct label_rule *rule)
{
    static const enum label_operator operators[] = {
        [RAY_OPERATOR_OTHER] = LABEL_NEVER, [RAY_IN] = LABEL_IN, [RAY_NOT_IN] = LABEL_NOT_IN};
    uint32_t *values = ARENA_ARRAY(&reader->load->memory, source->value_count, uint32_t);
    bool is_id = mirror_names_is_id_key(source->key);
    for (size_t i = 0; i < source->value_count; i++) {
        values[i] = is_id ? mirror_names_of_id(reader->names, source->values[i], SLOT_OTHER)
                          : mirror_names_of_load(reader->names, source->values[i]);
    }
    *rule = (struct label_rule){.key = mirror_names_of_load(reader->names, source->key),
                                .op = operators[source->op],
                                .values = values,
                                .value_count = source->value_count};
}

/* Ray gives an empty selector where there is none: any node will do. */
static void read_selectors(struct reader *reader, const struct ray_request *source,
                           struct request *request)
{
    if (source->selector_count == 0 || source->selectors[0].rule_count == 0) {
        return;
    }
    struct label_selector *selectors = ARENA_ARRAY(&reader->load->memory, source->selector_count,
                                                   struct label_selector);
    for (size_t i = 0; i < source->selector_count; i++) {
        const struct ray_selector *selector = &source->selectors[i];
        struct label_rule *rules = ARENA_ARRAY(&reader->load->memory, selector->rule_count,
                                               struct label_rule);
        for (size_t j = 0; j < selector->rule_count; j++) {
            read_rule(reader, &selector->rules[j], &rules[j]);
        }
        selectors[i] = (struct label_selector){rules, selector->rule_count};
    }
    request->selectors = selectors;
    request->selector_count = source->selector_count;
}

/* Those that stay together do so within their group, whatever the label is called. */
static struct placement read_placement(struct reader *reader, const struct ray_placement *source)
{
    if (!source->is_apart) {
        return (struct placement){PLACEMENT_AFFINITY,
                                  {reader->names->together, reader->names->empty}};
    }
    return (struct placement){PLACEMENT_ANTI_AFFINITY,
                              {mirror_names_of_id(reader->names, source->label.key, SLOT_GROUP),
                               mirror_names_of_load(reader->names, source->label.value)}};
}

static void read_request(struct reader *reader, const struct ray_request *source, int64_t most,
                         struct request *request)
{
    *request = (struct request){0};
    read_amounts(reader, source, most, request);
    read_selectors(reader, source, request);
    struct placement *placements = ARENA_ARRAY(&reader->load->memory, source->placement_count,
                                               struct placement);
    for (size_t i = 0; i < source->placement_count; i++) {
        placements[i] = read_placement(reader, &source->placements[i]);
    }
    request->placements = placements;
    request->placement_count = source->placement_count;
}

/* ---- shapes, known again ---- */

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

static uint64_t request_key(uint64_t key, const struct request *request)
{
    for (size_t i = 0; i < request->amount_count; i++) {
        key = mix(mix(key, request->amounts[i].name), (uint64_t)request->amounts[i].amount);
    }
    for (size_t i = 0; i < request->selector_count; i++) {
        const struct label_selector *selector = &request->selectors[i];
        key = mix(key, selector->rule_count);
        for (size_t j = 0; j < selector->rule_count; j++) {
            const struct label_rule *rule = &selector->rules[j];
            uint64_t values = 0; /* they come in any order */
            for (size_t k = 0; k < rule->value_count; k++) {
                values += mix(1, rule->values[k]);
            }
            key = mix(mix(key, rule->key), values + rule->op);
        }
    }
    for (size_t i = 0; i < request->placement_count; i++) {
        key = mix(mix(key, request->placements[i].kind), request->placements[i].label.key);
    }
    return key;
}

struct shape_question {
    const struct mirror_load *load;
    uint64_t key;
    const struct request *request; /* NULL: the key is enough */
};

static bool is_shape(const void *context, size_t position)
{
    const struct shape_question *question = context;
    const struct mirror_waiting *item = &question->load->items[position];
    return item->key == question->key &&
           (!question->request || request_same(item->requests, question->request));
}

static struct mirror_waiting *find_item(const struct mirror_load *load, uint64_t key,
                                        const struct request *request)
{
    struct shape_question question = {load, key, request};
    size_t at = table_find(&load->index, key, is_shape, &question);
    return at != TABLE_NONE ? &load->items[at] : NULL;
}

static void add_item(struct reader *reader, struct mirror_waiting item)
{
    struct mirror_load *load = reader->load;
    const struct mirror_waiting *before = find_item(reader->before, item.key, NULL);
    item.since_ms = before ? before->since_ms : reader->wall_ms;
    item.bytes = arena_str(&load->memory, item.bytes);
    load->items[load->count] = item;
    table_add(&load->index, &load->memory, item.key, load->count++);
}

/* ---- the three kinds ---- */

/* No machine will ever bring what only exists inside of a group that has its place. */
static bool is_inside_group(const struct ray_request *request)
{
    for (size_t i = 0; i < request->amount_count; i++) {
        if (mirror_names_is_of_group(request->amounts[i].name)) {
            return true;
        }
    }
    return false;
}

static int64_t count_sum(int64_t a, int64_t b)
{
    int64_t sum = a + (b < COUNT_MOST ? b : COUNT_MOST);
    return sum < COUNT_MOST ? sum : COUNT_MOST;
}

static size_t read_demands(struct reader *reader, const struct ray_demand *source, size_t count,
                           enum insight_source kind)
{
    struct mirror_load *load = reader->load;
    size_t first = load->count;
    for (size_t i = 0; i < count; i++) {
        if (source[i].count <= 0 || is_inside_group(&source[i].request)) {
            continue;
        }
        struct request *request = ARENA_NEW(&load->memory, struct request);
        read_request(reader, &source[i].request, INT64_MAX, request);
        uint64_t key = request_key(kind, request);
        struct mirror_waiting *known = find_item(load, key, request);
        if (known) {
            known->count = count_sum(known->count, source[i].count);
            continue;
        }
        add_item(reader, (struct mirror_waiting){.key = key,
                                                 .source = kind,
                                                 .requests = request,
                                                 .request_count = 1,
                                                 .count = count_sum(0, source[i].count),
                                                 .bytes = source[i].bytes});
    }
    return load->count - first;
}

static const struct demand *give_demands(struct mirror_load *load, size_t first, size_t count)
{
    struct demand *demands = ARENA_ARRAY(&load->memory, count, struct demand);
    for (size_t i = 0; i < count; i++) {
        const struct mirror_waiting *item = &load->items[first + i];
        demands[i] = (struct demand){*item->requests, item->count};
    }
    return demands;
}

static bool stays_together(const struct ray_gang *gang)
{
    for (size_t i = 0; i < gang->request_count; i++) {
        for (size_t j = 0; j < gang->requests[i].placement_count; j++) {
            if (!gang->requests[i].placements[j].is_apart) {
                return true;
            }
        }
    }
    return false;
}

/* "HEX:STRICT_SPREAD|PENDING": the id knows it again, the middle is for people. */
static void read_gang(struct reader *reader, const struct ray_gang *source)
{
    struct mirror_load *load = reader->load;
    size_t count = source->request_count;
    int64_t most = stays_together(source) ? SUM_MOST / (int64_t)count : INT64_MAX;
    struct request *requests = ARENA_ARRAY(&load->memory, count, struct request);
    struct str rest = source->details;
    struct str id = str_cut(&rest, ':');
    uint64_t key = mix(INSIGHT_GROUP, str_hash(id));
    for (size_t i = 0; i < count; i++) {
        read_request(reader, &source->requests[i], most, &requests[i]);
        if (requests[i].placement_count > 1) {
            requests[i].placement_count = 1; /* Ray never gives more, the core wants no more */
        }
        key = id.len > 0 ? key : request_key(key, &requests[i]);
    }
    add_item(reader,
             (struct mirror_waiting){.key = key,
                                     .source = INSIGHT_GROUP,
                                     .requests = requests,
                                     .request_count = count,
                                     .count = 1,
                                     .strategy = arena_str(&load->memory, str_cut(&rest, '|')),
                                     .bytes = source->bytes});
}

static size_t read_gangs(struct reader *reader, const struct ray_load_read *source)
{
    struct mirror_load *load = reader->load;
    size_t first = load->count;
    for (size_t i = 0; i < source->gang_count; i++) {
        if (source->gangs[i].request_count > 0) {
            read_gang(reader, &source->gangs[i]);
        }
    }
    return load->count - first;
}

static const struct gang *give_gangs(struct mirror_load *load, size_t first, size_t count)
{
    struct gang *gangs = ARENA_ARRAY(&load->memory, count, struct gang);
    for (size_t i = 0; i < count; i++) {
        const struct mirror_waiting *item = &load->items[first + i];
        gangs[i] = (struct gang){item->requests, item->request_count};
    }
    return gangs;
}

bool mirror_load_read(struct mirror_load *load, struct str bytes, const struct mirror_load *before,
                      struct mirror_names *names, int64_t wall_ms, struct arena *scratch,
                      struct err *err)
{
    struct ray_load_read source = {0};
    struct reader reader = {.load = load,
                            .names = names,
                            .before = before,
                            .wall_ms = wall_ms,
                            .store = names_add(names->all, STR("object_store_memory"))};
    if (!ray_state_load(bytes, scratch, &source, err)) {
        return err_wrap(err, "what waits in Ray");
    }
    size_t most = source.demand_count + source.gang_count + source.constraint_count;
    load->items = ARENA_ARRAY(&load->memory, most, struct mirror_waiting);
    mirror_names_begin(names, &source);
    size_t demands = read_demands(&reader, source.demands, source.demand_count, INSIGHT_TASKS);
    size_t gangs = read_gangs(&reader, &source);
    size_t constraint = read_demands(&reader, source.constraint, source.constraint_count,
                                     INSIGHT_CONSTRAINT);
    mirror_names_end(names);
    load->told = (struct ray_load){.demands = give_demands(load, 0, demands),
                                   .demand_count = demands,
                                   .gangs = give_gangs(load, demands, gangs),
                                   .gang_count = gangs,
                                   .constraint = give_demands(load, demands + gangs, constraint),
                                   .constraint_count = constraint};
    return true;
}
