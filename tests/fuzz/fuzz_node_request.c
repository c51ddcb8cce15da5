/* fuzz_node_request.c: messages between a node and the process that sets it up. The first byte
 * selects a request, a greeting or a notice. */
#include "fuzz.h"

#include "remote/node_request.h"
#include "remote/ssh_error.h"

static void try_request(struct str line, struct arena *arena)
{
    struct node_request first, second;
    struct err err;
    AUTO_BUF struct buf out;
    buf_init(&out, NODE_REQUEST_BYTES_MAX);
    if (!node_request_read(line, arena, &first, &err) || !node_request_write(&first, &out, &err)) {
        return;
    }
    if (!node_request_read(buf_str(&out), arena, &second, &err) ||
        first.file_count != second.file_count || first.bundle.count != second.bundle.count ||
        !str_eq(first.run, second.run)) {
        fuzz_fail("a request is read as it was written", line);
    }
    for (size_t i = 0; i < first.file_count; i++) {
        if (!str_eq(first.files[i].bytes, second.files[i].bytes) ||
            !str_eq(first.files[i].path, second.files[i].path) ||
            first.files[i].mode != second.files[i].mode) {
            fuzz_fail("a file is read as it was written", line);
        }
    }
}

static void try_hello(struct str line, struct arena *arena)
{
    struct node_hello hello, again;
    struct err err;
    AUTO_BUF struct buf out;
    buf_init(&out, 1 << 20);
    if (node_hello_read(line, arena, &hello, &err)) {
        node_hello_write(&hello, &out);
        if (!node_hello_read(buf_str(&out), arena, &again, &err) ||
            again.disk_free != hello.disk_free || again.protocol != hello.protocol) {
            fuzz_fail("a greeting is read as it was written", line);
        }
    }
}

static void try_notice(struct str line, struct arena *arena)
{
    struct node_notice notice, again;
    AUTO_BUF struct buf out;
    buf_init(&out, 1 << 20);
    if (node_notice_read(line, arena, &notice)) {
        node_notice_write(&notice, &out);
        if (!node_notice_read(buf_str(&out), arena, &again) || again.kind != notice.kind) {
            fuzz_fail("a notice is read as it was written", line);
        }
    }
    (void)ssh_error_of(line);
    (void)ssh_is_chatter(line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    if (size == 0) {
        return 0;
    }
    struct str line = {(const char *)data + 1, size - 1};
    arena_init(&arena);
    if (data[0] == 'r') {
        try_request(line, &arena);
    } else if (data[0] == 'h') {
        try_hello(line, &arena);
    } else {
        try_notice(line, &arena);
    }
    arena_clear(&arena);
    return 0;
}
