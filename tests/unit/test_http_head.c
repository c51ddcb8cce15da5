/* test_http_head.c: status lines, headers and trailers, one line at a time. */
#include "io/http_head.h"

#include "unit.h"

#include <stdio.h>
#include <string.h>

/* All lines of `text`, each with its end, as libcurl hands them over. */
static bool add_all(struct http_head *head, struct arena *arena, const char *text)
{
    struct str rest = str_from(text);
    bool ok = true;
    while (ok && rest.len > 0) {
        size_t end = str_find_char(rest, '\n');
        ok = http_head_add(head, arena, str_sub(rest, 0, end == SIZE_MAX ? rest.len : end + 1));
        rest = str_sub(rest, end == SIZE_MAX ? rest.len : end + 1, rest.len);
    }
    return ok;
}

static struct str find(const struct http_fields *fields, const char *name)
{
    return http_fields_find(fields->items, fields->count, name);
}

static void headers_and_trailers_are_told_apart(void **state)
{
    struct arena arena;
    struct http_head head = {0};
    (void)state;
    arena_init(&arena);
    assert_true(add_all(&head, &arena,
                        "HTTP/1.1 100 Continue\r\nX-Gone: 1\r\n\r\n"
                        "HTTP/2 200 \r\nA:  b c \r\na: second\nEmpty:\r\n\r\n"
                        "T: 1\r\nno colon here\r\nbad name: x\r\n\r\nT2: 2\r\n"));
    assert_int_equal(head.status, 200);
    assert_int_equal(head.headers.count, 3);
    assert_str(find(&head.headers, "a"), "b c");
    assert_non_null(find(&head.headers, "EMPTY").ptr);
    assert_str(find(&head.headers, "empty"), "");
    assert_null(find(&head.headers, "x-gone").ptr);
    assert_null(find(&head.headers, "T").ptr);
    assert_int_equal(head.trailers.count, 2);
    assert_str(find(&head.trailers, "t"), "1");
    assert_true(head.is_ended);
    arena_clear(&arena);
}

static void status_lines_must_have_a_status(void **state)
{
    static const char *const bad[] = {"HTTP/1.1\r\n",      "HTTP/1.1 \r\n",  "HTTP/1.1 20 OK\r\n",
                                      "HTTP/1.1 2000\r\n", "HTTP/2 099\r\n", "HTTP/2 -20 x\r\n",
                                      "HTTP/2  200 x\r\n"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct arena arena;
        struct http_head head = {0};
        arena_init(&arena);
        assert_false(add_all(&head, &arena, bad[i]));
        assert_false(http_head_is_too_large(&head));
        arena_clear(&arena);
    }
}

static void there_is_a_bound(void **state)
{
    struct arena arena;
    struct http_head head = {0};
    char line[1000];
    (void)state;
    arena_init(&arena);
    memset(line, 'x', sizeof(line));
    line[1] = ':';
    int count = 0;
    while (http_head_add(&head, &arena, (struct str){line, sizeof(line)})) {
        count++;
    }
    assert_true(http_head_is_too_large(&head));
    assert_in_range(count, HTTP_HEAD_BYTES_MAX / 1000 - 1, HTTP_HEAD_BYTES_MAX / 1000);
    arena_clear(&arena);
}

static void headers_cannot_forge_others(void **state)
{
    const struct {
        struct str name, value;
        bool is_valid;
    } rows[] = {
        {STR("X-A"), STR("b"), true},
        {STR("X-A"), STR(""), true},
        {STR("x_a.b"), STR("tab\tand \xc3\xa9"), true},
        {STR(""), STR("b"), false},
        {STR("X A"), STR("b"), false},
        {STR("X:A"), STR("b"), false},
        {STR("X\0A"), STR("b"), false},
        {STR("X"), STR("b\r\nY: c"), false},
        {STR("X"), STR("b\n"), false},
        {STR("X"), STR("b\0c"), false},
        {STR("X"), STR("\x7f"), false},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct http_header header = {rows[i].name, rows[i].value};
        assert_int_equal(http_header_is_valid(header), rows[i].is_valid);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(headers_and_trailers_are_told_apart),
        cmocka_unit_test(status_lines_must_have_a_status),
        cmocka_unit_test(there_is_a_bound),
        cmocka_unit_test(headers_cannot_forge_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
