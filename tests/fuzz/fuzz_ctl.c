/* fuzz_ctl.c: what travels between a verb and the head's service. The first byte chooses. */
#include "fuzz.h"

#include "app/head/ctl/ctl.h"

static bool is_same_cluster_status(const struct ctl_line *a, const struct ctl_line *b)
{
    return str_eq(a->demand.shape, b->demand.shape) && a->demand.count == b->demand.count &&
           str_eq(a->demand.why, b->demand.why) && a->event.number == b->event.number &&
           a->event.kind == b->event.kind && str_eq(a->event.text, b->event.text) &&
           str_eq(a->answer.question, b->answer.question) &&
           a->answer.line_count == b->answer.line_count && a->status.price == b->status.price;
}

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
        !str_eq(again.text, line.text) || !str_eq(again.node.name, line.node.name) ||
        again.node.use_count != line.node.use_count || !is_same_cluster_status(&line, &again)) {
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
        again.follows != request.follows || again.after != request.after ||
        again.bundle_count != request.bundle_count || !str_eq(again.about, request.about)) {
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
