/*
 * redact.c: masks secrets in three passes: registered values, then known patterns, then known
 * names. Certain matches come first: a guess that masked the beginning of a registered value would
 * leave its end visible.
 *
 * Programs escape values differently: %2F or %2f, with or without the slash escaped. So a
 * registered value is compared byte by byte, and each byte may appear as itself or in any of these
 * escapes.
 */
#include "io/redact.h"

#include "base/arena.h"
#include "base/memzero.h"
#include "base/secret_text.h"
#include "io/xalloc.h"

#include <string.h>
#include <strings.h>

enum {
    ENCODED_MIN = 8, /* shorter base64 fragments occur by chance */
    LINE_MIN = 16,   /* minimum length of a line of a multi-line secret */
    NAME_MAX_BYTES = 100,
};

/* One spelling of a registered value. */
struct redact_form {
    struct redact_form *next;
    size_t owners; /* how often it was registered */
    size_t len;
    char bytes[];
};

struct redact {
    struct redact_form
        *forms[256]; /* by first byte; longest first, so that no suffix stays visible */
};

struct redact *redact_new(void)
{
    return HEAP_NEW(struct redact);
}

static void unlink_form(struct redact_form **at)
{
    struct redact_form *form = *at;
    *at = form->next;
    memzero(form->bytes, form->len);
    free(form);
}

void redact_free(struct redact *redact)
{
    if (!redact) {
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(redact->forms); i++) {
        while (redact->forms[i]) {
            unlink_form(&redact->forms[i]);
        }
    }
    free(redact);
}

/* ---- registering ---- */

/* Adding and dropping enumerate the same spellings. */
enum change { ADD, DROP };

static void change_form(struct redact *redact, struct str bytes, enum change change)
{
    struct redact_form **at = &redact->forms[(unsigned char)bytes.ptr[0]];
    while (*at && (*at)->len > bytes.len) {
        at = &(*at)->next;
    }
    struct redact_form **same = at;
    while (*same && (*same)->len == bytes.len &&
           memcmp((*same)->bytes, bytes.ptr, bytes.len) != 0) {
        same = &(*same)->next;
    }
    bool is_there = *same && (*same)->len == bytes.len;
    if (change == DROP) {
        if (is_there && --(*same)->owners == 0) {
            unlink_form(same);
        }
        return;
    }
    if (is_there) {
        (*same)->owners++;
        return;
    }
    struct redact_form *form = heap_zeroed(sizeof(*form) + bytes.len);
    form->owners = 1;
    form->len = bytes.len;
    memcpy(form->bytes, bytes.ptr, bytes.len);
    form->next = *at;
    *at = form;
}

/* Six bits starting at `bit`. */
static unsigned sextet(struct str bytes, size_t bit)
{
    unsigned high = (unsigned char)bytes.ptr[bit / 8];
    unsigned low = bit / 8 + 1 < bytes.len ? (unsigned char)bytes.ptr[bit / 8 + 1] : 0;
    return ((high << 8 | low) >> (10 - bit % 8)) & 63;
}

/*
 * The base64 of the value when it starts `shift` bytes after a multiple of three, like the password
 * in "user:password". Only the characters that depend on the value alone.
 */
static void change_base64(struct redact *redact, struct str secret, size_t shift,
                          const char *alphabet, enum change change)
{
    AUTO_BUF struct buf text;
    size_t bit = (6 - shift * 8 % 6) % 6;
    buf_init(&text, secret.len * 2 + 4);
    for (; bit + 6 <= secret.len * 8; bit += 6) {
        buf_add_char(&text, alphabet[sextet(secret, bit)]);
    }
    if (text.len >= ENCODED_MIN) {
        change_form(redact, buf_str(&text), change);
    }
    if (text.ptr) {
        memzero(text.ptr, text.len);
    }
}

static void change_value(struct redact *redact, struct str secret, enum change change)
{
    static const char usual[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    static const char in_urls[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    change_form(redact, secret, change);
    for (size_t shift = 0; shift < 3; shift++) {
        change_base64(redact, secret, shift, usual, change);
        change_base64(redact, secret, shift, in_urls, change);
    }
}

static void change_secret(struct redact *redact, struct str secret, enum change change)
{
    if (secret.len < REDACT_BYTES_MIN) {
        return;
    }
    change_value(redact, secret, change);
    if (str_find_char(secret, '\n') == SIZE_MAX) {
        return;
    }
    while (secret.len > 0) {
        struct str line = str_trim(str_cut(&secret, '\n'));
        if (line.len >= LINE_MIN) {
            change_value(redact, line, change);
        }
    }
}

void redact_add(struct redact *redact, struct str secret)
{
    change_secret(redact, secret, ADD);
}

void redact_drop(struct redact *redact, struct str secret)
{
    change_secret(redact, secret, DROP);
}

/* ---- finding registered values ---- */

static int redact_hex_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    char lower = (char)(c | 32);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* The byte encoded by `count` hex digits at `at`, or -1. */
static int hex_byte(struct str text, size_t at, size_t count)
{
    int value = 0;
    for (size_t i = 0; i < count; i++) {
        int digit = at + i < text.len ? redact_hex_digit(text.ptr[at + i]) : -1;
        if (digit < 0) {
            return -1;
        }
        value = (value & 0xfff) * 16 + digit;
    }
    return value <= 255 ? value : -1;
}

/* The byte encoded by the backslash escape at `at`; `ret_len` is its length. */
static int unescape(struct str text, size_t at, size_t *ret_len)
{
    static const char names[] = "nrtbf";
    static const char bytes[] = "\n\r\t\b\f";
    char next = at + 1 < text.len ? text.ptr[at + 1] : '\0';
    *ret_len = 2;
    if (next == 'u' && hex_byte(text, at + 2, 4) >= 0) {
        *ret_len = 6;
        return hex_byte(text, at + 2, 4);
    }
    if (next == 'x' && hex_byte(text, at + 2, 2) >= 0) {
        *ret_len = 4;
        return hex_byte(text, at + 2, 2);
    }
    const char *name = next ? strchr(names, next) : NULL;
    return name ? bytes[name - names] : (unsigned char)next;
}

/* The number of bytes at `at` that encode `wanted`, escaped or not; 0 if it does not match. */
static size_t match_byte(struct str text, size_t at, char wanted)
{
    char c = text.ptr[at];
    if (c == wanted) {
        return 1;
    }
    if (c == '%') {
        return hex_byte(text, at + 1, 2) == (unsigned char)wanted ? 3 : 0;
    }
    if (c == '\\') {
        size_t len;
        return unescape(text, at, &len) == (unsigned char)wanted && at + len <= text.len ? len : 0;
    }
    return c == '+' && wanted == ' ' ? 1 : 0;
}

static size_t match_form(const struct redact_form *form, struct str text, size_t at)
{
    size_t from = at;
    for (size_t i = 0; i < form->len; i++) {
        size_t len = at < text.len ? match_byte(text, at, form->bytes[i]) : 0;
        if (len == 0) {
            return 0;
        }
        at += len;
    }
    return at - from;
}

static size_t match_forms(const struct redact *redact, unsigned first, struct str text, size_t at)
{
    size_t longest = 0;
    for (const struct redact_form *form = redact->forms[first]; form; form = form->next) {
        size_t len = match_form(form, text, at);
        longest = len > longest ? len : longest;
    }
    return longest;
}

static size_t find_registered(const struct redact *redact, struct str text, size_t at)
{
    char c = text.ptr[at];
    size_t escaped_len;
    int escaped = c == '%'    ? hex_byte(text, at + 1, 2)
                  : c == '\\' ? unescape(text, at, &escaped_len)
                  : c == '+'  ? ' '
                              : -1;
    size_t plain = match_forms(redact, (unsigned char)c, text, at);
    size_t other = escaped >= 0 ? match_forms(redact, (unsigned)escaped, text, at) : 0;
    return plain > other ? plain : other;
}

/* ---- finding secrets by pattern ---- */

static bool is_alnum(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Token formats of well-known vendors: a prefix, then at least this many characters. */
static const struct {
    const char *prefix;
    size_t tail_min;
    const char *also; /* allowed in addition to letters and digits */
} looks[] = {
    {"AKIA", 16, ""},        {"ASIA", 16, ""},     {"ghp_", 20, ""},   {"gho_", 20, ""},
    {"ghu_", 20, ""},        {"ghs_", 20, ""},     {"ghr_", 20, ""},   {"github_pat_", 20, "_"},
    {"hf_", 20, ""},         {"glpat-", 16, "-_"}, {"xoxb-", 10, "-"}, {"xoxp-", 10, "-"},
    {"xoxa-", 10, "-"},      {"xoxs-", 10, "-"},   {"AIza", 30, "-_"}, {"ya29.", 16, "-_."},
    {"eyJ", 30, "-_.="},     {"sk-", 20, "-_"},    {"npm_", 30, ""},   {"dop_v1_", 30, ""},
    {"Signature=", 32, "%"},
};

static size_t tail_length(struct str text, size_t at, const char *also)
{
    size_t from = at;
    while (at < text.len && (is_alnum(text.ptr[at]) ||
                             (text.ptr[at] != '\0' && strchr(also, text.ptr[at]) != NULL))) {
        at++;
    }
    return at - from;
}

static size_t redact_find_token(struct str text, size_t at)
{
    if (at > 0 && is_alnum(text.ptr[at - 1])) {
        return 0;
    }
    struct str rest = str_sub(text, at, text.len);
    for (size_t i = 0; i < ARRAY_LEN(looks); i++) {
        if (rest.ptr[0] == looks[i].prefix[0] && str_starts(rest, looks[i].prefix)) {
            size_t len = strlen(looks[i].prefix);
            size_t tail = tail_length(rest, len, looks[i].also);
            if (tail >= looks[i].tail_min) {
                return len + tail;
            }
        }
    }
    return 0;
}

/* A private key from its BEGIN line to its END line, or to the end of the text. */
static size_t find_private_key(struct str text, size_t at)
{
    struct str rest = str_sub(text, at, text.len);
    if (!str_starts(rest, "-----BEGIN ")) {
        return 0;
    }
    struct str mark = str_sub(rest, 0, NAME_MAX_BYTES);
    if (str_find(mark, "PRIVATE KEY") == SIZE_MAX) {
        return 0;
    }
    size_t end = str_find(rest, "-----END ");
    if (end == SIZE_MAX) {
        return rest.len;
    }
    size_t close = str_find(str_sub(rest, end + 9, rest.len), "-----");
    return close == SIZE_MAX ? rest.len : end + 9 + close + 5;
}

/* The value of a sensitive header, up to the end of its line. */
static size_t find_header(struct str text, size_t at)
{
    static const char *const names[] = {
        "authorization: ", "proxy-authorization: ",  "cookie: ",
        "set-cookie: ",    "x-amz-security-token: ", "x-aws-ec2-metadata-token: "};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        size_t len = strlen(names[i]);
        if (at >= len && strncasecmp(text.ptr + at - len, names[i], len) == 0) {
            struct str rest = str_sub(text, at, text.len);
            return str_cut(&rest, '\n').len;
        }
    }
    return 0;
}

/* At the first byte of a JSON string: masks it if its member name suggests a secret. */
static size_t find_member(struct str text, size_t at)
{
    size_t end = at;
    if (at < 4 || text.ptr[at - 1] != '"') {
        return 0;
    }
    size_t colon = at - 1;
    while (colon > 0 && (text.ptr[colon - 1] == ' ' || text.ptr[colon - 1] == '\t') &&
           at - colon < NAME_MAX_BYTES) {
        colon--;
    }
    if (colon < 3 || text.ptr[colon - 1] != ':' || text.ptr[colon - 2] != '"') {
        return 0;
    }
    size_t name = colon - 2;
    while (name > 0 && text.ptr[name - 1] != '"' && colon - name < NAME_MAX_BYTES) {
        name--;
    }
    if (!secret_is_name(str_sub(text, name, colon - 2))) {
        return 0;
    }
    while (end < text.len && text.ptr[end] != '"') {
        end += text.ptr[end] == '\\' ? 2 : 1;
    }
    return (end < text.len ? end : text.len) - at;
}

static size_t find_by_looks(struct str text, size_t at)
{
    size_t len = redact_find_token(text, at);
    if (len == 0 && text.ptr[at] == '-') {
        len = find_private_key(text, at);
    }
    if (len == 0 && at > 0 && text.ptr[at - 1] == '"') {
        len = find_member(text, at);
    }
    if (len == 0 && at > 1 && text.ptr[at - 1] == ' ' && text.ptr[at - 2] == ':') {
        len = find_header(text, at);
    }
    return len;
}

/* ---- all passes ---- */

/* Values may overlap: a masked range is searched for the start of another value. */
static void mask_registered(const struct redact *redact, struct str text, struct buf *out)
{
    size_t done = 0; /* everything before it was written or masked */
    for (size_t at = 0; at < text.len; at++) {
        size_t len = find_registered(redact, text, at);
        if (len > 0 && at >= done) {
            buf_add(out, str_sub(text, done, at));
            buf_add_c(out, SECRET_MASK);
        }
        done = len > 0 && at + len > done ? at + len : done;
    }
    buf_add(out, str_sub(text, done, text.len));
}

static void mask_by_looks(struct str text, struct buf *out)
{
    size_t done = 0;
    for (size_t at = 0; at < text.len;) {
        size_t len = find_by_looks(text, at);
        if (len > 0) {
            buf_add(out, str_sub(text, done, at));
            buf_add_c(out, SECRET_MASK);
            done = at + len;
        }
        at += len > 0 ? len : 1;
    }
    buf_add(out, str_sub(text, done, text.len));
}

void redact_clean(const struct redact *redact, struct str text, struct buf *out)
{
    struct arena scratch;
    AUTO_BUF struct buf first;
    AUTO_BUF struct buf second;
    arena_init(&scratch);
    buf_init(&first, SIZE_MAX / 2);
    buf_init(&second, SIZE_MAX / 2);
    mask_registered(redact, text, &first);
    mask_by_looks(buf_str(&first), &second);
    buf_add(out, secret_mask_text(&scratch, buf_str(&second)));
    arena_clear(&scratch);
}
