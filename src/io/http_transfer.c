/*
 * http_transfer.c: sets up a libcurl transfer and interprets its result.
 *
 * Raw HTTP/2 (prior knowledge) needs care. libcurl before 8.0 breaks if a request sets "prior
 * knowledge" on an existing connection, so only the request that opens the connection sets it. The
 * others set "do not upgrade" and reuse it. If that connection has closed, libcurl would open an
 * HTTP/1.1 connection for them; we refuse it the socket and send the request again as a first one,
 * which is safe because nothing was sent.
 */
#include "io/http_internal.h"
#include "io/os.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    BODY_MAX = 16 * 1024 * 1024,
    CONNECT_MS = 10000,
    /* Receive buffer: a listing has megabytes. With 16 KB, libcurl 7.88 delays the rest of a longer
     * HTTP/2 reply for seconds. */
    PIECE_BYTES = 64 * 1024,
};

/* ---- receiving ---- */

static size_t on_header(char *bytes, size_t size, size_t count, void *context)
{
    struct http_call *call = context;
    struct str line = {bytes, size * count};
    http_host_connected(call->host);
    if (http_head_add(&call->head, &call->arena, line)) {
        return line.len;
    }
    call->forced = http_head_is_too_large(&call->head) ? HTTP_TOO_LARGE : HTTP_GARBAGE;
    return 0;
}

static size_t on_body(char *bytes, size_t size, size_t count, void *context)
{
    struct http_call *call = context;
    struct str piece = {bytes, size * count};
    if (call->is_cancelled) {
        return piece.len; /* about to be cancelled */
    }
    if (call->request.bytes) {
        call->request.bytes(call->request.context, piece);
        return piece.len;
    }
    size_t room = call->body.cap - call->body.len;
    buf_add(&call->body, str_sub(piece, 0, room));
    if (piece.len > room) {
        call->forced = HTTP_TOO_LARGE;
        return 0;
    }
    return piece.len;
}

/* ---- transfer info ---- */

static long ask_long(const struct http_call *call, CURLINFO what)
{
    long value = 0;
    curl_easy_getinfo(call->easy, what, &value);
    return value;
}

static curl_off_t ask_time(const struct http_call *call, CURLINFO what)
{
    curl_off_t value = 0;
    curl_easy_getinfo(call->easy, what, &value);
    return value;
}

/* ---- sockets ---- */

static curl_socket_t open_socket(void *context, curlsocktype purpose, struct curl_sockaddr *address)
{
    struct http_call *call = context;
    (void)purpose;
    call->had_left_before = call->had_left_before || ask_long(call, CURLINFO_REQUEST_SIZE) > 0;
    call->has_opened = true;
    if (call->host->is_raw && !call->is_fresh) {
        call->was_vetoed = true;
        return CURL_SOCKET_BAD;
    }
    /* Children would inherit a socket opened by libcurl. */
    curl_socket_t opened = os_socket(address->family, address->socktype, address->protocol);
    if (call->host->is_raw) {
        call->host->raw_socket = opened;
    }
    return opened;
}

/* `context` is the host: the socket belongs to a connection, which may outlive the call that opened
 * it. */
static int close_socket(void *context, curl_socket_t socket)
{
    struct http_host *host = context;
    if (host->raw_socket == socket) {
        host->raw_socket = CURL_SOCKET_BAD;
    }
    return close(socket);
}

/* ---- setting options ---- */

static void http_transfer_set_number(CURL *easy, CURLoption option, long value)
{
    curl_easy_setopt(easy, option, value);
}

static void http_transfer_set_text(CURL *easy, CURLoption option, const char *value)
{
    curl_easy_setopt(easy, option, value);
}

static void http_transfer_add_line(struct http_call *call, const char *line)
{
    struct curl_slist *longer = curl_slist_append(call->lines, line);
    if (!longer) {
        panic("out of memory (libcurl)");
    }
    call->lines = longer;
}

/* Removes headers that libcurl adds by itself, unless the caller sets them. */
static void set_headers(struct http_call *call)
{
    const struct http_request *request = &call->request;
    static const char *const unwanted[] = {"Accept", "Expect", "Content-Type"};
    for (size_t i = 0; i < request->header_count; i++) {
        struct http_header header = request->headers[i];
        const char *colon = header.value.len > 0 ? ": " : ";"; /* ';': empty value */
        struct str line = arena_printf(&call->arena, "%.*s%s%.*s", STR_ARG(header.name), colon,
                                       STR_ARG(header.value));
        http_transfer_add_line(call, line.ptr);
    }
    for (size_t i = 0; i < ARRAY_LEN(unwanted); i++) {
        if (!http_fields_find(request->headers, request->header_count, unwanted[i]).ptr) {
            http_transfer_add_line(call, arena_printf(&call->arena, "%s:", unwanted[i]).ptr);
        }
    }
    curl_easy_setopt(call->easy, CURLOPT_HTTPHEADER, call->lines);
    if (!http_fields_find(request->headers, request->header_count, "User-Agent").ptr) {
        http_transfer_set_text(call->easy, CURLOPT_USERAGENT, "shoal/" SHOAL_VERSION);
    }
}

static bool is_method(const struct http_request *request, const char *method)
{
    return strcmp(request->method, method) == 0;
}

static void set_body(struct http_call *call)
{
    const struct http_request *request = &call->request;
    bool has_body = request->body.len > 0 || is_method(request, "POST") ||
                    is_method(request, "PUT") || is_method(request, "PATCH");
    if (has_body) {
        curl_easy_setopt(call->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body.len);
        http_transfer_set_text(call->easy, CURLOPT_POSTFIELDS, request->body.ptr);
    } else if (is_method(request, "HEAD")) {
        http_transfer_set_number(call->easy, CURLOPT_NOBODY, 1);
    }
    http_transfer_set_text(call->easy, CURLOPT_CUSTOMREQUEST, request->method);
}

static void set_tls(struct http_call *call)
{
    const struct http *http = call->host->http;
    const struct http_request *request = &call->request;
    CURL *easy = call->easy;
    http_transfer_set_number(easy, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2);
    http_transfer_set_number(easy, CURLOPT_SSL_VERIFYPEER, 1);
    http_transfer_set_number(easy, CURLOPT_SSL_VERIFYHOST, 2);
    if (request->ca_file || http->trust.file) {
        http_transfer_set_text(easy, CURLOPT_CAINFO,
                               request->ca_file ? request->ca_file : http->trust.file);
    }
    if (request->ca_file) {
        http_transfer_set_text(easy, CURLOPT_CAPATH, NULL); /* trust only this one file */
    } else if (http->trust.folder) {
        http_transfer_set_text(easy, CURLOPT_CAPATH, http->trust.folder);
    }
    if (request->cert_file) {
        http_transfer_set_text(easy, CURLOPT_SSLCERT, request->cert_file);
        http_transfer_set_text(easy, CURLOPT_SSLKEY, request->key_file);
    }
}

static void set_protocol(struct http_call *call)
{
    CURL *easy = call->easy;
    long version = call->request.version == HTTP_VERSION_1_1 ? CURL_HTTP_VERSION_1_1
                                                             : CURL_HTTP_VERSION_2TLS;
    if (call->host->is_raw) {
        call->raw_socket = call->host->raw_socket;
        call->is_fresh = call->raw_socket == CURL_SOCKET_BAD;
        version = call->is_fresh ? CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE : CURL_HTTP_VERSION_2TLS;
        http_transfer_set_number(easy, CURLOPT_PIPEWAIT, 1);
    }
    http_transfer_set_number(easy, CURLOPT_HTTP_VERSION, version);
    http_transfer_set_number(easy, CURLOPT_FRESH_CONNECT, call->is_fresh || call->request.is_once);
    http_transfer_set_number(easy, CURLOPT_FORBID_REUSE, call->request.is_once);
    if (call->request.is_direct || call->host->is_raw) {
        http_transfer_set_text(easy, CURLOPT_NOPROXY, "*");
    }
    http_transfer_set_number(easy, CURLOPT_FOLLOWLOCATION, 0);
    http_transfer_set_number(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS,
                             1);                           /* ignore the headers of a proxy */
    http_transfer_set_number(easy, CURLOPT_PATH_AS_IS, 1); /* keep the signed URL */
#if LIBCURL_VERSION_NUM >= 0x075500
    http_transfer_set_text(easy, CURLOPT_PROTOCOLS_STR, "http,https");
#else
    http_transfer_set_number(easy, CURLOPT_PROTOCOLS, CURLPROTO_HTTP | CURLPROTO_HTTPS);
#endif
}

static void set_bounds(struct http_call *call, int64_t left_ms)
{
    const struct http_request *request = &call->request;
    CURL *easy = call->easy;
    http_transfer_set_number(easy, CURLOPT_TIMEOUT_MS, (long)(left_ms > 0 ? left_ms : 1));
    http_transfer_set_number(easy, CURLOPT_CONNECTTIMEOUT_MS,
                             (long)(request->connect_ms > 0 ? request->connect_ms : CONNECT_MS));
    if (request->slow_seconds > 0) {
        http_transfer_set_number(easy, CURLOPT_LOW_SPEED_LIMIT, (long)request->slow_bytes);
        http_transfer_set_number(easy, CURLOPT_LOW_SPEED_TIME, (long)request->slow_seconds);
    }
    if (!request->bytes) {
        curl_easy_setopt(easy, CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)call->body.cap);
    }
}

/* Asks request.may_send: connecting takes time, and the machine may have been suspended. */
static int before_sending(void *context, char *their_ip, char *our_ip, int their_port, int our_port)
{
    struct http_call *call = context;
    (void)their_ip;
    (void)our_ip;
    (void)their_port;
    (void)our_port;
    if (!call->is_cancelled && call->request.may_send(call->request.context)) {
        return CURL_PREREQFUNC_OK;
    }
    call->was_withheld = true;
    call->forced = HTTP_CANCELLED;
    return CURL_PREREQFUNC_ABORT;
}

void http_transfer_prepare(struct http_call *call, int64_t left_ms)
{
    CURL *easy = call->easy;
    size_t most = call->request.body_max ? call->request.body_max : BODY_MAX;
    buf_clear(&call->body);
    buf_init(&call->body, most);
    memset(&call->head, 0, sizeof(call->head));
    call->was_vetoed = call->has_opened = call->had_left_before = false;
    http_transfer_set_text(easy, CURLOPT_URL, call->request.url);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, call);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, call->words);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, call);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, call);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, call);
    curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, close_socket);
    curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, call->host);
    if (call->request.may_send) {
        curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, before_sending);
        curl_easy_setopt(easy, CURLOPT_PREREQDATA, call);
    }
    http_transfer_set_number(easy, CURLOPT_NOSIGNAL, 1);
#if LIBCURL_VERSION_NUM >= 0x075700
    /* Otherwise cancelling a transfer during DNS resolution waits for the resolver thread. */
    http_transfer_set_number(easy, CURLOPT_QUICK_EXIT, 1);
#endif
    http_transfer_set_number(easy, CURLOPT_TCP_KEEPALIVE, 1);
    http_transfer_set_number(easy, CURLOPT_BUFFERSIZE, PIECE_BYTES);
    set_headers(call);
    set_body(call);
    set_tls(call);
    set_protocol(call);
    set_bounds(call, left_ms);
}

bool http_transfer_check(const struct http_request *request, struct err *err)
{
    struct http_header method = {str_from(request->method), {0}};
    if (!http_header_is_valid(method)) {
        return err_set(err, ERR_USAGE, "\"%s\" is not an HTTP method", request->method);
    }
    for (size_t i = 0; i < request->header_count; i++) {
        if (!http_header_is_valid(request->headers[i])) {
            return err_set(err, ERR_USAGE,
                           "header %zu cannot be sent: it contains a line break or an invalid name",
                           i + 1);
        }
    }
    return true;
}

/* ---- the result ---- */

static bool was_refused_by_proxy(const struct http_call *call)
{
    return ask_long(call, CURLINFO_HTTP_CONNECTCODE) >= 300;
}

/*
 * Whether a byte of the request may have been sent. libcurl counts request bytes when it passes
 * them to the socket, including those of a CONNECT to a proxy. It also resends a request when a
 * reused connection turns out dead: bytes were then sent before the new socket was opened, and a
 * later failure to connect proves nothing. Its timestamps do not help: newer versions set them on
 * failure.
 */
static bool may_have_left(const struct http_call *call)
{
    if (call->had_left_before || call->was_withheld) {
        return call->had_left_before;
    }
    if (ask_long(call, CURLINFO_REQUEST_SIZE) == 0 && call->head.status == 0) {
        return false;
    }
    if (was_refused_by_proxy(call)) {
        return false;
    }
    /* A new connection without a finished TLS handshake has carried at most the CONNECT. */
    return !(call->has_opened && call->is_https && ask_time(call, CURLINFO_APPCONNECT_TIME_T) == 0);
}

static const struct {
    CURLcode code;
    enum http_outcome outcome;
} meanings[] = {
    {CURLE_OK, HTTP_REPLIED},
    {CURLE_UNSUPPORTED_PROTOCOL, HTTP_GARBAGE}, /* HTTP/0.9; the URL's scheme was checked earlier */
    {CURLE_URL_MALFORMAT, HTTP_BAD_REQUEST},
    {CURLE_COULDNT_RESOLVE_HOST, HTTP_NOT_RESOLVED},
    {CURLE_COULDNT_RESOLVE_PROXY, HTTP_NOT_RESOLVED},
    {CURLE_COULDNT_CONNECT, HTTP_NOT_CONNECTED},
    {CURLE_PROXY, HTTP_NOT_CONNECTED},
    {CURLE_SSL_CONNECT_ERROR, HTTP_TLS_FAILED},
    {CURLE_PEER_FAILED_VERIFICATION, HTTP_NOT_TRUSTED},
    {CURLE_SSL_CERTPROBLEM, HTTP_NOT_TRUSTED},
    {CURLE_SSL_CIPHER, HTTP_TLS_FAILED},
    {CURLE_SSL_CACERT_BADFILE, HTTP_NOT_TRUSTED},
    {CURLE_SSL_ISSUER_ERROR, HTTP_NOT_TRUSTED},
    {CURLE_SSL_CLIENTCERT, HTTP_NOT_TRUSTED},
    {CURLE_SEND_ERROR, HTTP_RESET},
    {CURLE_RECV_ERROR, HTTP_RESET},
    {CURLE_GOT_NOTHING, HTTP_RESET},
    {CURLE_HTTP2_STREAM, HTTP_RESET},
    {CURLE_PARTIAL_FILE, HTTP_TRUNCATED},
    {CURLE_FILESIZE_EXCEEDED, HTTP_TOO_LARGE},
    {CURLE_WEIRD_SERVER_REPLY, HTTP_GARBAGE},
    {CURLE_HTTP2, HTTP_GARBAGE},
};

static enum http_outcome http_transfer_evaluate(const struct http_call *call, CURLcode code,
                                                bool has_left)
{
    if (call->is_cancelled) {
        return HTTP_CANCELLED;
    }
    if (call->forced != HTTP_REPLIED) {
        return call->forced;
    }
    if (code == CURLE_OPERATION_TIMEDOUT) {
        return has_left ? HTTP_TIMEOUT_SENT : HTTP_TIMEOUT_UNSENT;
    }
    if (code != CURLE_OK && was_refused_by_proxy(call)) {
        return HTTP_NOT_CONNECTED;
    }
    if (code == CURLE_OK && !call->head.is_ended) {
        return HTTP_TRUNCATED; /* EOF inside the headers */
    }
    /* Closed while idle: libcurl 8 reports that as an HTTP/2 error. */
    if (code == CURLE_HTTP2 && call->head.status == 0 &&
        ask_long(call, CURLINFO_NUM_CONNECTS) == 0) {
        return HTTP_RESET;
    }
    for (size_t i = 0; i < ARRAY_LEN(meanings); i++) {
        if (meanings[i].code == code) {
            return meanings[i].outcome;
        }
    }
    return HTTP_FAILED;
}

void http_transfer_read(struct http_call *call, CURLcode code, struct http_reply *reply)
{
    bool has_left = may_have_left(call);
    reply->outcome = http_transfer_evaluate(call, code, has_left);
    reply->may_have_acted = has_left || reply->outcome == HTTP_REPLIED;
    reply->status = call->head.status;
    reply->headers = call->head.headers.items;
    reply->header_count = call->head.headers.count;
    reply->trailers = call->head.trailers.items;
    reply->trailer_count = call->head.trailers.count;
    reply->body = buf_str(&call->body);
    reply->was_reused = ask_long(call, CURLINFO_NUM_CONNECTS) == 0;
    if (!call->words[0]) {
        memcpy(call->words, curl_easy_strerror(code), strlen(curl_easy_strerror(code)) + 1);
    }
}
