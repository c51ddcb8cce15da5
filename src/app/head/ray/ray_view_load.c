/*
 * ray_view_load.c: reads pending demand into the core's terms.
 *
 * The core does not know the label locality of placement groups (all bundles on nodes with the same
 * value of a label), so such groups are requested without it. Ray then decides whether the nodes
 * fit.
 */
#include "app/head/ray/ray_view_internal.h"

/* Cap of one amount: the bundles of a group that share a node are added up. */
#define SUM_MOST INT64_C(2000000000000000000)
#define COUNT_MOST INT64_C(1000000000000)

struct ray_view_load_reader {
    struct ray_view_load *load;
    struct ray_view_names *names;
    const struct ray_view_load *before;
    int64_t wall_ms;
    uint32_t store; /* name of object_store_memory */
};

void ray_view_load_init(struct ray_view_load *load)
{
    *load = (struct ray_view_load){0};
    arena_init(&load->memory);
}

void ray_view_load_clear(struct ray_view_load *load)
{
    arena_clear(&load->memory);
}

/* ---- requests ---- */

static void ray_view_load_read_amounts(struct ray_view_load_reader *reader,
                                       const struct ray_request *source, int64_t most,
                                       struct request *request)
{
    struct amount *amounts = ARENA_ARRAY(&reader->load->memory, source->amount_count,
                                         struct amount);
    size_t count = 0;
    for (size_t i = 0; i < source->amount_count; i++) {
        uint32_t name = ray_view_names_of_load(reader->names, source->amounts[i].name);
        int64_t amount = ray_view_amount(source->amounts[i].amount);
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

static void ray_view_load_read_rule(struct ray_view_load_reader *reader,
                                    const struct ray_rule *source, struct label_rule *rule)
{
    static const enum label_operator operators[] = {
        [RAY_OPERATOR_OTHER] = LABEL_NEVER, [RAY_IN] = LABEL_IN, [RAY_NOT_IN] = LABEL_NOT_IN};
    uint32_t *values = ARENA_ARRAY(&reader->load->memory, source->value_count, uint32_t);
    bool is_id = ray_view_names_is_id_key(source->key);
    for (size_t i = 0; i < source->value_count; i++) {
        values[i] = is_id ? ray_view_names_of_id(reader->names, source->values[i], SLOT_OTHER)
                          : ray_view_names_of_load(reader->names, source->values[i]);
    }
    *rule = (struct label_rule){.key = ray_view_names_of_load(reader->names, source->key),
                                .op = operators[source->op],
                                .values = values,
                                .value_count = source->value_count};
}

/* Ray sends an empty selector if there is none: any node fits. */
static void read_selectors(struct ray_view_load_reader *reader, const struct ray_request *source,
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
            ray_view_load_read_rule(reader, &selector->rules[j], &rules[j]);
        }
        selectors[i] = (struct label_selector){rules, selector->rule_count};
    }
    request->selectors = selectors;
    request->selector_count = source->selector_count;
}

/* Affinity applies within the group, whatever the label is called. */
static struct placement ray_view_load_read_placement(struct ray_view_load_reader *reader,
                                                     const struct ray_placement *source)
{
    if (!source->is_apart) {
        return (struct placement){PLACEMENT_AFFINITY,
                                  {reader->names->together, reader->names->empty}};
    }
    return (struct placement){PLACEMENT_ANTI_AFFINITY,
                              {ray_view_names_of_id(reader->names, source->label.key, SLOT_GROUP),
                               ray_view_names_of_load(reader->names, source->label.value)}};
}

static void ray_view_load_read_request(struct ray_view_load_reader *reader,
                                       const struct ray_request *source, int64_t most,
                                       struct request *request)
{
    *request = (struct request){0};
    ray_view_load_read_amounts(reader, source, most, request);
    read_selectors(reader, source, request);
    struct placement *placements = ARENA_ARRAY(&reader->load->memory, source->placement_count,
                                               struct placement);
    for (size_t i = 0; i < source->placement_count; i++) {
        placements[i] = ray_view_load_read_placement(reader, &source->placements[i]);
    }
    request->placements = placements;
    request->placement_count = source->placement_count;
}

/* ---- shapes ---- */

static uint64_t ray_view_load_mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

static uint64_t request_key(uint64_t key, const struct request *request)
{
    for (size_t i = 0; i < request->amount_count; i++) {
        key = ray_view_load_mix(ray_view_load_mix(key, request->amounts[i].name),
                                (uint64_t)request->amounts[i].amount);
    }
    for (size_t i = 0; i < request->selector_count; i++) {
        const struct label_selector *selector = &request->selectors[i];
        key = ray_view_load_mix(key, selector->rule_count);
        for (size_t j = 0; j < selector->rule_count; j++) {
            const struct label_rule *rule = &selector->rules[j];
            uint64_t values = 0; /* independent of their order */
            for (size_t k = 0; k < rule->value_count; k++) {
                values += ray_view_load_mix(1, rule->values[k]);
            }
            key = ray_view_load_mix(ray_view_load_mix(key, rule->key), values + rule->op);
        }
    }
    for (size_t i = 0; i < request->placement_count; i++) {
        key = ray_view_load_mix(ray_view_load_mix(key, request->placements[i].kind),
                                request->placements[i].label.key);
    }
    return key;
}

struct shape_question {
    const struct ray_view_load *load;
    uint64_t key;
    const struct request *request; /* NULL to compare keys only */
};

static bool ray_view_load_is_shape(const void *context, size_t position)
{
    const struct shape_question *question = context;
    const struct ray_view_waiting *item = &question->load->items[position];
    return item->key == question->key &&
           (!question->request || request_same(item->requests, question->request));
}

static struct ray_view_waiting *find_item(const struct ray_view_load *load, uint64_t key,
                                          const struct request *request)
{
    struct shape_question question = {load, key, request};
    size_t at = table_find(&load->index, key, ray_view_load_is_shape, &question);
    return at != TABLE_NONE ? &load->items[at] : NULL;
}

static void add_item(struct ray_view_load_reader *reader, struct ray_view_waiting item)
{
    struct ray_view_load *load = reader->load;
    const struct ray_view_waiting *before = find_item(reader->before, item.key, NULL);
    item.since_ms = before ? before->since_ms : reader->wall_ms;
    item.bytes = arena_str(&load->memory, item.bytes);
    load->items[load->count] = item;
    table_add(&load->index, &load->memory, item.key, load->count++);
}

/* ---- demands, gangs and the constraint ---- */

/* Resources that exist only inside a placed group can never be provided by a new node. */
static bool is_inside_group(const struct ray_request *request)
{
    for (size_t i = 0; i < request->amount_count; i++) {
        if (ray_view_names_is_of_group(request->amounts[i].name)) {
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

static void ray_view_load_read_demand(struct ray_view_load_reader *reader,
                                      const struct ray_demand *source, enum demand_source kind,
                                      struct str job)
{
    struct ray_view_load *load = reader->load;
    if (source->count <= 0 || is_inside_group(&source->request)) {
        return;
    }
    struct request *request = ARENA_NEW(&load->memory, struct request);
    ray_view_load_read_request(reader, &source->request, INT64_MAX, request);
    uint64_t key = request_key(job.len > 0 ? ray_view_load_mix(kind, str_hash(job)) : kind,
                               request);
    struct ray_view_waiting *known = find_item(load, key, request);
    if (known) {
        known->count = count_sum(known->count, source->count);
        return;
    }
    add_item(reader, (struct ray_view_waiting){.key = key,
                                               .source = kind,
                                               .requests = request,
                                               .request_count = 1,
                                               .count = count_sum(0, source->count),
                                               .job = arena_str(&load->memory, job),
                                               .bytes = source->bytes});
}

static size_t ray_view_load_read_demands(struct ray_view_load_reader *reader,
                                         const struct ray_demand *source, size_t count,
                                         enum demand_source kind)
{
    size_t first = reader->load->count;
    for (size_t i = 0; i < count; i++) {
        ray_view_load_read_demand(reader, &source[i], kind, STR(""));
    }
    return reader->load->count - first;
}

/* Replicas that leave: the core must not replace them in addition. */
static void read_moving(struct ray_view_load_reader *reader)
{
    struct ray_view_load *load = reader->load;
    struct demand *moving = ARENA_ARRAY(&load->memory, load->training_count, struct demand);
    size_t count = 0;
    for (size_t i = 0; i < load->training_count; i++) {
        const struct ray_view_training *training = &load->training[i];
        if (training->leaving > 0) {
            moving[count].count = training->leaving;
            ray_view_load_read_request(reader, &training->demand.request, INT64_MAX,
                                       &moving[count++].request);
        }
    }
    load->told.moving = moving;
    load->told.moving_count = count;
}

static size_t read_training(struct ray_view_load_reader *reader)
{
    struct ray_view_load *load = reader->load;
    size_t first = load->count;
    for (size_t i = 0; i < load->training_count; i++) {
        ray_view_load_read_demand(reader, &load->training[i].demand, DEMAND_TRAINING,
                                  load->training[i].job);
    }
    return load->count - first;
}

static const struct demand *give_demands(struct ray_view_load *load, size_t first, size_t count)
{
    struct demand *demands = ARENA_ARRAY(&load->memory, count, struct demand);
    for (size_t i = 0; i < count; i++) {
        const struct ray_view_waiting *item = &load->items[first + i];
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

/* "HEX:STRICT_SPREAD|PENDING": the id identifies the group, the strategy is for users. */
static void ray_view_load_read_gang(struct ray_view_load_reader *reader,
                                    const struct ray_gang *source)
{
    struct ray_view_load *load = reader->load;
    size_t count = source->request_count;
    int64_t most = stays_together(source) ? SUM_MOST / (int64_t)count : INT64_MAX;
    struct request *requests = ARENA_ARRAY(&load->memory, count, struct request);
    struct str rest = source->details;
    struct str id = str_cut(&rest, ':');
    uint64_t key = ray_view_load_mix(DEMAND_PLACEMENT_GROUP, str_hash(id));
    for (size_t i = 0; i < count; i++) {
        ray_view_load_read_request(reader, &source->requests[i], most, &requests[i]);
        if (requests[i].placement_count > 1) {
            requests[i].placement_count = 1; /* Ray sends at most one, and the core supports one */
        }
        key = id.len > 0 ? key : request_key(key, &requests[i]);
    }
    add_item(reader,
             (struct ray_view_waiting){.key = key,
                                       .source = DEMAND_PLACEMENT_GROUP,
                                       .requests = requests,
                                       .request_count = count,
                                       .count = 1,
                                       .strategy = arena_str(&load->memory, str_cut(&rest, '|')),
                                       .bytes = source->bytes});
}

static size_t read_gangs(struct ray_view_load_reader *reader, const struct ray_load_read *source)
{
    struct ray_view_load *load = reader->load;
    size_t first = load->count;
    for (size_t i = 0; i < source->gang_count; i++) {
        if (source->gangs[i].request_count > 0) {
            ray_view_load_read_gang(reader, &source->gangs[i]);
        }
    }
    return load->count - first;
}

static const struct gang *give_gangs(struct ray_view_load *load, size_t first, size_t count)
{
    struct gang *gangs = ARENA_ARRAY(&load->memory, count, struct gang);
    for (size_t i = 0; i < count; i++) {
        const struct ray_view_waiting *item = &load->items[first + i];
        gangs[i] = (struct gang){item->requests, item->request_count};
    }
    return gangs;
}

bool ray_view_load_read(struct ray_view_load *load, struct str bytes,
                        const struct ray_view_load *before, struct ray_view_names *names,
                        int64_t wall_ms, struct arena *scratch, struct err *err)
{
    struct ray_load_read source = {0};
    struct ray_view_load_reader reader = {
        .load = load,
        .names = names,
        .before = before,
        .wall_ms = wall_ms,
        .store = intern_add(names->all, STR("object_store_memory"))};
    if (!ray_state_load(bytes, scratch, &source, err)) {
        return err_wrap(err, "Ray's pending requests");
    }
    size_t most = source.demand_count + load->training_count + source.gang_count +
                  source.constraint_count;
    load->items = ARENA_ARRAY(&load->memory, most, struct ray_view_waiting);
    ray_view_names_begin(names, &source);
    size_t demands = ray_view_load_read_demands(&reader, source.demands, source.demand_count,
                                                DEMAND_TASKS);
    demands += read_training(&reader);
    size_t gangs = read_gangs(&reader, &source);
    size_t constraint = ray_view_load_read_demands(
        &reader, source.constraint, source.constraint_count, DEMAND_REQUEST_RESOURCES);
    read_moving(&reader);
    ray_view_names_end(names);
    load->training = NULL;
    load->training_count = 0;
    load->told = (struct ray_load){.demands = give_demands(load, 0, demands),
                                   .demand_count = demands,
                                   .gangs = give_gangs(load, demands, gangs),
                                   .gang_count = gangs,
                                   .constraint = give_demands(load, demands + gangs, constraint),
                                   .constraint_count = constraint,
                                   .moving = load->told.moving,
                                   .moving_count = load->told.moving_count};
    return true;
}
