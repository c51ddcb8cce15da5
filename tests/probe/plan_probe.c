/*
 * plan_probe.c: answers planning cases, one line each; compared with Ray's scheduler, and timed.
 *
 * usage: plan_probe [--price BUDGET] [--reasons | --places | --time N]
 *
 *   --price BUDGET  by the strategy `price` with so many steps; otherwise as Ray
 *   --reasons       print the plan's reasons instead of the plan
 *   --places        print who goes where behind the plan (strategy `price` only)
 *   --time N        plan each record N times: "best median reading bytes" (ns), then the plan
 *
 * A record is lines of words; amounts in ten-thousandths, -1 for absent or none, `~` for the
 * empty text. Lists are a count and that many items.
 *   L max_nodes idle_ms checks_hash conserves_gpus
 *   T name is_gone min max priority idle_ms hash recoverable availability [name total] [key value]
 *   P type price           micro-dollars an hour; a type without this line has no price
 *   N type is_head is_running hash idle_ms [name total free] [key value]
 *   D count REQUEST        plain demand            C count REQUEST     the constraint
 *   G [REQUEST]            a gang
 *   REQUEST = [name amount] [ [key IN|NOT_IN [value]] ] [AFFINITY|ANTI key value]
 * A place is: node type times [C|G|D count REQUEST]
 */
#include "base/buf.h"
#include "base/number.h"
#include "core/plan.h"
#include "full_check.h"
#include "records.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct reader {
    struct str rest;
    struct arena *arena;
    struct names names;
    struct plan_input input;
    struct plan_type *types;
    struct plan_node *nodes;
    struct demand *demands;
    struct demand *constraint;
    struct gang *gangs;
};

static struct str word(struct reader *reader)
{
    struct str rest = reader->rest;
    while (rest.len > 0 && (rest.ptr[0] == ' ' || rest.ptr[0] == '\n')) {
        rest = str_sub(rest, 1, rest.len);
    }
    size_t len = 0;
    while (len < rest.len && rest.ptr[len] != ' ' && rest.ptr[len] != '\n') {
        len++;
    }
    reader->rest = str_sub(rest, len, rest.len);
    return str_sub(rest, 0, len);
}

static void complain(const char *what, struct str text)
{
    fprintf(stderr, "plan_probe: %s: %.*s\n", what, STR_ARG(text));
    exit(2);
}

static int64_t number(struct reader *reader)
{
    struct str text = word(reader);
    int64_t value = 0;
    if (!str_to_i64(text, &value)) {
        complain("not a number", text);
    }
    return value;
}

static double real(struct reader *reader)
{
    struct str text = word(reader);
    double value = 0;
    if (!number_parse(text, &value)) {
        complain("not a real number", text);
    }
    return value;
}

static size_t count(struct reader *reader)
{
    return (size_t)number(reader);
}

static uint32_t name(struct reader *reader)
{
    struct str text = word(reader);
    return intern_add(&reader->names, str_is(text, "~") ? STR("") : text);
}

static uint32_t hash(struct reader *reader)
{
    struct str text = word(reader);
    return str_is(text, "~") ? NAME_NONE : intern_add(&reader->names, text);
}

static struct label_set labels(struct reader *reader)
{
    size_t n = count(reader);
    struct label *items = ARENA_ARRAY(reader->arena, n, struct label);
    for (size_t i = 0; i < n; i++) {
        items[i].key = name(reader);
        items[i].value = name(reader);
    }
    return (struct label_set){items, n};
}

static const struct capacity *capacities(struct reader *reader, bool has_free, size_t *ret_count)
{
    size_t n = count(reader);
    struct capacity *items = ARENA_ARRAY(reader->arena, n, struct capacity);
    for (size_t i = 0; i < n; i++) {
        items[i].name = name(reader);
        items[i].total = number(reader);
        items[i].free = has_free ? number(reader) : items[i].total;
    }
    *ret_count = n;
    return items;
}

static void read_limits(struct reader *reader)
{
    reader->input.max_nodes = number(reader);
    reader->input.idle_timeout_ms = number(reader);
    reader->input.checks_launch_hash = number(reader) != 0;
    reader->input.conserves_gpus = number(reader) != 0;
}

static void read_type(struct reader *reader, struct plan_type *type)
{
    type->name = word(reader);
    type->is_gone = number(reader) != 0;
    type->min_nodes = number(reader);
    type->max_nodes = number(reader);
    type->priority = number(reader);
    type->idle_timeout_ms = number(reader);
    type->launch_hash = hash(reader);
    type->recoverable = real(reader);
    type->availability = real(reader);
    type->capacities = capacities(reader, false, &type->capacity_count);
    type->labels = labels(reader);
    type->price = PRICE_UNKNOWN;
}

static void read_price(struct reader *reader)
{
    size_t type = count(reader);
    if (type >= reader->input.type_count) {
        complain("a price for no type", reader->rest);
    }
    reader->types[type].price = number(reader);
}

static void read_node(struct reader *reader, struct plan_node *node)
{
    node->type = (uint32_t)number(reader);
    node->is_head = number(reader) != 0;
    node->is_running = number(reader) != 0;
    node->launch_hash = hash(reader);
    node->idle_ms = number(reader);
    node->capacities = capacities(reader, true, &node->capacity_count);
    node->labels = labels(reader);
}

static struct label_rule rule(struct reader *reader)
{
    struct label_rule rule = {.key = name(reader)};
    rule.op = str_is(word(reader), "IN") ? LABEL_IN : LABEL_NOT_IN;
    rule.value_count = count(reader);
    uint32_t *values = ARENA_ARRAY(reader->arena, rule.value_count, uint32_t);
    for (size_t i = 0; i < rule.value_count; i++) {
        values[i] = name(reader);
    }
    rule.values = values;
    return rule;
}

static void read_selectors(struct reader *reader, struct request *request)
{
    request->selector_count = count(reader);
    struct label_selector *selectors = ARENA_ARRAY(reader->arena, request->selector_count,
                                                   struct label_selector);
    for (size_t i = 0; i < request->selector_count; i++) {
        selectors[i].rule_count = count(reader);
        struct label_rule *rules = ARENA_ARRAY(reader->arena, selectors[i].rule_count,
                                               struct label_rule);
        for (size_t j = 0; j < selectors[i].rule_count; j++) {
            rules[j] = rule(reader);
        }
        selectors[i].rules = rules;
    }
    request->selectors = selectors;
}

static void read_request(struct reader *reader, struct request *request)
{
    request->amount_count = count(reader);
    struct amount *amounts = ARENA_ARRAY(reader->arena, request->amount_count, struct amount);
    for (size_t i = 0; i < request->amount_count; i++) {
        amounts[i].name = name(reader);
        amounts[i].amount = number(reader);
    }
    amounts_sort(&reader->names, amounts, request->amount_count);
    request->amounts = amounts;
    read_selectors(reader, request);
    request->placement_count = count(reader);
    struct placement *placements = ARENA_ARRAY(reader->arena, request->placement_count,
                                               struct placement);
    for (size_t i = 0; i < request->placement_count; i++) {
        placements[i].kind = str_is(word(reader), "ANTI") ? PLACEMENT_ANTI_AFFINITY
                                                          : PLACEMENT_AFFINITY;
        placements[i].label.key = name(reader);
        placements[i].label.value = name(reader);
    }
    request->placements = placements;
}

static void read_demand(struct reader *reader, struct demand *demand)
{
    demand->count = number(reader);
    read_request(reader, &demand->request);
}

static void read_gang(struct reader *reader, struct gang *gang)
{
    gang->request_count = count(reader);
    struct request *requests = ARENA_ARRAY(reader->arena, gang->request_count, struct request);
    for (size_t i = 0; i < gang->request_count; i++) {
        read_request(reader, &requests[i]);
    }
    gang->requests = requests;
}

static void read_line(struct reader *reader, struct str kind)
{
    struct plan_input *input = &reader->input;
    switch (kind.ptr[0]) {
    case 'L':
        read_limits(reader);
        break;
    case 'T':
        read_type(reader, &reader->types[input->type_count++]);
        break;
    case 'P':
        read_price(reader);
        break;
    case 'N':
        read_node(reader, &reader->nodes[input->node_count++]);
        break;
    case 'D':
        read_demand(reader, &reader->demands[input->demand_count++]);
        break;
    case 'C':
        read_demand(reader, &reader->constraint[input->constraint_count++]);
        break;
    case 'G':
        read_gang(reader, &reader->gangs[input->gang_count++]);
        break;
    default:
        complain("unknown line", kind);
    }
}

static void read_case(struct reader *reader, struct arena *arena, struct str text)
{
    size_t lines = 1;
    for (size_t i = 0; i < text.len; i++) {
        lines += text.ptr[i] == '\n';
    }
    *reader = (struct reader){.rest = text, .arena = arena};
    intern_init(&reader->names, arena);
    reader->types = ARENA_ARRAY(arena, lines, struct plan_type);
    reader->nodes = ARENA_ARRAY(arena, lines, struct plan_node);
    reader->demands = ARENA_ARRAY(arena, lines, struct demand);
    reader->constraint = ARENA_ARRAY(arena, lines, struct demand);
    reader->gangs = ARENA_ARRAY(arena, lines, struct gang);
    for (struct str kind = word(reader); kind.len > 0; kind = word(reader)) {
        read_line(reader, kind);
    }
    reader->input.names = &reader->names;
    reader->input.types = reader->types;
    reader->input.nodes = reader->nodes;
    reader->input.demands = reader->demands;
    reader->input.constraint = reader->constraint;
    reader->input.gangs = reader->gangs;
}

/* ---- answers ------------------------------------------------------------------------------- */

static void print_plan(const struct plan_input *input, const struct plan *plan)
{
    static const char *const causes[] = {"NONE", "OUTDATED", "MAX_NUM_NODE_PER_TYPE",
                                         "MAX_NUM_NODES", "IDLE"};
    printf("launch");
    for (size_t i = 0; i < plan->launch_count; i++) {
        printf(" %.*s=%lld", STR_ARG(input->types[plan->launches[i].type].name),
               (long long)plan->launches[i].count);
    }
    printf(" | end");
    for (size_t i = 0; i < plan->end_count; i++) {
        printf(" %u=%s", plan->ends[i].node, causes[plan->ends[i].cause]);
    }
    printf(" | unmet");
    for (size_t i = 0; i < plan->unmet_count; i++) {
        printf(" %u=%lld", plan->unmet[i].demand, (long long)plan->unmet[i].count);
    }
    printf(" | gangs");
    for (size_t i = 0; i < plan->unmet_gang_count; i++) {
        printf(" %u", plan->unmet_gangs[i].gang);
    }
    printf(" | constraint %d", plan->is_constraint_unmet);
}

static const char *text_of(const struct plan_input *input, uint32_t name, struct arena *arena)
{
    struct str text = intern_text(input->names, name);
    return text.len > 0 ? arena_str(arena, text).ptr : "~";
}

static void print_request(const struct plan_input *input, const struct request *request,
                          struct arena *arena)
{
    printf(" %zu", request->amount_count);
    for (size_t i = 0; i < request->amount_count; i++) {
        printf(" %s %lld", text_of(input, request->amounts[i].name, arena),
               (long long)request->amounts[i].amount);
    }
    printf(" %zu", request->selector_count);
    for (size_t i = 0; i < request->selector_count; i++) {
        const struct label_selector *selector = &request->selectors[i];
        printf(" %zu", selector->rule_count);
        for (size_t j = 0; j < selector->rule_count; j++) {
            const struct label_rule *one = &selector->rules[j];
            printf(" %s %s %zu", text_of(input, one->key, arena),
                   one->op == LABEL_IN ? "IN" : "NOT_IN", one->value_count);
            for (size_t k = 0; k < one->value_count; k++) {
                printf(" %s", text_of(input, one->values[k], arena));
            }
        }
    }
    printf(" %zu", request->placement_count);
    for (size_t i = 0; i < request->placement_count; i++) {
        const struct placement *placement = &request->placements[i];
        printf(" %s %s %s", placement->kind == PLACEMENT_ANTI_AFFINITY ? "ANTI" : "AFFINITY",
               text_of(input, placement->label.key, arena),
               text_of(input, placement->label.value, arena));
    }
}

static void print_places(const struct plan_input *input, const struct plan *plan,
                         struct arena *arena)
{
    static const char causes[LAUNCH_CAUSE_COUNT] = {'M', 'C', 'G', 'D'};
    printf(" | saving %lld | places", (long long)plan->saving);
    for (size_t i = 0; i < plan->place_count; i++) {
        const struct plan_place *place = &plan->places[i];
        printf(" %u %u %lld %zu", place->node, place->type, (long long)place->times,
               place->placed_count);
        for (size_t j = 0; j < place->placed_count; j++) {
            const struct plan_placed *placed = &place->placed[j];
            printf(" %c %lld", causes[placed->cause], (long long)placed->count);
            print_request(input, placed->request, arena);
        }
    }
}

static void print_reasons(const struct plan_input *input, const struct plan *plan,
                          struct arena *arena)
{
    for (size_t i = 0; i < plan->launch_count; i++) {
        printf("%.*s; ", STR_ARG(plan_launch_text(input, &plan->launches[i], arena)));
    }
    for (size_t i = 0; i < plan->end_count; i++) {
        printf("%.*s; ", STR_ARG(plan_end_text(input, &plan->ends[i], arena)));
    }
    for (size_t i = 0; i < plan->unmet_count; i++) {
        printf("%.*s; ", STR_ARG(plan_reason_text(input, &plan->unmet[i].refusal, arena)));
    }
    for (size_t i = 0; i < plan->unmet_gang_count; i++) {
        printf("%.*s; ", STR_ARG(plan_reason_text(input, &plan->unmet_gangs[i].refusal, arena)));
    }
    if (plan->is_constraint_unmet) {
        printf("%.*s; ", STR_ARG(plan_reason_text(input, &plan->constraint_refusal, arena)));
    }
    printf("\n");
}

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int compare_times(const void *a, const void *b)
{
    const int64_t *one = a;
    const int64_t *other = b;
    return *one > *other ? 1 : -(*one < *other);
}

enum { TIMED_BYTES = 1 << 30, REPEATS_MAX = 1000 };

/* Fixed memory that is used again: a service plans every few seconds in the same arena. */
static void time_plan(const struct plan_input *input, size_t repeats, int64_t reading_ns)
{
    int64_t times[REPEATS_MAX];
    void *memory = malloc(TIMED_BYTES);
    struct arena scratch;
    struct plan plan = {0};
    size_t bytes = 0;
    repeats = repeats < 1 ? 1 : repeats > REPEATS_MAX ? REPEATS_MAX : repeats;
    for (size_t i = 0; memory && i < repeats; i++) {
        arena_init_fixed(&scratch, memory, TIMED_BYTES);
        int64_t began = now_ns();
        plan_decide(input, &scratch, &plan);
        times[i] = now_ns() - began;
        bytes = scratch.used_bytes;
    }
    qsort(times, repeats, sizeof(times[0]), compare_times);
    printf("%lld %lld %lld %zu ", (long long)times[0], (long long)times[repeats / 2],
           (long long)reading_ns, bytes);
    print_plan(input, &plan);
    printf("\n");
    free(memory);
}

struct options {
    bool is_reasons;
    bool is_places;
    bool is_price;
    int64_t budget;
    size_t repeats; /* 0: not timed */
};

static struct options read_options(int argc, char **argv)
{
    struct options options = {0};
    for (int i = 1; i < argc; i++) {
        struct str word = str_from(argv[i]);
        bool has_number = i + 1 < argc;
        if (str_is(word, "--reasons")) {
            options.is_reasons = true;
        } else if (str_is(word, "--places")) {
            options.is_places = true;
        } else if (str_is(word, "--price") && has_number) {
            options.is_price = true;
            options.budget = strtoll(argv[++i], NULL, 10);
        } else if (str_is(word, "--time") && has_number) {
            options.repeats = strtoul(argv[++i], NULL, 10);
        } else {
            complain("unknown option", word);
        }
    }
    return options;
}

static void answer(const struct options *options, struct str record)
{
    struct arena arena;
    struct reader reader;
    struct plan plan;
    arena_init(&arena);
    int64_t began = now_ns();
    read_case(&reader, &arena, record);
    reader.input.strategy = options->is_price ? PLAN_PRICE : PLAN_RAY;
    reader.input.work_budget = options->budget;
    if (options->repeats > 0) {
        time_plan(&reader.input, options->repeats, now_ns() - began);
    } else {
        plan_decide(&reader.input, &arena, &plan);
        if (!options->is_price) {
            full_check(&reader.input, &plan, &arena);
        }
        if (options->is_reasons) {
            print_reasons(&reader.input, &plan, &arena);
        } else {
            print_plan(&reader.input, &plan);
            if (options->is_places) {
                print_places(&reader.input, &plan, &arena);
            }
            printf("\n");
        }
    }
    arena_clear(&arena);
}

int main(int argc, char **argv)
{
    AUTO_BUF struct buf record;
    buf_init(&record, (size_t)1024 * 1024 * 1024);
    struct options options = read_options(argc, argv);
    while (record_next(&record)) {
        answer(&options, buf_str(&record));
    }
    return 0;
}
