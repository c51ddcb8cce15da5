/* fuzz_gce_reply.c: any bytes as a reply of Google's Compute API. */
#include "fuzz.h"

#include "provider/gcp/account/gcp_account_read.h"
#include "provider/gcp/wire/gcp_failure.h"
#include "provider/gcp/wire/gcp_instance.h"

static void check_failure(const struct gcp_failure *failure, struct str bytes)
{
    if (failure->outcome == OUTCOME_DONE || failure->outcome >= OUTCOME_COUNT) {
        fuzz_fail("a failure is not a success", bytes);
    }
    for (const char *at = failure->message; *at; at++) {
        if ((unsigned char)*at < ' ') {
            fuzz_fail("a message has no control characters", bytes);
        }
    }
}

/* Whatever a listing says, gc sees rules and leases with a uid only. */
static void check_account(json_t *items, struct str bytes)
{
    static gcp_account_read_fn *const readers[] = {gcp_account_read_instances,
                                                   gcp_account_read_disks, gcp_account_read_rules,
                                                   gcp_account_read_templates};
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct account_basket basket = {.arena = &arena};
    struct account_cluster *clusters;
    size_t count;
    struct err err;
    for (size_t i = 0; i < ARRAY_LEN(readers); i++) {
        (void)!readers[i](&basket, STR("p"), items, &err);
    }
    for (size_t i = 0; i < basket.finds.thing_count; i++) {
        const struct account_thing *thing = &basket.finds.things[i];
        if (thing->owner.uid.len != 32 || !gcp_is_name(thing->id)) {
            fuzz_fail("a leftover has a name and a uid", bytes);
        }
    }
    basket.finds.sees_everywhere = true;
    account_gather(&basket.finds, &arena, &clusters, &count);
}

static void check_listing(const json_t *body, const char *kind, struct str bytes)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    json_t *items = json_array();
    struct machine machine;
    struct str next;
    struct err err = {0};
    if (gcp_page_read(body, kind, items, &next, &err)) {
        for (size_t i = 0; i < json_array_size(items); i++) {
            json_t *item = json_array_get(items, i);
            if (gcp_instance_read(item, &arena, &machine, &err) &&
                (!gcp_is_name(machine.id) || !gcp_is_name(machine.zone) ||
                 machine.state >= MACHINE_STATE_COUNT)) {
                fuzz_fail("an instance has a name, a zone and a state", bytes);
            }
        }
        check_account(items, bytes);
    } else if (err.kind == ERR_NONE) {
        fuzz_fail("a refusal says why", bytes);
    }
    json_decref(items);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str bytes = {size > 0 ? (const char *)data : "", size};
    struct gcp_failure failure;
    struct gcp_operation_state state;
    gcp_failure_read(403, bytes, &failure);
    check_failure(&failure, bytes);
    json_t *body = json_loadb(bytes.ptr, bytes.len, 0, NULL);
    if (gcp_operation_state_read(body, &state) && state.has_failed) {
        check_failure(&state.failure, bytes);
    }
    check_listing(body, NULL, bytes);
    check_listing(body, "instances", bytes);
    json_decref(body);
    return 0;
}
