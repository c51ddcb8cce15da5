/* fuzz_handover.c: any bytes as the handover that a head is sent. */
#include "fuzz.h"

#include "app/handover/handover.h"

static bool are_lists_same(const struct handover *a, const struct handover *b)
{
    bool is_same = a->machine_count == b->machine_count && a->intent_count == b->intent_count &&
                   a->launched_count == b->launched_count;
    for (size_t i = 0; is_same && i < a->machine_count; i++) {
        is_same = a->machines[i].instance == b->machines[i].instance &&
                  str_eq(a->machines[i].id, b->machines[i].id);
    }
    for (size_t i = 0; is_same && i < a->intent_count; i++) {
        is_same = a->intents[i].launch == b->intents[i].launch &&
                  a->intents[i].is_settled == b->intents[i].is_settled &&
                  str_eq(a->intents[i].call, b->intents[i].call);
    }
    for (size_t i = 0; is_same && i < a->launched_count; i++) {
        is_same = a->launched[i].launch == b->launched[i].launch;
    }
    return is_same;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = {size > 0 ? (const char *)data : "", size};
    struct handover handover, again;
    struct arena arena;
    struct err err = {0};
    AUTO_BUF struct buf out;
    arena_init(&arena);
    buf_init(&out, 8 * HANDOVER_BYTES_MAX);
    if (!handover_read(text, &arena, &handover, &err)) {
        if (err.text[0] == '\0') {
            fuzz_fail("what is refused says why", text);
        }
    } else {
        handover_write(&handover, &out);
        if (!handover_read(buf_str(&out), &arena, &again, &err) ||
            again.serial != handover.serial || again.epoch != handover.epoch ||
            !str_eq(again.uid, handover.uid) || !str_eq(again.config, handover.config) ||
            !are_lists_same(&handover, &again)) {
            fuzz_fail("a handover is read as it was written", text);
        }
    }
    arena_clear(&arena);
    return 0;
}
