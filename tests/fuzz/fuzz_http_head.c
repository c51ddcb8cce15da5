/* fuzz_http_head.c: any bytes, cut into lines, as the head of a reply. */
#include "fuzz.h"

#include "io/http_head.h"

#include <stdio.h>

static void check_fields(const struct http_fields *fields)
{
    for (size_t i = 0; i < fields->count; i++) {
        if (!http_header_is_valid(fields->items[i])) {
            fuzz_fail("a header that was read could be sent again", fields->items[i].value);
        }
        char name[200];
        struct str given = fields->items[i].name;
        snprintf(name, sizeof(name), "%.*s", STR_ARG(given));
        if (given.len < sizeof(name) && !http_fields_find(fields->items, fields->count, name).ptr) {
            fuzz_fail("a header that was read is found by its name", given);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str rest = {(const char *)data, size};
    struct http_head head = {0};
    struct arena arena;
    bool ok = true;
    arena_init(&arena);
    while (ok && rest.len > 0) {
        size_t end = str_find_char(rest, '\n');
        size_t len = end == SIZE_MAX ? rest.len : end + 1;
        ok = http_head_add(&head, &arena, str_sub(rest, 0, len));
        rest = str_sub(rest, len, rest.len);
    }
    check_fields(&head.headers);
    check_fields(&head.trailers);
    if (head.trailers.count > 0 && !head.is_ended) {
        fuzz_fail("trailers come behind the end of the headers", STR(""));
    }
    if (head.status != 0 && (head.status < 100 || head.status > 999)) {
        fuzz_fail("a status has three digits", STR(""));
    }
    arena_clear(&arena);
    return 0;
}
