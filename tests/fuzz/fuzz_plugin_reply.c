/* fuzz_plugin_reply.c: any bytes as a line that a plug-in sends. */
#include "fuzz.h"

#include "provider/external/plugin_reply.h"

static void check_hello(const struct plugin_hello *hello, struct str bytes)
{
    if (hello->parallel < 1 || hello->parallel > PLUGIN_PARALLEL_MAX || hello->list_delay_s < 0 ||
        hello->list_delay_s > PLUGIN_LIST_DELAY_MAX_S || hello->zone_count > PLUGIN_ZONES_MAX) {
        fuzz_fail("numbers have limits", bytes);
    }
}

static void check_machines(const struct machine *machines, size_t count, struct str bytes)
{
    for (size_t i = 0; i < count; i++) {
        if (machines[i].id.len == 0 || machines[i].state >= MACHINE_STATE_COUNT ||
            machines[i].launched_at < 0) {
            fuzz_fail("an instance has an id and a state", bytes);
        }
    }
}

static void check_error(const struct plugin_reply *reply, struct str bytes)
{
    for (const char *at = reply->err.text; *at; at++) {
        if ((unsigned char)*at < ' ') {
            fuzz_fail("a message has no control characters", bytes);
        }
    }
    if ((reply->outcome == OUTCOME_DONE) != (reply->err.kind == ERR_NONE)) {
        fuzz_fail("a failure has a reason", bytes);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str bytes = {size > 0 ? (const char *)data : "", size};
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct plugin_reply reply = {0};
    struct plugin_hello hello;
    struct machine *machines;
    size_t count;
    struct str value;
    int64_t now;
    struct err err = {0};
    if (!plugin_reply_read(bytes, &reply, &err)) {
        if (err.kind != ERR_PROTOCOL) {
            fuzz_fail("a refusal says why", bytes);
        }
        return 0;
    }
    check_error(&reply, bytes);
    if (plugin_hello_read(reply.body, &arena, &hello, &err)) {
        check_hello(&hello, bytes);
    }
    if (plugin_machines_read(reply.body, &arena, &machines, &count, &err)) {
        check_machines(machines, count, bytes);
    }
    if (plugin_swap_read(reply.body, &value, &now, &err) && now < 1) {
        fuzz_fail("the time is known", bytes);
    }
    json_decref(reply.body);
    return 0;
}
