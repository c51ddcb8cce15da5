/*
 * xml_scan.c: splits the input into tokens (tag, text, comment, CDATA section) and checks each. An
 * incomplete token is kept until the rest of it arrives.
 */
#include "provider/aws/wire/xml_scan.h"

#include "base/buf.h"
#include "base/panic.h"
#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_BYTES = 63, ATTRIBUTES_MAX = 16, REFERENCE_MAX = 10 };

struct xml_scan {
    const struct xml_listener *listener;
    void *context;
    struct buf carry;   /* incomplete token */
    struct buf decoded; /* text with references resolved */
    size_t bytes;
    size_t depth;
    uint8_t name_lens[XML_REPLY_DEPTH_MAX];
    char names[XML_REPLY_DEPTH_MAX][NAME_MAX_BYTES];
    bool has_root;
    bool is_past_start; /* an XML declaration is no longer allowed */
    bool has_failed;
    bool is_waiting; /* a token is incomplete */
    struct err err;
};

/* Functions below return false either after this, or with is_waiting set. */
static bool xml_scan_fail(struct xml_scan *scan, const char *why)
{
    scan->has_failed = true;
    return err_set(&scan->err, ERR_PROTOCOL, "truncated or invalid XML near byte %zu (%s)",
                   scan->bytes, why);
}

static bool wait_for_more(struct xml_scan *scan)
{
    scan->is_waiting = true;
    return false;
}

/* ---- characters ---- */

static bool xml_scan_is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/* Bit sets of ASCII characters: tested once for every byte of a reply. */
static const uint64_t name_starts[2] = {UINT64_C(0x0400000000000000), UINT64_C(0x07FFFFFE87FFFFFE)};
static const uint64_t name_chars[2] = {UINT64_C(0x07FF600000000000), UINT64_C(0x07FFFFFE87FFFFFE)};
static const uint64_t plain_chars[2] = {UINT64_C(0xFFFFFFBF00000600), UINT64_C(0x7FFFFFFFDFFFFFFF)};

static bool xml_scan_is_in(const uint64_t set[2], char c)
{
    unsigned char byte = (unsigned char)c;
    return byte < 128 && (set[byte >> 6] >> (byte & 63) & 1) != 0;
}

static bool is_xml_point(uint32_t point)
{
    return (point >= 0x20 && point < 0xD800) || (point >= 0xE000 && point < 0xFFFE) ||
           (point >= 0x10000 && point <= 0x10FFFF) || point == '\t' || point == '\n' ||
           point == '\r';
}

/* Valid UTF-8 with only characters that XML allows. */
static bool are_characters(struct str text)
{
    for (size_t i = 0; i < text.len;) {
        unsigned char c = (unsigned char)text.ptr[i];
        size_t len = 1;
        if (c < 0x20 && !xml_scan_is_blank((char)c)) {
            return false;
        }
        if (c >= 0x80) {
            uint32_t point = utf8_decode(str_sub(text, i, text.len), &len);
            if (point == UTF8_BAD || !is_xml_point(point)) {
                return false;
            }
        }
        i += len;
    }
    return true;
}

/* A character reference, "#65" or "#x41". */
static bool parse_number(struct str digits, uint32_t *ret_point)
{
    bool is_hex = str_starts(digits, "#x");
    uint32_t base = is_hex ? 16 : 10;
    uint32_t value = 0;
    digits = str_sub(digits, is_hex ? 2 : 1, digits.len);
    for (size_t i = 0; i < digits.len; i++) {
        char c = digits.ptr[i];
        uint32_t digit = c >= '0' && c <= '9'   ? (uint32_t)(c - '0')
                         : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a' + 10)
                         : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A' + 10)
                                                : 99;
        if (digit >= base || value > 0x10FFFF) {
            return false;
        }
        value = value * base + digit;
    }
    *ret_point = value;
    return digits.len > 0 && is_xml_point(value);
}

/* Resolves the reference between '&' and ';'. */
static bool add_reference(struct buf *out, struct str name)
{
    static const struct {
        const char *name;
        char value;
    } named[] = {{"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}};
    uint32_t point;
    for (size_t i = 0; i < ARRAY_LEN(named); i++) {
        if (str_is(name, named[i].name)) {
            buf_add_char(out, named[i].value);
            return true;
        }
    }
    if (!str_starts(name, "#") || !parse_number(name, &point)) {
        return false;
    }
    utf8_add(out, point);
    return true;
}

/* Resolves references and normalizes line ends to a newline. False for an invalid reference. */
static bool xml_scan_decode(struct buf *out, struct str text, bool has_references)
{
    out->len = 0;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (c == '\r') {
            i += i + 1 < text.len && text.ptr[i + 1] == '\n';
            buf_add_char(out, '\n');
        } else if (c == '&' && has_references) {
            struct str rest = str_sub(text, i + 1, i + 1 + REFERENCE_MAX);
            size_t end = str_find_char(rest, ';');
            if (end == SIZE_MAX || !add_reference(out, str_sub(rest, 0, end))) {
                return false;
            }
            i += end + 1;
        } else {
            buf_add_char(out, c);
        }
    }
    return true;
}

/* ---- tokens: each function consumes one complete token from `*rest` ---- */

static bool tell_text(struct xml_scan *scan, struct str text)
{
    if (text.len > 0 && !scan->listener->text(scan->context, text, &scan->err)) {
        scan->has_failed = true;
        return false;
    }
    return true;
}

/* ASCII without references, carriage returns or the characters of "]]>": text that needs no
 * decoding. */
static bool xml_scan_is_plain(struct str text)
{
    size_t i = 0;
    while (i < text.len && xml_scan_is_in(plain_chars, text.ptr[i])) {
        i++;
    }
    return i == text.len;
}

static bool xml_scan_take_text(struct xml_scan *scan, struct str *rest)
{
    size_t end = str_find_char(*rest, '<');
    if (end == SIZE_MAX) {
        return wait_for_more(scan);
    }
    struct str text = str_sub(*rest, 0, end);
    *rest = str_sub(*rest, end, rest->len);
    scan->is_past_start = true;
    if (scan->depth == 0) {
        for (size_t i = 0; i < text.len; i++) {
            if (!xml_scan_is_blank(text.ptr[i])) {
                return xml_scan_fail(scan, "text outside of the root");
            }
        }
        return true;
    }
    if (xml_scan_is_plain(text)) {
        return tell_text(scan, text);
    }
    if (!are_characters(text) || str_find(text, "]]>") != SIZE_MAX ||
        !xml_scan_decode(&scan->decoded, text, true)) {
        return xml_scan_fail(scan, "an invalid character or reference");
    }
    return tell_text(scan, buf_str(&scan->decoded));
}

static bool start_element(struct xml_scan *scan, struct str name)
{
    if (scan->depth == 0 && scan->has_root) {
        return xml_scan_fail(scan, "a second root");
    }
    if (scan->depth == XML_REPLY_DEPTH_MAX) {
        return xml_scan_fail(scan, "too many levels");
    }
    memcpy(scan->names[scan->depth], name.ptr, name.len);
    scan->name_lens[scan->depth++] = (uint8_t)name.len;
    scan->has_root = true;
    if (!scan->listener->start(scan->context, name, &scan->err)) {
        scan->has_failed = true;
        return false;
    }
    return true;
}

static bool end_element(struct xml_scan *scan)
{
    scan->depth--;
    if (!scan->listener->end(scan->context, &scan->err)) {
        scan->has_failed = true;
        return false;
    }
    return true;
}

static size_t name_len(struct str text)
{
    size_t len = 0;
    if (text.len > 0 && xml_scan_is_in(name_starts, text.ptr[0])) {
        while (len < text.len && xml_scan_is_in(name_chars, text.ptr[len])) {
            len++;
        }
    }
    return len;
}

static struct str skip_blanks(struct str text)
{
    size_t at = 0;
    while (at < text.len && xml_scan_is_blank(text.ptr[at])) {
        at++;
    }
    return str_sub(text, at, text.len);
}

/* Consumes name="value". */
static bool take_attribute(struct xml_scan *scan, struct str *rest, struct str *ret_name)
{
    size_t len = name_len(*rest);
    *ret_name = str_sub(*rest, 0, len);
    struct str text = skip_blanks(str_sub(*rest, len, rest->len));
    if (len == 0 || !str_starts(text, "=")) {
        return xml_scan_fail(scan, "an invalid attribute");
    }
    text = skip_blanks(str_sub(text, 1, text.len));
    if (text.len == 0 || (text.ptr[0] != '"' && text.ptr[0] != '\'')) {
        return xml_scan_fail(scan, "an attribute without quotes");
    }
    char quote = text.ptr[0];
    text = str_sub(text, 1, text.len);
    struct str value = str_cut(&text, quote);
    if (!are_characters(value) || str_find_char(value, '<') != SIZE_MAX ||
        !xml_scan_decode(&scan->decoded, value, true)) {
        return xml_scan_fail(scan, "an attribute with an invalid value");
    }
    *rest = text;
    return true;
}

/* Attributes are ignored, but must be well-formed and unique. */
static bool check_attributes(struct xml_scan *scan, struct str text)
{
    struct str names[ATTRIBUTES_MAX];
    size_t count = 0;
    for (;;) {
        struct str next = skip_blanks(text);
        if (next.len == 0) {
            return true;
        }
        if (next.len == text.len || count == ATTRIBUTES_MAX) {
            return xml_scan_fail(scan, "attributes without spaces between them, or too many");
        }
        text = next;
        if (!take_attribute(scan, &text, &names[count])) {
            return false;
        }
        for (size_t i = 0; i < count; i++) {
            if (str_eq(names[i], names[count])) {
                return xml_scan_fail(scan, "a duplicate attribute");
            }
        }
        count++;
    }
}

/* The offset of the '>' that ends a tag, not one inside quotes. SIZE_MAX: incomplete. */
static size_t tag_end(struct str tag)
{
    char quote = '\0';
    for (size_t i = 1; i < tag.len; i++) {
        char c = tag.ptr[i];
        if (quote != '\0') {
            quote = c == quote ? '\0' : quote;
        } else if (c == '"' || c == '\'') {
            quote = c;
        } else if (c == '>') {
            return i;
        }
    }
    return SIZE_MAX;
}

/* A tag with attributes, blanks or a closing slash. */
static bool take_long_tag(struct xml_scan *scan, struct str *rest)
{
    size_t end = tag_end(*rest);
    if (end == SIZE_MAX) {
        return wait_for_more(scan);
    }
    bool is_end = rest->ptr[1] == '/';
    struct str inner = str_sub(*rest, is_end ? 2 : 1, end);
    *rest = str_sub(*rest, end + 1, rest->len);
    bool is_empty = !is_end && str_ends(inner, "/");
    inner.len -= is_empty;
    size_t len = name_len(inner);
    struct str name = str_sub(inner, 0, len);
    struct str more = str_sub(inner, len, inner.len);
    if (len == 0 || len > NAME_MAX_BYTES) {
        return xml_scan_fail(scan, "an invalid name");
    }
    if (is_end) {
        bool is_due = scan->depth > 0 && skip_blanks(more).len == 0 &&
                      str_eq(name, (struct str){scan->names[scan->depth - 1],
                                                scan->name_lens[scan->depth - 1]});
        return is_due ? end_element(scan)
                      : xml_scan_fail(scan, "an end tag that does not match its start tag");
    }
    return (more.len == 0 || check_attributes(scan, more)) && start_element(scan, name) &&
           (!is_empty || end_element(scan));
}

/* True for exactly the end tag of the current element; its name need not be checked. */
static bool is_due_end(const struct xml_scan *scan, struct str rest)
{
    size_t len = scan->depth > 0 ? scan->name_lens[scan->depth - 1] : 0;
    return len > 0 && rest.len > len + 2 && rest.ptr[1] == '/' && rest.ptr[len + 2] == '>' &&
           memcmp(rest.ptr + 2, scan->names[scan->depth - 1], len) == 0;
}

static bool take_tag(struct xml_scan *scan, struct str *rest)
{
    scan->is_past_start = true;
    if (is_due_end(scan, *rest)) {
        size_t taken = (size_t)scan->name_lens[scan->depth - 1] + 3;
        *rest = (struct str){rest->ptr + taken, rest->len - taken};
        return end_element(scan);
    }
    struct str name = {rest->ptr + 1, rest->len - 1};
    size_t len = name_len(name);
    if (len == 0 || len > NAME_MAX_BYTES || len == name.len || name.ptr[len] != '>') {
        return take_long_tag(scan, rest);
    }
    *rest = (struct str){name.ptr + len + 1, name.len - len - 1};
    name.len = len;
    return start_element(scan, name);
}

/* From after `open` to `close`; SIZE_MAX: incomplete. */
static size_t find_close(struct str text, const char *open, const char *close)
{
    size_t skip = strlen(open);
    size_t found = str_find(str_sub(text, skip, text.len), close);
    return found == SIZE_MAX ? SIZE_MAX : found + skip;
}

static bool take_comment(struct xml_scan *scan, struct str *rest)
{
    size_t end = find_close(*rest, "<!--", "--");
    if (end == SIZE_MAX || end + 2 >= rest->len) {
        return wait_for_more(scan);
    }
    if (rest->ptr[end + 2] != '>' || !are_characters(str_sub(*rest, 4, end))) {
        return xml_scan_fail(scan, "an invalid comment");
    }
    *rest = str_sub(*rest, end + 3, rest->len);
    scan->is_past_start = true;
    return true;
}

static bool take_cdata(struct xml_scan *scan, struct str *rest)
{
    size_t end = find_close(*rest, "<![CDATA[", "]]>");
    if (end == SIZE_MAX) {
        return wait_for_more(scan);
    }
    struct str text = str_sub(*rest, 9, end);
    *rest = str_sub(*rest, end + 3, rest->len);
    if (scan->depth == 0 || !are_characters(text)) {
        return xml_scan_fail(scan, "an unexpected CDATA section");
    }
    (void)xml_scan_decode(&scan->decoded, text, false);
    return tell_text(scan, buf_str(&scan->decoded));
}

static bool xml_scan_is_one_of(struct str text, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (str_is(text, words[i])) {
            return true;
        }
    }
    return false;
}

/* Accepts the common forms only. */
static bool take_declaration(struct xml_scan *scan, struct str *rest)
{
    static const char *const forms[] = {
        "<?xml version=\"1.0\"?>",
        "<?xml version='1.0'?>",
        "<?xml version=\"1.0\" ?>",
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>",
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>",
        "<?xml version='1.0' encoding='UTF-8'?>",
        "<?xml version='1.0' encoding='utf-8'?>",
        "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>",
        "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"no\"?>",
        "<?xml version=\"1.0\" encoding=\"UTF-8\" ?>",
    };
    size_t end = find_close(*rest, "<?", "?>");
    if (end == SIZE_MAX) {
        return wait_for_more(scan);
    }
    if (scan->is_past_start ||
        !xml_scan_is_one_of(str_sub(*rest, 0, end + 2), forms, ARRAY_LEN(forms))) {
        return xml_scan_fail(scan, "an unsupported declaration");
    }
    scan->is_past_start = true;
    *rest = str_sub(*rest, end + 2, rest->len);
    return true;
}

/* True if the input so far is a prefix of `word`. */
static bool may_become(struct str text, const char *word)
{
    size_t len = strlen(word);
    return memcmp(text.ptr, word, text.len < len ? text.len : len) == 0;
}

static bool take_token(struct xml_scan *scan, struct str *rest)
{
    if (rest->ptr[0] != '<') {
        return xml_scan_take_text(scan, rest);
    }
    if (rest->len == 1) {
        return wait_for_more(scan);
    }
    if (rest->ptr[1] == '?') {
        return take_declaration(scan, rest);
    }
    if (rest->ptr[1] != '!') {
        return take_tag(scan, rest);
    }
    if (may_become(*rest, "<!--")) {
        return rest->len < 4 ? wait_for_more(scan) : take_comment(scan, rest);
    }
    if (may_become(*rest, "<![CDATA[")) {
        return rest->len < 9 ? wait_for_more(scan) : take_cdata(scan, rest);
    }
    return xml_scan_fail(scan, "a document type");
}

/* ---- the scanner ---- */

struct xml_scan *xml_scan_new(const struct xml_listener *listener, void *context)
{
    struct xml_scan *scan = calloc(1, sizeof(*scan));
    if (!scan) {
        panic("out of memory (XML scanner)");
    }
    scan->listener = listener;
    scan->context = context;
    /* A reference is longer than its character, so decoded text never grows. */
    buf_init(&scan->carry, XML_REPLY_BYTES_MAX);
    buf_init(&scan->decoded, XML_REPLY_BYTES_MAX);
    return scan;
}

void xml_scan_free(struct xml_scan *scan)
{
    if (scan) {
        buf_clear(&scan->carry);
        buf_clear(&scan->decoded);
        free(scan);
    }
}

static void xml_scan_take_all(struct xml_scan *scan, struct str *rest)
{
    scan->is_waiting = false;
    while (rest->len > 0 && !scan->has_failed && !scan->is_waiting) {
        size_t before = rest->len;
        (void)take_token(scan, rest);
        size_t taken = before - rest->len;
        scan->bytes += taken;
        if (!scan->has_failed && taken > XML_SCAN_TOKEN_MAX) {
            xml_scan_fail(scan, "a token that is too long");
        }
    }
    if (!scan->has_failed && rest->len > XML_SCAN_TOKEN_MAX) {
        xml_scan_fail(scan, "a token that is too long");
    }
}

/* Only one of these can complete a waiting token. */
static bool has_bracket(struct str bytes)
{
    return str_find_char(bytes, '<') != SIZE_MAX || str_find_char(bytes, '>') != SIZE_MAX;
}

bool xml_scan_feed(struct xml_scan *scan, struct str bytes, struct err *err)
{
    if (!scan->has_failed && bytes.len > XML_REPLY_BYTES_MAX - scan->bytes - scan->carry.len) {
        xml_scan_fail(scan, "a response that is too large");
    }
    if (!scan->has_failed && scan->carry.len > 0) {
        buf_add(&scan->carry, bytes);
        struct str rest = buf_str(&scan->carry);
        if (has_bracket(bytes) || rest.len > XML_SCAN_TOKEN_MAX) {
            xml_scan_take_all(scan, &rest);
            memmove(scan->carry.ptr, rest.ptr, rest.len);
            scan->carry.len = rest.len;
        }
    } else if (!scan->has_failed) {
        struct str rest = bytes;
        xml_scan_take_all(scan, &rest);
        buf_add(&scan->carry, rest);
    }
    if (scan->has_failed) {
        *err = scan->err;
    }
    return !scan->has_failed;
}

/* Blanks after the root wait for a '<' that never comes. */
static bool is_only_blanks(struct str text)
{
    return skip_blanks(text).len == 0;
}

bool xml_scan_end(struct xml_scan *scan, struct err *err)
{
    bool is_whole = scan->has_root && scan->depth == 0 && is_only_blanks(buf_str(&scan->carry));
    if (!scan->has_failed && !is_whole) {
        xml_scan_fail(scan, "it is truncated");
    }
    bool ok = !scan->has_failed;
    if (ok) { /* no input may follow the end */
        xml_scan_fail(scan, "the response has already ended");
    } else {
        *err = scan->err;
    }
    return ok;
}
