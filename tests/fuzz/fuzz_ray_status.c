/* fuzz_ray_status.c: any bytes as the state of a Ray cluster; what is understood becomes a text. */
#include "fuzz.h"

#include "ray/status_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str reply = {(const char *)data, size};
    AUTO_BUF struct buf out;
    struct err err;
    buf_init(&out, 4 << 20);
    if (size > 1 << 20) {
        return 0;
    }
    bool is_read = ray_status_text(reply, 1790000000000000, &out, &err);
    if (is_read && (!str_starts(buf_str(&out), "======== Autoscaler status: ") ||
                    str_find(buf_str(&out), "Pending Demands:") == SIZE_MAX)) {
        fuzz_fail("a text has all its parts", reply);
    }
    if (!is_read && err.text[0] == '\0') {
        fuzz_fail("what is refused says why", reply);
    }
    return 0;
}
