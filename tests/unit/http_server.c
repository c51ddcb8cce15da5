/* http_server.c: one listening thread, one thread per connection, blocking and small. */
#include "http_server.h"

#include "base/panic.h"
#include "base/str.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CONNECTIONS_MAX = 4096, HEAD_MAX = 70000 };

struct http_server {
    enum http_server_kind kind;
    int listener, port;
    pthread_t thread;
    pthread_t workers[CONNECTIONS_MAX];
    atomic_int connections, requests, now, most, mood;
    atomic_bool is_stopping, is_deaf;
    SSL_CTX *tls;
    char ca_file[64];
};

struct connection {
    struct http_server *server;
    int fd;
    SSL *tls;
    int requests;
    char head[HEAD_MAX];
    size_t len;      /* bytes in head */
    size_t head_len; /* of them, up to the blank line */
    size_t body_len; /* announced */
};

/* ---- bytes ---- */

/* Waits for bytes, or for the end of the test. */
static bool wait_readable(const struct connection *c)
{
    struct pollfd poll_fd = {.fd = c->fd, .events = POLLIN};
    while (!c->server->is_stopping) {
        if (poll(&poll_fd, 1, 10) > 0) {
            return true;
        }
    }
    return false;
}

static ssize_t get(struct connection *c, void *bytes, size_t size)
{
    if (c->tls) {
        return SSL_pending(c->tls) || wait_readable(c) ? SSL_read(c->tls, bytes, (int)size) : -1;
    }
    return wait_readable(c) ? recv(c->fd, bytes, size, 0) : -1;
}

static bool put(struct connection *c, const void *bytes, size_t size)
{
    const char *at = bytes;
    while (size > 0) {
        ssize_t done = c->tls ? SSL_write(c->tls, at, (int)size)
                              : send(c->fd, at, size, MSG_NOSIGNAL);
        if (done <= 0 || c->server->is_stopping) {
            return false;
        }
        at += done;
        size -= (size_t)done;
    }
    return true;
}

static bool say(struct connection *c, const char *text)
{
    return put(c, text, strlen(text));
}

static void nap(const struct connection *c, int ms)
{
    for (int i = 0; i < ms && !c->server->is_stopping; i += 5) {
        usleep(5000);
    }
}

static void count_request(struct http_server *server)
{
    int now = ++server->now;
    server->requests++;
    if (now > server->most) {
        server->most = now;
    }
}

/* ---- HTTP/1.1 ---- */

static bool read_request(struct connection *c)
{
    c->len = 0;
    c->body_len = 0;
    for (;;) {
        ssize_t got = get(c, c->head + c->len, HEAD_MAX - 1 - c->len);
        if (got <= 0) {
            return false;
        }
        c->len += (size_t)got;
        c->head[c->len] = '\0';
        const char *end = strstr(c->head, "\r\n\r\n");
        if (!end) {
            continue;
        }
        const char *length = strcasestr(c->head, "\r\ncontent-length:");
        c->head_len = (size_t)(end - c->head) + 4;
        c->body_len = length ? strtoul(length + 17, NULL, 10) : 0;
        if (c->len >= c->head_len + c->body_len) {
            return true;
        }
    }
}

static bool answer_plainly(struct connection *c, const char *status, const void *body, size_t size)
{
    char head[200];
    snprintf(head, sizeof(head),
             "HTTP/1.1 %s\r\nContent-Length: %zu\r\nX-Test:  two words \r\nx-test: second\r\n\r\n",
             status, size);
    return say(c, head) && put(c, body, size);
}

static bool answer_much(struct connection *c)
{
    static char zeros[50000];
    bool ok = say(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    while (ok) {
        ok = say(c, "c350\r\n") && put(c, zeros, sizeof(zeros)) && say(c, "\r\n");
    }
    return false;
}

static bool answer_many_headers(struct connection *c)
{
    bool ok = say(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n");
    for (int i = 0; i < 2000 && ok; i++) {
        ok = say(c, "X-Mountain: of headers\r\n");
    }
    return ok && say(c, "\r\n");
}

static bool drip(struct connection *c)
{
    bool ok = say(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n");
    for (int i = 0; i < 100 && ok; i++) {
        ok = say(c, ".");
        nap(c, 300);
    }
    return false;
}

static bool reset(struct connection *c)
{
    struct linger now = {1, 0};
    setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    return false;
}

static bool is_path(const struct connection *c, const char *path)
{
    const char *at = strchr(c->head, ' ');
    size_t len = strlen(path);
    return at && strncmp(at + 1, path, len) == 0 && (at[1 + len] == ' ' || at[1 + len] == '?');
}

#define CHUNKED "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n"

static const struct {
    const char *path, *text;
    bool is_kept;
} fixed_answers[] = {
    {"/close", "", false},
    {"/truncate", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf", false},
    {"/truncate-chunk", CHUNKED "100\r\nhalf", false},
    {"/half-head", "HTTP/1.1 200 OK\r\nX-Test: 1\r\nX-", false},
    {"/garbage", "I do not speak HTTP\r\n\r\n", false},
    {"/bad-status", "HTTP/1.1 ABC Really\r\n\r\n", false},
    {"/announce", "HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n", false},
    {"/trailers", CHUNKED "3\r\nabc\r\n0\r\nX-Sum: 42\r\nx-two: 2\r\n\r\n", true},
    {"/interim",
     "HTTP/1.1 103 Early Hints\r\nX-Early: 1\r\n\r\nHTTP/1.1 200 OK\r\n"
     "Content-Length: 2\r\nX-Late: 1\r\n\r\nok",
     true},
    {"/redirect", "HTTP/1.1 302 Found\r\nLocation: /ok\r\nContent-Length: 0\r\n\r\n", true},
    {"/empty", "HTTP/1.1 204 No Content\r\n\r\n", true},
};

/* False: close the connection. */
static bool answer(struct connection *c)
{
    for (size_t i = 0; i < ARRAY_LEN(fixed_answers); i++) {
        if (is_path(c, fixed_answers[i].path)) {
            return say(c, fixed_answers[i].text) && fixed_answers[i].is_kept;
        }
    }
    if (strncmp(c->head, "CONNECT open", 12) == 0) {
        return say(c, "HTTP/1.1 200 Tunnel\r\n\r\n") && false;
    }
    if (strncmp(c->head, "CONNECT ", 8) == 0) {
        return answer_plainly(c, "403 Forbidden", "", 0);
    }
    if (strncmp(c->head, "HEAD ", 5) == 0) {
        return say(c, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
    }
    if (is_path(c, "/slow")) {
        nap(c, 8000);
        return false;
    }
    if (is_path(c, "/wait")) {
        nap(c, 30);
        return answer_plainly(c, "200 OK", "waited", 6);
    }
    if (is_path(c, "/once")) {
        return c->requests == 1 && answer_plainly(c, "200 OK", "once", 4);
    }
    if (is_path(c, "/echo")) {
        return answer_plainly(c, "200 OK", c->head, c->len);
    }
    if (is_path(c, "/fail")) {
        return answer_plainly(c, "503 Service Unavailable", "later", 5);
    }
    return is_path(c, "/reset")   ? reset(c)
           : is_path(c, "/drip")  ? drip(c)
           : is_path(c, "/huge")  ? answer_much(c)
           : is_path(c, "/heads") ? answer_many_headers(c)
                                  : answer_plainly(c, "200 OK", "hello", 5);
}

static void serve_http1(struct connection *c)
{
    bool is_kept = true;
    while (is_kept && read_request(c)) {
        c->requests++;
        count_request(c->server);
        is_kept = answer(c);
        c->server->now--;
    }
}

/* ---- raw HTTP/2 ---- */

enum { DATA = 0, HEADERS = 1, SETTINGS = 4, PING = 6, WINDOW = 8 };
enum { END_STREAM = 1, END_HEADERS = 4, ACK = 1 };

static bool get_all(struct connection *c, void *bytes, size_t size)
{
    char *at = bytes;
    while (size > 0) {
        ssize_t got = get(c, at, size);
        if (got <= 0) {
            return false;
        }
        at += got;
        size -= (size_t)got;
    }
    return true;
}

static bool put_frame(struct connection *c, int type, int flags, uint32_t stream, struct str bytes)
{
    unsigned char head[9] = {(unsigned char)(bytes.len >> 16),
                             (unsigned char)(bytes.len >> 8),
                             (unsigned char)bytes.len,
                             (unsigned char)type,
                             (unsigned char)flags,
                             (unsigned char)(stream >> 24),
                             (unsigned char)(stream >> 16),
                             (unsigned char)(stream >> 8),
                             (unsigned char)stream};
    return put(c, head, sizeof(head)) && put(c, bytes.ptr, bytes.len);
}

/* Headers by hand: 0x88 is ":status 200", 0x00 a literal that is not indexed. */
#define REPLY_HEAD \
    "\x88\x00\x0c" \
    "content-type" \
    "\x10"         \
    "application/grpc"
#define REPLY_TAIL \
    "\x00\x0b"     \
    "grpc-status"  \
    "\x01"         \
    "0"            \
    "\x00\x0c"     \
    "grpc-message" \
    "\x04"         \
    "fine"

static bool answer_stream(struct connection *c, uint32_t stream, struct str body)
{
    count_request(c->server);
    c->server->now--;
    if (c->server->mood == RAW_SILENT) {
        return true;
    }
    return c->server->mood == RAW_ECHO &&
           put_frame(c, HEADERS, END_HEADERS, stream, STR(REPLY_HEAD)) &&
           put_frame(c, DATA, 0, stream, body) &&
           put_frame(c, HEADERS, END_HEADERS | END_STREAM, stream, STR(REPLY_TAIL));
}

static void serve_raw(struct connection *c)
{
    unsigned char head[9];
    static const char window[] = "\x00\x0f\x00\x00";
    bool ok = get_all(c, c->head, 24) && memcmp(c->head, "PRI * HTTP/2.0\r\n", 16) == 0 &&
              put_frame(c, SETTINGS, 0, 0, STR("")) &&
              put_frame(c, WINDOW, 0, 0, (struct str){window, 4});
    while (ok && get_all(c, head, sizeof(head))) {
        size_t len = (size_t)head[0] << 16 | (size_t)head[1] << 8 | head[2];
        uint32_t stream = (uint32_t)head[5] << 24 | (uint32_t)head[6] << 16 |
                          (uint32_t)head[7] << 8 | head[8];
        struct str body = {c->head, len};
        ok = len < HEAD_MAX && get_all(c, c->head, len);
        if (ok && head[3] == SETTINGS && !(head[4] & ACK)) {
            ok = put_frame(c, SETTINGS, ACK, 0, STR(""));
        } else if (ok && head[3] == PING && !(head[4] & ACK)) {
            ok = put_frame(c, PING, ACK, 0, body);
        } else if (ok && (head[3] == DATA || head[3] == HEADERS) && (head[4] & END_STREAM)) {
            ok = answer_stream(c, stream, head[3] == DATA ? body : STR(""));
        }
    }
}

/* ---- life ---- */

static void *serve(void *context)
{
    struct connection *c = context;
    if (c->server->tls) {
        c->tls = SSL_new(c->server->tls);
        SSL_set_fd(c->tls, c->fd);
    }
    if (!c->tls || (wait_readable(c) && SSL_accept(c->tls) == 1)) {
        if (c->server->kind == SERVER_RAW_H2 || c->server->kind == SERVER_TLS_H2) {
            serve_raw(c);
        } else {
            serve_http1(c);
        }
    }
    SSL_free(c->tls);
    close(c->fd);
    free(c);
    return NULL;
}

static void *listen_on(void *context)
{
    struct http_server *server = context;
    struct connection listening = {.server = server, .fd = server->listener};
    while (wait_readable(&listening) && !server->is_deaf) {
        int fd = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0 || server->connections >= CONNECTIONS_MAX) {
            close(fd);
            continue;
        }
        int yes = 1; /* otherwise two small writes cost 40 ms */
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
        struct connection *c = calloc(1, sizeof(*c));
        if (!c) {
            panic("out of memory");
        }
        c->server = server;
        c->fd = fd;
        pthread_create(&server->workers[server->connections], NULL, serve, c);
        server->connections++;
    }
    return NULL;
}

static int offer_h2(SSL *tls, const unsigned char **ret_name, unsigned char *ret_len,
                    const unsigned char *offered, unsigned offered_len, void *context)
{
    static const unsigned char h2[] = "\x02h2";
    unsigned char *chosen;
    (void)tls;
    (void)context;
    int found = SSL_select_next_proto(&chosen, ret_len, h2, 3, offered, offered_len);
    *ret_name = chosen;
    return found == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

/* A self-signed certificate for "localhost", in a file that the client trusts. */
static void make_tls(struct http_server *server)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = X509_new();
    X509_NAME *name = X509_get_subject_name(cert);
    X509_set_version(cert, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(cert), 1);
    X509_gmtime_adj(X509_getm_notBefore(cert), -3600);
    X509_gmtime_adj(X509_getm_notAfter(cert), 3600);
    X509_set_pubkey(cert, key);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"test", -1, -1, 0);
    X509_set_issuer_name(cert, name);
    X509_EXTENSION *names = X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, "DNS:localhost");
    X509_add_ext(cert, names, -1);
    X509_EXTENSION_free(names);
    X509_sign(cert, key, EVP_sha256());
    server->tls = SSL_CTX_new(TLS_server_method());
    SSL_CTX_use_certificate(server->tls, cert);
    SSL_CTX_use_PrivateKey(server->tls, key);
    memcpy(server->ca_file, "/tmp/shoal-ca-XXXXXX", 21);
    FILE *file = fdopen(mkstemp(server->ca_file), "w");
    if (!file || PEM_write_X509(file, cert) != 1) {
        panic("cannot write %s", server->ca_file);
    }
    fclose(file);
    X509_free(cert);
    EVP_PKEY_free(key);
}

struct http_server *http_server_start(enum http_server_kind kind)
{
    struct http_server *server = calloc(1, sizeof(*server));
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    if (!server) {
        panic("out of memory");
    }
    server->kind = kind;
    server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(server->listener, (struct sockaddr *)&address, size) != 0 ||
        listen(server->listener, 512) != 0 ||
        getsockname(server->listener, (struct sockaddr *)&address, &size) != 0) {
        panic("no port to listen on");
    }
    server->port = ntohs(address.sin_port);
    if (kind != SERVER_PLAIN && kind != SERVER_RAW_H2) {
        make_tls(server);
    }
    if (kind == SERVER_TLS_H2) {
        SSL_CTX_set_alpn_select_cb(server->tls, offer_h2, NULL);
    }
    if (kind == SERVER_OLD_TLS) {
        SSL_CTX_set_security_level(server->tls, 0);
        SSL_CTX_set_min_proto_version(server->tls, TLS1_VERSION);
        SSL_CTX_set_max_proto_version(server->tls, TLS1_1_VERSION);
    }
    pthread_create(&server->thread, NULL, listen_on, server);
    return server;
}

void http_server_stop(struct http_server *server)
{
    server->is_stopping = true;
    pthread_join(server->thread, NULL);
    for (int i = 0; i < server->connections; i++) {
        pthread_join(server->workers[i], NULL);
    }
    close(server->listener);
    SSL_CTX_free(server->tls);
    if (server->ca_file[0]) {
        unlink(server->ca_file);
    }
    free(server);
}

void http_server_deafen(struct http_server *server)
{
    server->is_deaf = true;
    shutdown(server->listener, SHUT_RDWR);
}

const char *http_server_url(const struct http_server *server, const char *host, const char *path)
{
    static char urls[8][200];
    static int turn;
    char *url = urls[turn++ % 8];
    snprintf(url, sizeof(urls[0]), "%s://%s:%d%s", server->tls ? "https" : "http", host,
             server->port, path);
    return url;
}

const char *http_server_ca_file(const struct http_server *server)
{
    return server->ca_file;
}

int http_server_connections(struct http_server *server)
{
    return server->connections;
}

int http_server_requests(struct http_server *server)
{
    return server->requests;
}

int http_server_most_at_once(struct http_server *server)
{
    return server->most;
}

void http_server_set_mood(struct http_server *server, enum raw_mood mood)
{
    server->mood = (int)mood;
}
