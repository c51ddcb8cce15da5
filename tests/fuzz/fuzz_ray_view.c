/*
 * fuzz_ray_view.c: two replies of GetClusterResourceState, the one after the other and back. The
 * first two bytes are the length of the first. What was reported is read until it is reported
 * again, as the core does.
 */
#include "fuzz.h"

#include "app/head/ray/ray_view.h"

enum { SEATS = 16 };

struct listener {
    struct str evidence;
    const struct names *names;
    struct ray_node nodes[SEATS];
    struct ray_load load;
    uint64_t sum; /* so that looking is not left out */
    int told, loads;
};

static uint64_t instance_of(void *context, struct str id)
{
    (void)context;
    return id.ptr[0] == '?' ? INSTANCE_NONE : 1 + (unsigned char)id.ptr[id.len - 1] % (SEATS - 1);
}

static bool is_hidden(void *context, uint64_t instance)
{
    (void)context;
    return instance == SEATS - 1;
}

static void look_at_node(struct listener *listener, const struct ray_node *node)
{
    for (size_t i = 0; i < node->capacity_count; i++) {
        const struct capacity *one = &node->capacities[i];
        if (one->name >= listener->names->count || one->total < CAPACITY_ABSENT ||
            one->free < CAPACITY_ABSENT || (i > 0 && one->name < one[-1].name)) {
            fuzz_fail("capacities are amounts by name", listener->evidence);
        }
    }
    for (size_t i = 0; i < node->labels.count; i++) {
        if (node->labels.items[i].key >= listener->names->count ||
            node->labels.items[i].value >= listener->names->count) {
            fuzz_fail("labels are names", listener->evidence);
        }
    }
}

static void look_at_request(struct listener *listener, const struct request *request)
{
    const struct names *names = listener->names;
    for (size_t i = 0; i < request->amount_count; i++) {
        const struct amount *one = &request->amounts[i];
        if (one->amount < 0 || (i > 0 && str_cmp(intern_text(names, one[-1].name),
                                                 intern_text(names, one->name)) >= 0)) {
            fuzz_fail("amounts are in the order of their names", listener->evidence);
        }
    }
    for (size_t i = 0; i < request->placement_count; i++) {
        listener->sum += request->placements[i].label.key;
    }
    for (size_t i = 0; i < request->selector_count; i++) {
        for (size_t j = 0; j < request->selectors[i].rule_count; j++) {
            listener->sum += label_rule_accepts(&request->selectors[i].rules[j], 3);
        }
    }
}

static void look_at_load(struct listener *listener)
{
    const struct ray_load *load = &listener->load;
    for (size_t i = 0; i < load->demand_count; i++) {
        look_at_request(listener, &load->demands[i].request);
        if (load->demands[i].count <= 0 ||
            (i > 0 && request_same(&load->demands[i].request, &load->demands[i - 1].request))) {
            fuzz_fail("demands are different and for something", listener->evidence);
        }
    }
    for (size_t i = 0; i < load->gang_count; i++) {
        for (size_t j = 0; j < load->gangs[i].request_count; j++) {
            look_at_request(listener, &load->gangs[i].requests[j]);
            if (load->gangs[i].requests[j].placement_count > 1) {
                fuzz_fail("one placement in a gang", listener->evidence);
            }
        }
    }
    for (size_t i = 0; i < load->constraint_count; i++) {
        look_at_request(listener, &load->constraint[i].request);
    }
}

static void on_node(void *context, const struct ray_node *node)
{
    struct listener *listener = context;
    struct ray_node *kept = &listener->nodes[node->instance];
    look_at_node(listener, kept);
    *kept = *node;
    listener->told++;
}

static void on_load(void *context, const struct ray_load *load)
{
    struct listener *listener = context;
    look_at_load(listener);
    listener->load = *load;
    listener->loads++;
}

static void look(struct listener *listener, const struct ray_view *mirror)
{
    const struct node_usage *nodes;
    struct pending_demand *demands;
    struct arena arena;
    size_t count;
    for (size_t i = 0; i < SEATS; i++) {
        look_at_node(listener, &listener->nodes[i]);
        listener->sum += ray_view_node_id(mirror, i).len;
    }
    look_at_load(listener);
    arena_init(&arena);
    ray_view_nodes(mirror, &arena, &nodes, &count);
    ray_view_demands(mirror, &arena, &demands, &count);
    if (count !=
        listener->load.demand_count + listener->load.gang_count + listener->load.constraint_count) {
        fuzz_fail("demands are shown as they were told", listener->evidence);
    }
    arena_clear(&arena);
}

/* The second time there is nothing new. */
static void take_twice(struct listener *listener, struct ray_view *mirror, struct str bytes,
                       int64_t at)
{
    struct err err;
    int told = listener->told;
    int loads = listener->loads;
    if (!ray_view_update(mirror, bytes, at, at, &err)) {
        if (told != listener->told || loads != listener->loads) {
            fuzz_fail("what is not understood is not told", bytes);
        }
        return;
    }
    look(listener, mirror);
    told = listener->told;
    loads = listener->loads;
    if (!ray_view_update(mirror, bytes, at, at, &err) || told != listener->told ||
        loads != listener->loads) {
        fuzz_fail("the same reply has no news", bytes);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    struct names names;
    struct str all = {(const char *)data, size};
    struct listener listener = {.evidence = all, .names = &names};
    struct ray_view_hooks hooks = {.context = &listener,
                                   .instance_of = instance_of,
                                   .is_hidden = is_hidden,
                                   .node = on_node,
                                   .load = on_load};
    if (size < 2) {
        return 0;
    }
    size_t cut = 2 + data[0] + 256U * data[1];
    struct str first = str_sub(all, 2, cut < size ? cut : size);
    struct str second = str_sub(all, cut < size ? cut : size, size);
    arena_init(&arena);
    intern_init(&names, &arena);
    (void)intern_add(&names, STR("CPU"));
    struct ray_view *mirror = ray_view_open(&names, &hooks);
    take_twice(&listener, mirror, first, 100000);
    take_twice(&listener, mirror, second, 100400);
    take_twice(&listener, mirror, first, 100800);
    ray_view_resend_all(mirror);
    take_twice(&listener, mirror, second, 101200);
    ray_view_forget(mirror);
    for (size_t i = 0; i < SEATS; i++) {
        if (listener.nodes[i].status != RAY_ABSENT) {
            fuzz_fail("another Ray begins with nothing", all);
        }
    }
    ray_view_close(mirror);
    arena_clear(&arena);
    return 0;
}
