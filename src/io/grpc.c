/* grpc.c: frames the message and reads the status from the trailers. */
#include "io/grpc.h"

#include "base/buf.h"
#include "base/encode.h"
#include "io/xalloc.h"

#include <stdio.h>
#include <string.h>

enum {
    FRAME_HEAD = 5,          /* one byte for compression, four for the length, big-endian */
    DEADLINE_MS = 10 * 1000, /* default deadline */
    DEADLINE_SLACK_MS = 500, /* the server enforces the deadline; we abort only if it does not */
    BODY_MAX = 64 << 20,
    TEXT_MAX = 4096, /* limit for a server's message */
    METADATA_MAX = 16,
};

struct grpc_call {
    grpc_done_fn *done;
    void *context;
    char method[];
};

/* ---- the server's message ---- */

static int grpc_hex_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    c = (char)(c | 32);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decodes percent escapes; an invalid one is copied unchanged. */
static struct str decode_percent(struct str text, struct arena *arena)
{
    AUTO_BUF struct buf out;
    buf_init(&out, TEXT_MAX);
    for (size_t i = 0; i < text.len && out.len < TEXT_MAX; i++) {
        int high = text.ptr[i] == '%' && i + 2 < text.len ? grpc_hex_digit(text.ptr[i + 1]) : -1;
        int low = high >= 0 ? grpc_hex_digit(text.ptr[i + 2]) : -1;
        if (low >= 0) {
            buf_add_char(&out, (char)(high * 16 + low));
            i += 2;
        } else {
            buf_add_char(&out, text.ptr[i]);
        }
    }
    return arena_str(arena, buf_str(&out));
}

static struct str decode_details(struct str text, struct arena *arena)
{
    AUTO_BUF struct buf out;
    buf_init(&out, TEXT_MAX);
    decode_base64(&out, text);
    return arena_str(arena, buf_str(&out));
}

/* A reply without a message may have no trailers: the fields are then in the header. */
static struct str grpc_find_word(const struct http_reply *reply, const char *name)
{
    struct str word = http_find_trailer(reply, name);
    return word.ptr ? word : http_find_header(reply, name);
}

/* ---- the reply ---- */

static bool take_frame(struct str bytes, struct str *ret_body)
{
    if (bytes.len < FRAME_HEAD || bytes.ptr[0] != 0) {
        return false;
    }
    uint32_t length = 0;
    for (size_t i = 1; i < FRAME_HEAD; i++) {
        length = length << 8 | (unsigned char)bytes.ptr[i];
    }
    if (length != bytes.len - FRAME_HEAD) {
        return false;
    }
    *ret_body = str_sub(bytes, FRAME_HEAD, bytes.len);
    return true;
}

/* The gRPC status for an HTTP status, used if the reply has no gRPC status. */
static enum grpc_status from_http(int status)
{
    switch (status) {
    case 400:
        return GRPC_INTERNAL;
    case 401:
        return GRPC_UNAUTHENTICATED;
    case 404:
        return GRPC_UNIMPLEMENTED;
    case 429:
    case 502:
    case 503:
    case 504:
        return GRPC_UNAVAILABLE;
    default:
        return GRPC_UNKNOWN;
    }
}

static enum err_kind grpc_kind_of(enum grpc_status status)
{
    switch (status) {
    case GRPC_UNAUTHENTICATED:
        return ERR_AUTH;
    case GRPC_NOT_FOUND:
        return ERR_NOT_FOUND;
    case GRPC_DEADLINE_EXCEEDED:
        return ERR_TIMEOUT;
    case GRPC_CANCELLED:
        return ERR_CANCELLED;
    case GRPC_UNAVAILABLE:
        return ERR_UNAVAILABLE;
    case GRPC_OK:
    case GRPC_UNKNOWN:
    case GRPC_INVALID_ARGUMENT:
    case GRPC_ABORTED:
    case GRPC_UNIMPLEMENTED:
    case GRPC_INTERNAL:
        break;
    }
    return ERR_PROTOCOL;
}

static void grpc_explain(struct grpc_reply *reply, const char *method, const char *otherwise)
{
    struct str words = reply->details.len > 0 ? reply->details : reply->message;
    if (words.len == 0) {
        words = str_from(otherwise);
    }
    err_set(&reply->err, grpc_kind_of(reply->status), "%s: %.*s (status %d)", method,
            STR_ARG(words), (int)reply->status);
}

/* A server that rejects a call before reading all of it resets the stream after its status. */
static bool is_verdict(const struct http_reply *reply)
{
    uint32_t status;
    return reply->outcome == HTTP_RESET &&
           str_to_u32(http_find_header(reply, "grpc-status"), &status) && status != GRPC_OK;
}

struct grpc_reply grpc_read_reply(const struct http_reply *reply, const char *method,
                                  struct arena *arena)
{
    struct grpc_reply answer = {.status = GRPC_UNAVAILABLE,
                                .may_have_acted = reply->may_have_acted,
                                .has_no_server = reply->outcome == HTTP_NOT_CONNECTED};
    if (reply->outcome != HTTP_REPLIED && !is_verdict(reply)) {
        bool is_late = reply->outcome == HTTP_TIMEOUT_SENT || reply->outcome == HTTP_TIMEOUT_UNSENT;
        answer.status = is_late ? GRPC_DEADLINE_EXCEEDED : GRPC_UNAVAILABLE;
        answer.status = reply->outcome == HTTP_CANCELLED ? GRPC_CANCELLED : answer.status;
        err_set(&answer.err, grpc_kind_of(answer.status), "%s: %s", method, reply->err.text);
        return answer;
    }
    uint32_t status;
    if (!str_to_u32(grpc_find_word(reply, "grpc-status"), &status)) {
        answer.status = from_http(reply->status);
        grpc_explain(&answer, method, "the server does not speak gRPC");
        return answer;
    }
    answer.status = (enum grpc_status)status;
    answer.message = decode_percent(grpc_find_word(reply, "grpc-message"), arena);
    answer.details = decode_details(grpc_find_word(reply, "grpc-status-details-bin"), arena);
    if (answer.status == GRPC_OK && !take_frame(reply->body, &answer.body)) {
        answer.status = GRPC_INTERNAL;
        grpc_explain(&answer, method, "the response is not one complete message");
    } else if (answer.status != GRPC_OK) {
        grpc_explain(&answer, method, "refused");
    }
    return answer;
}

/* ---- the call ---- */

static void grpc_finish(void *context, const struct http_reply *reply)
{
    struct grpc_call *call = context;
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct grpc_reply answer = grpc_read_reply(reply, call->method, &arena);
    call->done(call->context, &answer);
    free(call);
}

static struct grpc_call *new_call(const struct grpc_request *request)
{
    size_t size = strlen(request->method) + 1;
    struct grpc_call *call = heap_zeroed(sizeof(*call) + size);
    call->done = request->done;
    call->context = request->context;
    memcpy(call->method, request->method, size);
    return call;
}

static size_t write_headers(const struct grpc_request *request, struct str timeout,
                            struct http_header *headers)
{
    size_t count = 0;
    headers[count++] = (struct http_header){STR("content-type"), STR("application/grpc")};
    headers[count++] = (struct http_header){STR("te"), STR("trailers")};
    headers[count++] = (struct http_header){STR("grpc-timeout"), timeout};
    for (size_t i = 0; i < request->metadata_count && i < METADATA_MAX; i++) {
        headers[count++] = request->metadata[i];
    }
    return count;
}

struct http_call *grpc_start(struct http *http, const struct grpc_request *request)
{
    AUTO_BUF struct buf url;
    AUTO_BUF struct buf body;
    struct http_header headers[METADATA_MAX + 3];
    char timeout[16];
    int64_t deadline = request->deadline_ms > 0 ? request->deadline_ms : DEADLINE_MS;
    /* gRPC allows at most eight digits. */
    deadline = deadline < 99999999 ? deadline : 99999999;
    int length = snprintf(timeout, sizeof(timeout), "%lldm", (long long)deadline);
    buf_init(&url, 4096);
    buf_addf(&url, "%s%s", request->server, request->method);
    buf_init(&body, request->body.len + FRAME_HEAD + 1);
    for (int shift = 32; shift >= 0; shift -= 8) { /* the compression flag, 0, and the length */
        buf_add_char(&body, (char)((uint64_t)request->body.len >> shift & 0xff));
    }
    buf_add(&body, request->body);
    struct http_request wire = {
        .method = "POST",
        .url = url.ptr,
        .headers = headers,
        .header_count = write_headers(request, (struct str){timeout, (size_t)length}, headers),
        .body = buf_str(&body),
        .version = request->ca_file ? HTTP_VERSION_ANY : HTTP_VERSION_2_RAW,
        .is_direct = true,
        .ca_file = request->ca_file,
        .cert_file = request->cert_file,
        .key_file = request->key_file,
        .total_ms = deadline + DEADLINE_SLACK_MS,
        .body_max = request->body_max > 0 ? request->body_max : BODY_MAX,
        .done = grpc_finish,
        .context = new_call(request),
    };
    return http_start(http, &wire);
}

void grpc_forget(struct http_call *call)
{
    struct grpc_call *own = http_call_context(call);
    http_forget(call);
    free(own);
}
