/* fuzz_ctl.c: what travels between a verb and the head's service. The first byte chooses. */
#include "fuzz.h"

#include "app/head/ctl.h"

static void try_line(struct str text, struct arena *arena)
{
    struct ctl_line line, again;
    struct err err;
    AUTO_BUF struct buf out;
    buf_init(&out, 4 << 20);
    if (!ctl_line_read(text, arena, &line, &err)) {
        return;
    }
    ctl_line_write(&line, &out);
    if (!ctl_line_read(buf_str(&out), arena, &again, &err) || again.kind != line.kind ||
        !str_eq(again.text, line.text) || !str_eq(again.node.name, line.node.name)) {
        fuzz_fail("a line is read as it was written", text);
    }
    if (line.kind == CTL_GREETING && !ctl_greeting_check(&line, &err) && err.text[0] == '\0') {
        fuzz_fail("whoever is refused is told why", text);
    }
}

static void try_request(struct str text, struct arena *arena)
{
    struct ctl_request request, again;
    struct err err;
    AUTO_BUF struct buf out;
    buf_init(&out, 4 << 20);
    if (!ctl_request_read(text, arena, &request, &err) || request.what.len == 0) {
        return;
    }
    ctl_request_write(&request, &out);
    if (!ctl_request_read(buf_str(&out), arena, &again, &err) ||
        !str_eq(again.what, request.what) || !str_eq(again.node, request.node) ||
        again.follows != request.follows) {
        fuzz_fail("a request is read as it was written", text);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    if (size == 0 || size > CTL_LINE_BYTES_MAX) {
        return 0;
    }
    struct str text = {(const char *)data + 1, size - 1};
    arena_init(&arena);
    if (data[0] == 'r') {
        try_request(text, &arena);
    } else {
        try_line(text, &arena);
    }
    arena_clear(&arena);
    return 0;
}
