/* fuzz_notice.c: any bytes as an answer of a metadata service. */
#include "fuzz.h"

#include "app/node/notice.h"

enum { DAY_MS = 24 * 60 * 60 * 1000 };

static void check(const struct notice_page *page, int status, struct str body)
{
    const int64_t now_ms = 1794297600000;
    struct notice notice;
    struct err err = {0};
    if (!page->path) {
        return;
    }
    if (!page->read(status, body, now_ms, &notice, &err)) {
        if (err.kind == ERR_NONE || notice.kind != NOTICE_NONE) {
            fuzz_fail("what is no answer says why, and nothing else", body);
        }
    } else if (notice.kind != NOTICE_NONE && (status != 200 || notice.until_ms < now_ms - DAY_MS ||
                                              notice.until_ms > now_ms + DAY_MS)) {
        fuzz_fail("a notice is near", body);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const providers[] = {"aws", "gcp"};
    static const int statuses[] = {200, 401, 404};
    struct str bytes = {size > 0 ? (const char *)data : "", size};
    for (size_t i = 0; i < ARRAY_LEN(providers); i++) {
        const struct metadata_api *dialect = metadata_api(str_from(providers[i]));
        for (size_t j = 0; j < ARRAY_LEN(statuses); j++) {
            check(&dialect->final, statuses[j], bytes);
            check(&dialect->advice, statuses[j], bytes);
        }
    }
    if (notice_is_token(bytes) && str_find_char(bytes, '\n') != SIZE_MAX) {
        fuzz_fail("a token fits into a header", bytes);
    }
    return 0;
}
