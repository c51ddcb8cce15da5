/* fuzz_steps.c: messages between a node and the process that sets it up. The first byte selects
 * the kind. */
#include "fuzz.h"

#include "remote/bundle.h"
#include "remote/step_event.h"

#include <string.h>

/* What was read and written is read again with the same keys. */
static void try_bundle(struct str text, struct arena *arena)
{
    struct bundle first, second;
    struct err err;
    AUTO_BUF struct buf out;
    buf_init(&out, BUNDLE_BYTES_MAX * 8);
    if (!bundle_read(text, arena, &first, &err) || !bundle_write(&first, &out, &err)) {
        return;
    }
    if (!bundle_read(buf_str(&out), arena, &second, &err) || first.count != second.count) {
        fuzz_fail("a bundle is read as it was written", text);
    }
    char(*one)[STEP_KEY_SIZE] = arena_array(arena, first.count, STEP_KEY_SIZE);
    char(*two)[STEP_KEY_SIZE] = arena_array(arena, first.count, STEP_KEY_SIZE);
    bundle_keys(&first, one);
    bundle_keys(&second, two);
    if (memcmp(one, two, first.count * STEP_KEY_SIZE) != 0) {
        fuzz_fail("keys are kept", text);
    }
}

static void try_event(struct str text, struct arena *arena)
{
    struct step_event event;
    struct err err;
    AUTO_BUF struct buf out;
    buf_init(&out, 1 << 20);
    if (step_event_read(text, arena, &event, &err)) {
        step_event_write(&event, &out);
        struct step_event again;
        if (!step_event_read(buf_str(&out), arena, &again, &err) || again.kind != event.kind) {
            fuzz_fail("an event is read as it was written", text);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    if (size == 0) {
        return 0;
    }
    struct str text = {(const char *)data + 1, size - 1};
    arena_init(&arena);
    if (data[0] == 'b') {
        try_bundle(text, &arena);
    } else {
        try_event(text, &arena);
    }
    arena_clear(&arena);
    return 0;
}
