/* fuzz_ray_state.c: a reply of GetClusterResourceState, and a report made of what was in it. */
#include "fuzz.h"

#include "ray/gcs.h"
#include "ray/report.h"
#include "ray/state.h"
#include "ray/wire.h"

struct seen {
    struct arena *arena;
    uint64_t marks;
    size_t count;
};

static void check_amounts(const struct ray_quantity *amounts, size_t count, struct str evidence)
{
    for (size_t i = 0; i < count; i++) {
        if (!(amounts[i].amount >= 0 && amounts[i].amount <= 9e14)) {
            fuzz_fail("amounts are numbers in their bounds", evidence);
        }
    }
}

static void hear(void *context, const struct ray_node_summary *glance)
{
    struct seen *seen = context;
    struct ray_node_detail node;
    struct err err;
    seen->marks += glance->mark;
    seen->count++;
    if (glance->id.len != RAY_ID_BYTES || glance->idle_ms < 0 ||
        (glance->idle_ms > 0 && glance->status != RAY_NODE_IDLE)) {
        fuzz_fail("a glance is sane", glance->bytes);
    }
    if (!ray_node_read(glance->bytes, seen->arena, &node, &err)) {
        return;
    }
    check_amounts(node.totals, node.total_count, glance->bytes);
    check_amounts(node.available, node.available_count, glance->bytes);
    if (glance->status == RAY_NODE_DEAD && (node.total_count > 0 || node.is_head)) {
        fuzz_fail("the dead have nothing", glance->bytes);
    }
    if (glance->status != RAY_NODE_RUNNING && node.activity_count > 0) {
        fuzz_fail("activities are not stale", glance->bytes);
    }
}

static void check_report(const struct ray_load_read *load, struct arena *arena)
{
    struct str *bytes = ARENA_ARRAY(arena, load->demand_count, struct str);
    struct str *gangs = ARENA_ARRAY(arena, load->gang_count, struct str);
    for (size_t i = 0; i < load->demand_count; i++) {
        bytes[i] = load->demands[i].bytes;
    }
    for (size_t i = 0; i < load->gang_count; i++) {
        gangs[i] = load->gangs[i].bytes;
    }
    struct ray_pending_node node = {.details = load->gang_count > 0 ? load->gangs[0].details
                                                                    : STR("\xff")};
    struct ray_report report = {
        .version = 1,
        .infeasible = bytes,
        .infeasible_count = load->demand_count,
        .infeasible_gangs = gangs,
        .infeasible_gang_count = load->gang_count,
        .nodes = &node,
        .node_count = 1,
    };
    struct str out = ray_report_bytes(&report, arena);
    struct wire wire = wire_open(out);
    struct wire_field field;
    if (!wire_next(&wire, &field) || wire_next(&wire, &field) || wire.is_broken ||
        wire_count(field.bytes, WIRE_KEY(4, WIRE_BYTES)) != load->demand_count ||
        wire_count(field.bytes, WIRE_KEY(5, WIRE_BYTES)) != load->gang_count) {
        fuzz_fail("a report is one message", out);
    }
}

static void check_load(struct str bytes, struct arena *arena)
{
    struct ray_load_read load;
    struct err err;
    if (!ray_state_load(bytes, arena, &load, &err)) {
        return;
    }
    for (size_t i = 0; i < load.demand_count; i++) {
        const struct ray_demand *demand = &load.demands[i];
        check_amounts(demand->request.amounts, demand->request.amount_count, bytes);
        if (demand->count <= 0) {
            fuzz_fail("a demand is for something", bytes);
        }
    }
    for (size_t i = 0; i < load.gang_count; i++) {
        if (load.gangs[i].request_count == 0) {
            fuzz_fail("a gang has members", bytes);
        }
    }
    check_report(&load, arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    struct ray_state state, again;
    struct err err;
    struct str bytes = {(const char *)data, size};
    arena_init(&arena);
    struct seen seen = {.arena = &arena};
    struct seen seen_again = {.arena = &arena};
    bool is_passed = ray_state_pass(bytes, hear, &seen, &state, &err);
    if (is_passed && (!ray_state_pass(bytes, hear, &seen_again, &again, &err) ||
                      again.load_mark != state.load_mark || seen_again.marks != seen.marks ||
                      state.node_count != seen.count)) {
        fuzz_fail("the same bytes have the same marks", bytes);
    }
    check_load(bytes, &arena);
    size_t drivers;
    if (!gcs_drivers_read(bytes, &drivers, &err) && err.kind != ERR_PROTOCOL) {
        fuzz_fail("a refusal says why", bytes);
    }
    struct gcs_requesters requesters;
    struct str entrypoint;
    if ((!gcs_requesters_read(bytes, &requesters, &err) && err.kind != ERR_PROTOCOL) ||
        (!gcs_entrypoint_read(bytes, &entrypoint, &err) && err.kind != ERR_PROTOCOL)) {
        fuzz_fail("a refusal says why", bytes);
    }
    arena_clear(&arena);
    return 0;
}
