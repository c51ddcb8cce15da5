/* fuzz_aws_xml.c: any bytes as a reply of AWS: a listing, a launch, a change, an error, keys. */
#include "fuzz.h"

#include "provider/aws/machines/instance_reply.h"
#include "provider/aws/wire/aws_error.h"
#include "provider/aws/wire/sts_reply.h"
#include "provider/aws/wire/xml_scan.h"
#include "provider/aws/wire/xml_tree.h"

/* An empty element takes four bytes and becomes a node; records have room for what they grow to. */
enum { GROWTH_MAX = 256, ROOM_MAX = 64 * 1024 };

/* ---- the scanner compared with expat ---- */

/* All events as one number; the marks are characters that no text can contain. */
static bool on_start(void *context, struct str name, struct err *err)
{
    uint64_t *heard = context;
    (void)err;
    *heard = str_hash_from(*heard, STR("\x01"));
    *heard = str_hash_from(*heard, name);
    *heard = str_hash_from(*heard, STR("\x02"));
    return true;
}

/* Byte by byte, because text may come in pieces. */
static bool on_text(void *context, struct str text, struct err *err)
{
    uint64_t *heard = context;
    (void)err;
    for (size_t i = 0; i < text.len; i++) {
        *heard = str_hash_from(*heard, str_sub(text, i, i + 1));
    }
    return true;
}

static bool on_end(void *context, struct err *err)
{
    uint64_t *heard = context;
    (void)err;
    *heard = str_hash_from(*heard, STR("\x03"));
    return true;
}

static const struct xml_listener ears = {on_start, on_text, on_end};

static bool scan(struct str bytes, size_t piece, uint64_t *heard)
{
    struct err err;
    struct xml_scan *scanner = xml_scan_new(&ears, heard);
    bool ok = true;
    for (size_t at = 0; ok && at < bytes.len; at += piece) {
        ok = xml_scan_feed(scanner, str_sub(bytes, at, at + piece), &err);
    }
    ok = ok && xml_scan_end(scanner, &err);
    xml_scan_free(scanner);
    return ok;
}

static void check_scan(struct str bytes)
{
    uint64_t whole = 0;
    uint64_t pieces = 0;
    uint64_t expat = 0;
    struct err err;
    bool ok = scan(bytes, SIZE_MAX / 2, &whole);
    if (ok != scan(bytes, 3, &pieces) || (ok && whole != pieces)) {
        fuzz_fail("the scanner hears the same in pieces", bytes);
    }
    struct xml_reply *reply = xml_reply_new(&ears, &expat);
    bool is_xml = xml_reply_feed(reply, bytes, &err) && xml_reply_end(reply, &err);
    xml_reply_free(reply);
    if (ok && (!is_xml || whole != expat)) {
        fuzz_fail("what the scanner accepts, expat accepts and hears the same", bytes);
    }
}

/* ---- replies ---- */

static bool read_list(struct str bytes, enum instance_reply_kind kind, size_t piece,
                      struct arena *arena, struct instance_list *ret_list)
{
    static const char *const prefixes[] = {"ray-", "Name", NULL};
    struct err err = {0};
    struct instance_reply *reply = instance_reply_new(kind, piece > 1000 ? prefixes : NULL, arena);
    bool ok = true;
    for (size_t at = 0; ok && at < bytes.len; at += piece) {
        ok = instance_reply_feed(reply, str_sub(bytes, at, at + piece), &err);
    }
    ok = ok && instance_reply_end(reply, ret_list, &err);
    if (!ok && err.kind == ERR_NONE) {
        fuzz_fail("a refusal says why", bytes);
    }
    instance_reply_free(reply);
    return ok;
}

static void check_list(struct str bytes, enum instance_reply_kind kind)
{
    struct arena arena;
    struct instance_list whole = {0};
    struct instance_list pieces = {0};
    arena_init(&arena);
    bool ok = read_list(bytes, kind, SIZE_MAX / 2, &arena, &whole);
    if (arena.used_bytes > bytes.len * GROWTH_MAX + ROOM_MAX) {
        fuzz_fail("what is read takes memory as the bytes do", bytes);
    }
    if (!fuzz_is_timed &&
        (ok != read_list(bytes, kind, 7, &arena, &pieces) || whole.count != pieces.count)) {
        fuzz_fail("pieces mean what the whole means", bytes);
    }
    for (size_t i = 0; ok && i < whole.count; i++) {
        if (whole.items[i].id.len == 0) {
            fuzz_fail("a machine has an id", bytes);
        }
    }
    arena_clear(&arena);
}

static void check_rest(struct str bytes)
{
    struct arena arena;
    struct aws_credentials keys;
    struct sts_identity identity;
    const struct xml_element *root;
    struct err err;
    arena_init(&arena);
    if (xml_tree_parse(bytes, &arena, &root, &err) && !root) {
        fuzz_fail("a tree has a root", bytes);
    }
    if (sts_credentials_read(bytes, &arena, &keys, &err) &&
        (keys.access_key.len == 0 || keys.secret_key.len == 0 || keys.session_token.len == 0)) {
        fuzz_fail("keys are whole", bytes);
    }
    (void)!sts_identity_read(bytes, &arena, &identity, &err);
    struct aws_error error = aws_error_read(503, STR(""), bytes, &arena);
    for (size_t i = 0; i < error.message.len; i++) {
        if ((unsigned char)error.message.ptr[i] < ' ') {
            fuzz_fail("a message is one visible line", error.message);
        }
    }
    arena_clear(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str bytes = {size > 0 ? (const char *)data : "", size};
    if (!fuzz_is_timed) {
        check_scan(bytes);
    }
    check_list(bytes, INSTANCES_LISTED);
    check_list(bytes, INSTANCES_LAUNCHED);
    check_list(bytes, INSTANCES_CHANGED);
    check_rest(bytes);
    return 0;
}
