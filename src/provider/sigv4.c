/* sigv4.c: the canonical request, the string to sign, the signing key and the two output forms. */
#include "provider/sigv4.h"

#include "base/buf.h"
#include "base/encode.h"
#include "base/memzero.h"
#include "base/panic.h"
#include "io/sha256.h"
#include "provider/aws_time.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { TEXT_BYTES_MAX = 64 * 1024 * 1024, DATE_LEN = 8 };

#define ALGORITHM "AWS4-HMAC-SHA256"
#define UNSIGNED_PAYLOAD "UNSIGNED-PAYLOAD"

/* The inputs and intermediate values of one signature. */
struct signing {
    const struct sigv4_request *request;
    const struct sigv4_signer *signer;
    struct arena *arena;
    char time[AWS_TIME_SIZE];
    struct str scope;                    /* date/region/service/aws4_request */
    struct sigv4_header *signed_headers; /* lower-case names, sorted, values trimmed and joined */
    size_t signed_count;
    struct str signed_names; /* separated by ';' */
};

static bool is_s3(const struct signing *signing)
{
    return str_is(signing->signer->service, "s3");
}

static struct str sigv4_save(struct arena *arena, const struct buf *text)
{
    if (text->is_full) {
        panic("sigv4: the request has more than %d bytes", TEXT_BYTES_MAX);
    }
    return arena_str(arena, buf_str(text));
}

/* ---- digests ---- */

/* SHA-256 as 64 lower-case hexadecimal digits. */
static struct str sigv4_hash(struct str bytes, struct arena *arena)
{
    uint8_t digest[SHA256_BYTES];
    char hex[2 * SHA256_BYTES + 1];
    sha256(bytes, digest);
    encode_hex_to(hex, digest, SHA256_BYTES);
    return arena_str(arena, str_from(hex));
}

/* Each digest is the key of the next step; all are erased before return. */
static struct str signature_of(const struct signing *signing, struct str text)
{
    struct str steps[] = {{signing->time, DATE_LEN},
                          signing->signer->region,
                          signing->signer->service,
                          STR("aws4_request"),
                          text};
    uint8_t digest[2][SHA256_BYTES];
    AUTO_BUF struct buf first;
    AUTO_BUF struct buf hex;
    buf_init(&first, TEXT_BYTES_MAX);
    buf_init(&hex, (size_t)2 * SHA256_BYTES);
    buf_add_c(&first, "AWS4");
    buf_add(&first, signing->signer->secret_key);
    struct str key = buf_str(&first);
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        sha256_mac(key, steps[i], digest[i % 2]);
        key = (struct str){(const char *)digest[i % 2], SHA256_BYTES};
    }
    encode_hex(&hex, (const uint8_t *)key.ptr, SHA256_BYTES);
    memzero(first.ptr, first.len);
    memzero(digest, sizeof(digest));
    return arena_str(signing->arena, buf_str(&hex));
}

/* ---- headers ---- */

static bool sigv4_is_one_of(struct str name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strlen(names[i]) == name.len && strncasecmp(names[i], name.ptr, name.len) == 0) {
            return true;
        }
    }
    return false;
}

/* Headers that proxies and clients change, and those generated here. */
static bool is_left_out(struct str name)
{
    static const char *const names[] = {"baggage",    "connection",          "expect",
                                        "keep-alive", "proxy-authenticate",  "proxy-authorization",
                                        "te",         "traceparent",         "tracestate",
                                        "trailer",    "transfer-encoding",   "upgrade",
                                        "user-agent", "x-amzn-trace-id",     "authorization",
                                        "date",       "x-amz-date",          "x-amz-security-token",
                                        "host",       "x-amz-content-sha256"};
    return sigv4_is_one_of(name, names, ARRAY_LEN(names));
}

static bool sigv4_is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r') || (c >= '\x1c' && c <= '\x1f');
}

/* Trims blanks and collapses runs of blanks to one. */
static void add_trimmed(struct buf *out, struct str value)
{
    size_t start = out->len;
    bool is_gap = false;
    for (size_t i = 0; i < value.len; i++) {
        if (sigv4_is_blank(value.ptr[i])) {
            is_gap = true;
            continue;
        }
        if (is_gap && out->len > start) {
            buf_add_char(out, ' ');
        }
        is_gap = false;
        buf_add_char(out, value.ptr[i]);
    }
}

static struct str sigv4_lower(struct arena *arena, struct str name)
{
    char *text = arena_alloc(arena, name.len + 1);
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        text[i] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
    }
    return str_trim((struct str){text, name.len});
}

/* A header with its index: headers of equal name keep their order. */
struct sigv4_numbered {
    struct sigv4_header header;
    size_t place;
};

static int compare_headers(const void *left, const void *right)
{
    const struct sigv4_numbered *a = left;
    const struct sigv4_numbered *b = right;
    int order = str_cmp(a->header.name, b->header.name);
    return order != 0 ? order : (a->place > b->place) - (a->place < b->place);
}

/* Sorts the headers, joins those of equal name with commas, and collects the names. */
static void settle_headers(struct signing *signing, struct sigv4_numbered *all, size_t count)
{
    AUTO_BUF struct buf names;
    AUTO_BUF struct buf value;
    buf_init(&names, TEXT_BYTES_MAX);
    buf_init(&value, TEXT_BYTES_MAX);
    qsort(all, count, sizeof(*all), compare_headers);
    for (size_t i = 0; i < count;) {
        struct str name = all[i].header.name;
        buf_clear(&value);
        for (size_t first = i; i < count && str_eq(all[i].header.name, name); i++) {
            buf_add_c(&value, i > first ? "," : "");
            add_trimmed(&value, all[i].header.value);
        }
        buf_add_c(&names, signing->signed_count > 0 ? ";" : "");
        buf_add(&names, name);
        signing->signed_headers[signing->signed_count++] = (struct sigv4_header){
            name, sigv4_save(signing->arena, &value)};
    }
    signing->signed_names = sigv4_save(signing->arena, &names);
}

static void gather_headers(struct signing *signing, const struct sigv4_header *own,
                           size_t own_count)
{
    const struct sigv4_request *request = signing->request;
    size_t count = 0;
    size_t room = request->header_count + own_count + 1;
    struct sigv4_numbered *all = ARENA_ARRAY(signing->arena, room, struct sigv4_numbered);
    signing->signed_headers = ARENA_ARRAY(signing->arena, room, struct sigv4_header);
    signing->signed_count = 0;
    all[count] = (struct sigv4_numbered){{STR("host"), request->host}, count};
    count++;
    for (size_t i = 0; i < own_count; i++, count++) {
        all[count].header = (struct sigv4_header){sigv4_lower(signing->arena, own[i].name),
                                                  own[i].value};
        all[count].place = count;
    }
    for (size_t i = 0; i < request->header_count; i++) {
        struct str name = sigv4_lower(signing->arena, request->headers[i].name);
        if (!is_left_out(name)) {
            all[count] = (struct sigv4_numbered){{name, request->headers[i].value}, count};
            count++;
        }
    }
    settle_headers(signing, all, count);
}

/* ---- path and query ---- */

/* Except for S3, the path is normalized (dots, empty segments) and encoded once more. */
static void sigv4_add_path(struct buf *out, const struct signing *signing)
{
    struct str path = signing->request->path;
    if (is_s3(signing)) {
        buf_add(out, path);
        return;
    }
    struct str *segments = ARENA_ARRAY(signing->arena, path.len + 1, struct str);
    size_t count = 0;
    for (struct str rest = path; rest.len > 0;) {
        struct str segment = str_cut(&rest, '/');
        if (str_is(segment, "..")) {
            count -= count > 0;
        } else if (segment.len > 0 && !str_is(segment, ".")) {
            segments[count++] = segment;
        }
    }
    if (path.len == 0 || path.ptr[0] == '/') {
        buf_add_char(out, '/');
    }
    for (size_t i = 0; i < count; i++) {
        buf_add_c(out, i > 0 ? "/" : "");
        encode_uri(out, segments[i], "");
    }
    if (count > 0 && path.ptr[path.len - 1] == '/') {
        buf_add_char(out, '/');
    }
}

static int compare_pairs(const void *left, const void *right)
{
    const struct sigv4_header *a = left;
    const struct sigv4_header *b = right;
    int order = str_cmp(a->name, b->name);
    return order != 0 ? order : str_cmp(a->value, b->value);
}

/* Sorted by name, then by value; a name without '=' gets one. */
static void add_query(struct buf *out, struct arena *arena, struct str query)
{
    size_t count = 1;
    for (size_t i = 0; i < query.len; i++) {
        count += query.ptr[i] == '&';
    }
    if (query.len == 0) {
        return;
    }
    struct sigv4_header *pairs = ARENA_ARRAY(arena, count, struct sigv4_header);
    for (size_t i = 0; i < count; i++) {
        struct str value = str_cut(&query, '&');
        struct str name = str_cut(&value, '=');
        pairs[i] = (struct sigv4_header){name, value};
    }
    qsort(pairs, count, sizeof(*pairs), compare_pairs);
    for (size_t i = 0; i < count; i++) {
        buf_add_c(out, i > 0 ? "&" : "");
        buf_add(out, pairs[i].name);
        buf_add_char(out, '=');
        buf_add(out, pairs[i].value);
    }
}

/* ---- signing ---- */

static void sigv4_start(struct signing *signing, const struct sigv4_request *request,
                        const struct sigv4_signer *signer, struct arena *arena)
{
    *signing = (struct signing){.request = request, .signer = signer, .arena = arena};
    aws_time_basic(signer->time, signing->time);
    signing->scope = arena_printf(arena, "%.*s/%.*s/%.*s/aws4_request", DATE_LEN, signing->time,
                                  STR_ARG(signer->region), STR_ARG(signer->service));
}

static struct str payload_hash(const struct signing *signing)
{
    switch (signing->request->payload) {
    case SIGV4_UNSIGNED:
        return STR(UNSIGNED_PAYLOAD);
    case SIGV4_HASH:
        return signing->request->body_hash;
    case SIGV4_BODY:
        break;
    }
    return sigv4_hash(signing->request->body, signing->arena);
}

static struct str canonical_request(const struct signing *signing, struct str query,
                                    struct str hash)
{
    AUTO_BUF struct buf out;
    buf_init(&out, TEXT_BYTES_MAX);
    for (size_t i = 0; i < signing->request->method.len; i++) {
        char c = signing->request->method.ptr[i];
        buf_add_char(&out, c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c);
    }
    buf_add_char(&out, '\n');
    sigv4_add_path(&out, signing);
    buf_add_char(&out, '\n');
    add_query(&out, signing->arena, query);
    buf_add_char(&out, '\n');
    for (size_t i = 0; i < signing->signed_count; i++) {
        buf_add(&out, signing->signed_headers[i].name);
        buf_add_char(&out, ':');
        buf_add(&out, signing->signed_headers[i].value);
        buf_add_char(&out, '\n');
    }
    buf_add_char(&out, '\n');
    buf_add(&out, signing->signed_names);
    buf_add_char(&out, '\n');
    buf_add(&out, hash);
    return sigv4_save(signing->arena, &out);
}

static struct str sign_canonical(const struct signing *signing, struct str canonical)
{
    struct str hash = sigv4_hash(canonical, signing->arena);
    struct str text = arena_printf(signing->arena, ALGORITHM "\n%s\n%.*s\n%.*s", signing->time,
                                   STR_ARG(signing->scope), STR_ARG(hash));
    return signature_of(signing, text);
}

static void sigv4_add_header(struct sigv4_result *result, const char *name, struct str value)
{
    result->headers[result->header_count++] = (struct sigv4_header){str_from(name), value};
}

void sigv4_sign(const struct sigv4_request *request, const struct sigv4_signer *signer,
                struct arena *arena, struct sigv4_result *ret_result)
{
    struct signing signing;
    struct sigv4_result result = {0};
    sigv4_start(&signing, request, signer, arena);
    struct str hash = payload_hash(&signing);
    sigv4_add_header(&result, "X-Amz-Date", arena_str(arena, str_from(signing.time)));
    if (signer->session_token.len > 0) {
        sigv4_add_header(&result, "X-Amz-Security-Token", signer->session_token);
    }
    if (is_s3(&signing) || request->payload != SIGV4_BODY) {
        sigv4_add_header(&result, "X-Amz-Content-SHA256", hash);
    }
    gather_headers(&signing, result.headers, result.header_count);
    result.canonical = canonical_request(&signing, request->query, hash);
    result.signature = sign_canonical(&signing, result.canonical);
    sigv4_add_header(
        &result, "Authorization",
        arena_printf(arena, ALGORITHM " Credential=%.*s/%.*s, SignedHeaders=%.*s, Signature=%.*s",
                     STR_ARG(signer->access_key), STR_ARG(signing.scope),
                     STR_ARG(signing.signed_names), STR_ARG(result.signature)));
    *ret_result = result;
}

static void add_parameter(struct buf *out, const char *name, struct str value)
{
    buf_add_c(out, out->len > 0 ? "&" : "");
    buf_add_c(out, name);
    buf_add_char(out, '=');
    encode_uri(out, value, "");
}

struct str sigv4_presign(const struct sigv4_request *request, const struct sigv4_signer *signer,
                         int64_t expires_s, struct arena *arena)
{
    struct signing signing;
    AUTO_BUF struct buf query;
    buf_init(&query, TEXT_BYTES_MAX);
    sigv4_start(&signing, request, signer, arena);
    gather_headers(&signing, NULL, 0);
    buf_add(&query, request->query);
    add_parameter(&query, "X-Amz-Algorithm", STR(ALGORITHM));
    add_parameter(
        &query, "X-Amz-Credential",
        arena_printf(arena, "%.*s/%.*s", STR_ARG(signer->access_key), STR_ARG(signing.scope)));
    add_parameter(&query, "X-Amz-Date", str_from(signing.time));
    add_parameter(&query, "X-Amz-Expires", arena_printf(arena, "%" PRId64, expires_s));
    add_parameter(&query, "X-Amz-SignedHeaders", signing.signed_names);
    if (signer->session_token.len > 0) {
        add_parameter(&query, "X-Amz-Security-Token", signer->session_token);
    }
    /* The payload of a presigned S3 URL is not known yet. */
    struct str hash = is_s3(&signing) ? STR(UNSIGNED_PAYLOAD) : payload_hash(&signing);
    struct str canonical = canonical_request(&signing, buf_str(&query), hash);
    add_parameter(&query, "X-Amz-Signature", sign_canonical(&signing, canonical));
    return sigv4_save(arena, &query);
}
