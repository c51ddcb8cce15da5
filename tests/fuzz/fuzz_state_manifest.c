/* fuzz_state_manifest.c: any bytes as the list of files of a checkpoint that is received. */
#include "fuzz.h"

#include "app/train/state_tree.h"

#include <string.h>

static void check_path(struct str path, struct str bytes)
{
    struct str rest = path;
    if (path.len == 0 || path.ptr[0] == '/' || strlen(path.ptr) != path.len) {
        fuzz_fail("a path is relative and has no zero byte", bytes);
    }
    while (rest.len > 0) {
        struct str component = str_cut(&rest, '/');
        if (component.len == 0 || str_is(component, "..") || str_is(component, ".")) {
            fuzz_fail("a path does not leave its tree", bytes);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str bytes = {size > 0 ? (const char *)data : "", size};
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    AUTO_BUF struct buf again;
    struct state_manifest manifest;
    struct err err = {0};
    int64_t sum = 0;
    buf_init(&again, STATE_MANIFEST_BYTES_MAX);
    if (!state_manifest_parse(bytes, &arena, &manifest, &err)) {
        if (err.kind != ERR_PROTOCOL) {
            fuzz_fail("a refusal says why", bytes);
        }
        return 0;
    }
    for (size_t i = 0; i < manifest.count; i++) {
        check_path(manifest.entries[i].path, bytes);
        if (manifest.entries[i].mode > 0777 || manifest.entries[i].size < 0) {
            fuzz_fail("only permissions and sizes are accepted", bytes);
        }
        sum += manifest.entries[i].size;
    }
    if (sum != manifest.bytes || sum > STATE_BYTES_MAX) {
        fuzz_fail("the sum of the sizes is bounded and right", bytes);
    }
    state_manifest_add(&again, &manifest);
    if (!str_eq(buf_str(&again), bytes)) {
        fuzz_fail("a list that is read is written as it was", bytes);
    }
    return 0;
}
