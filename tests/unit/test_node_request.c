/* test_node_request.c: the messages on the connection to a node. */
#include "remote/node_request.h"

#include "unit.h"

static struct arena arena;

static int open_arena(void **state)
{
    (void)state;
    arena_init(&arena);
    return 0;
}

static int close_arena(void **state)
{
    (void)state;
    arena_clear(&arena);
    return 0;
}

static struct node_request written_and_read(const struct node_request *request)
{
    struct node_request again;
    struct err err = {0};
    struct buf line;
    buf_init(&line, NODE_REQUEST_BYTES_MAX);
    assert_true(node_request_write(request, &line, &err));
    assert_int_equal(line.ptr[line.len - 1], '\n');
    assert_true(str_find_char(buf_str(&line), '\n') == line.len - 1);
    assert_true(node_request_read(buf_str(&line), &arena, &again, &err));
    buf_clear(&line);
    return again;
}

static void test_a_request_comes_as_it_was_sent(void **state)
{
    (void)state;
    const char every[] = "\0\n\xff\"'\\ any bytes";
    struct node_file files[] = {
        {STR("~/key \"1\".pem"), {every, sizeof(every)}, 0600},
        {STR("/etc/\xc3\xa4"), STR(""), 0644},
    };
    struct step steps[] = {
        {.name = STR("one"), .command = STR("echo 'x'\necho y"), .attempts = 1},
        {.name = STR("two"), .command = STR("true"), .attempts = 3, .is_always = true},
    };
    struct node_request again = written_and_read(
        &(struct node_request){.run = STR("0123456789abcdef0123456789abcdef"),
                               .host_key = STR("ssh-ed25519 AAAA"),
                               .files = files,
                               .file_count = 2,
                               .bundle = {steps, 2}});
    assert_str(again.run, "0123456789abcdef0123456789abcdef");
    assert_str(again.host_key, "ssh-ed25519 AAAA");
    assert_int_equal(again.file_count, 2);
    assert_true(str_eq(again.files[0].bytes, files[0].bytes));
    assert_str(again.files[0].path, "~/key \"1\".pem");
    assert_int_equal(again.files[0].mode, 0600);
    assert_int_equal(again.files[1].bytes.len, 0);
    assert_int_equal(again.bundle.count, 2);
    assert_str(again.bundle.steps[0].command, "echo 'x'\necho y");
    assert_int_equal(again.bundle.steps[0].attempts, 1);
    assert_int_equal(again.bundle.steps[1].attempts, 3);
}

static void test_large_and_empty(void **state)
{
    (void)state;
    size_t size = 17 << 20;
    char *bytes = arena_alloc(&arena, size);
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (char)(i * 7919 >> 3);
    }
    struct node_file file = {STR("/big"), {bytes, size}, 0600};
    struct node_request again = written_and_read(
        &(struct node_request){.files = &file, .file_count = 1});
    assert_true(str_eq(again.files[0].bytes, file.bytes));
    assert_int_equal(written_and_read(&(struct node_request){0}).bundle.count, 0);

    struct buf line;
    struct err err = {0};
    struct node_file two[] = {file, file};
    buf_init(&line, NODE_REQUEST_BYTES_MAX);
    assert_false(
        node_request_write(&(struct node_request){.files = two, .file_count = 2}, &line, &err));
    assert_like(str_from(err.text), "*larger than 24 MB*");
    buf_clear(&line);
}

/* The head gets a host key of each own machine. */
static void test_many_files(void **state)
{
    size_t most = NODE_FILES_MAX;
    struct node_file *files = ARENA_ARRAY(&arena, most + 1, struct node_file);
    struct err err = {0};
    (void)state;
    for (size_t i = 0; i <= most; i++) {
        files[i] = (struct node_file){STR("/key"), STR("ssh-ed25519"), 0600};
    }
    struct node_request request = {.files = files, .file_count = most};
    assert_int_equal(written_and_read(&request).file_count, most);
    AUTO_BUF struct buf line;
    buf_init(&line, NODE_REQUEST_BYTES_MAX);
    request.file_count = most + 1;
    assert_false(node_request_write(&request, &line, &err));
    assert_string_equal(err.text, "cannot send 10001 files to a node: at most 10000 are possible");
}

static bool is_read(const char *begin, const char *file, const char *end)
{
    struct node_request request;
    struct err err = {0};
    struct str line = arena_printf(
        &arena, "{%s,\"host_key\":\"\",\"files\":[%s],\"bundle\":{\"format\":1,\"steps\":[]}%s}",
        begin, file, end);
    bool ok = node_request_read(line, &arena, &request, &err);
    assert_int_equal(err.kind, ok ? ERR_NONE : ERR_PROTOCOL);
    return ok;
}

static void test_what_is_refused(void **state)
{
    (void)state;
    const char *begin = "\"protocol\":1,\"run\":\"\"";
    assert_true(is_read(begin, "", ""));
    assert_true(is_read(begin, "{\"path\":\"/a\",\"mode\":384,\"bytes\":\"YQ==\"}", ""));
    assert_false(is_read("\"protocol\":2,\"run\":\"\"", "", ""));
    assert_false(is_read("\"protocol\":1,\"run\":\"x\"", "", ""));
    assert_false(is_read("\"protocol\":1", "", ""));
    assert_false(is_read(begin, "", ",\"x\":1"));
    assert_false(is_read(begin, "{}", ""));
    assert_false(is_read(begin, "{\"path\":\"a\",\"mode\":384,\"bytes\":\"\"}", ""));
    assert_false(is_read(begin, "{\"path\":\"/a/\",\"mode\":384,\"bytes\":\"\"}", ""));
    assert_false(is_read(begin, "{\"path\":\"/a\",\"mode\":2048,\"bytes\":\"\"}", ""));
    assert_false(is_read(begin, "{\"path\":\"/a\",\"mode\":384,\"bytes\":\"a?==\"}", ""));
    assert_false(is_read(begin, "{\"path\":\"/a\",\"mode\":384,\"bytes\":\"YQ\"}", ""));
}

static void test_greeting_and_notices(void **state)
{
    (void)state;
    struct node_hello hello;
    struct node_notice notice;
    struct err err = {0};
    AUTO_BUF struct buf line;
    buf_init(&line, 64 * 1024);
    node_hello_write(&(struct node_hello){.protocol = NODE_PROTOCOL,
                                          .machine = STR("x86_64"),
                                          .os = STR("De\033bian"),
                                          .disk_free = INT64_C(1) << 40,
                                          .processors = 64},
                     &line);
    assert_true(node_hello_read(buf_str(&line), &arena, &hello, &err));
    assert_str(hello.machine, "x86_64");
    assert_str(hello.os, "De?bian");
    assert_true(hello.disk_free == INT64_C(1) << 40);
    assert_false(node_notice_read(buf_str(&line), &arena, &notice));
    assert_false(node_hello_read(STR("{\"what\":\"began\"}"), &arena, &hello, &err));
    /* A node sends a key that would become two lines of known_hosts, or a marker at the start of
     * one. */
    assert_true(node_hello_read(STR("{\"what\":\"hello\",\"protocol\":1,\"host_key\":"
                                    "\"ssh-ed25519 AAAA+/=\"}"),
                                &arena, &hello, &err));
    assert_str(hello.host_key, "ssh-ed25519 AAAA+/=");
    assert_str(hello.shown_key, "");
    static const char *const bad[] = {"ssh-ed25519 AA\\n* ssh-ed25519 BB", "ssh-rsa AA",
                                      "ssh-ed25519 ", "ssh-ed25519 AA BB"};
    for (size_t i = 0; i < 2 * ARRAY_LEN(bad); i++) {
        assert_false(node_hello_read(arena_printf(&arena,
                                                  "{\"what\":\"hello\",\"protocol\":1,"
                                                  "\"%s\":\"%s\"}",
                                                  i % 2 ? "host_key" : "shown_key", bad[i / 2]),
                                     &arena, &hello, &err));
    }
    buf_clear(&line);
    node_notice_write(&(struct node_notice){NODE_TROUBLE, STR("disk full")}, &line);
    assert_true(node_notice_read(buf_str(&line), &arena, &notice));
    assert_int_equal(notice.kind, NODE_TROUBLE);
    assert_str(notice.text, "disk full");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_request_comes_as_it_was_sent),
        cmocka_unit_test(test_large_and_empty),
        cmocka_unit_test(test_many_files),
        cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_greeting_and_notices),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
