/* state_wire.c: reads and writes with time limits, the hellos, and messages with their MACs. */
#include "app/train/state_wire.h"

#include "base/memzero.h"
#include "base/utf8.h"
#include "io/xalloc.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MAGIC "SHOALST\n"

enum {
    VERSION = 1,
    MAGIC_LEN = sizeof(MAGIC) - 1,
    NONCE_BYTES = 32,
    HELLO_BYTES = MAGIC_LEN + 4 + NONCE_BYTES,
    HEAD_BYTES = 8, /* kind and length of a message */
    LABEL_BYTES = 16,
    BUFFER_BYTES = 256 * 1024,
    REFUSAL_BYTES_MAX = 400,
    WAIT_MS = 5000,
};

int64_t state_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- the connection ---- */

void state_link_open(struct state_link *link, int socket, bool is_server, int64_t idle_ms)
{
    int on = 1;
    *link = (struct state_link){.socket = socket, .is_server = is_server, .idle_ms = idle_ms};
    link->bytes = heap_zeroed(BUFFER_BYTES);
    /* Messages are sent whole, so waiting for more bytes would only delay them. */
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

void state_link_close(struct state_link *link)
{
    memzero(link->key, sizeof(link->key));
    free(link->bytes);
    close(link->socket);
}

/* False after an error or too long without progress. */
static bool wait_for(const struct state_link *link, short events, struct err *err)
{
    struct pollfd watch = {.fd = link->socket, .events = events};
    int64_t until = state_now_ms() + link->idle_ms;
    until = until < link->deadline_ms ? until : link->deadline_ms;
    while (true) {
        int64_t left = until - state_now_ms();
        int ready = left > 0 ? poll(&watch, 1, left < 1000 ? (int)left : 1000) : 0;
        if (ready > 0) {
            return true;
        }
        if (ready < 0 && errno != EINTR) {
            return err_set(err, ERR_IO, "cannot wait for the connection: %s", strerror(errno));
        }
        if (left <= 0) {
            return err_set(err, ERR_TIMEOUT, "the other side %s for too long",
                           events == POLLIN ? "sent nothing" : "received nothing");
        }
    }
}

/* After a call on the socket failed: whether to try again. */
static bool may_retry(const struct state_link *link, short events, struct err *err)
{
    if (errno == EINTR) {
        return true;
    }
    if (errno != EAGAIN && errno != EWOULDBLOCK) {
        return err_set(err, ERR_UNAVAILABLE, "the connection was lost: %s", strerror(errno));
    }
    return wait_for(link, events, err);
}

static bool is_late(const struct state_link *link, struct err *err)
{
    if (state_now_ms() < link->deadline_ms) {
        return false;
    }
    err_set(err, ERR_TIMEOUT, "the transfer took too long");
    return true;
}

bool state_link_take(struct state_link *link, size_t most, struct str *ret_bytes, struct err *err)
{
    while (link->from == link->to) {
        if (is_late(link, err)) {
            return false;
        }
        ssize_t got = recv(link->socket, link->bytes, BUFFER_BYTES, 0);
        if (got == 0) {
            return err_set(err, ERR_UNAVAILABLE, "the other side closed the connection early");
        }
        if (got < 0 && !may_retry(link, POLLIN, err)) {
            return false;
        }
        link->from = 0;
        link->to = got > 0 ? (size_t)got : 0;
    }
    size_t size = link->to - link->from;
    size = size < most ? size : most;
    *ret_bytes = (struct str){link->bytes + link->from, size};
    link->from += size;
    return true;
}

bool state_link_read(struct state_link *link, void *ret_bytes, size_t size, struct err *err)
{
    char *to = ret_bytes;
    while (size > 0) {
        struct str got;
        if (!state_link_take(link, size, &got, err)) {
            return false;
        }
        memcpy(to, got.ptr, got.len);
        to += got.len;
        size -= got.len;
    }
    return true;
}

bool state_link_write(struct state_link *link, const void *bytes, size_t size, bool has_more,
                      struct err *err)
{
    const char *from = bytes;
    while (size > 0) {
        if (is_late(link, err)) {
            return false;
        }
        ssize_t sent = send(link->socket, from, size, MSG_NOSIGNAL | (has_more ? MSG_MORE : 0));
        if (sent < 0) {
            if (!may_retry(link, POLLOUT, err)) {
                return false;
            }
            continue;
        }
        from += sent;
        size -= (size_t)sent;
    }
    return true;
}

bool state_link_send_file(struct state_link *link, int file, int64_t offset, size_t size,
                          struct err *err)
{
    off_t at = offset;
    while (size > 0) {
        if (is_late(link, err)) {
            return false;
        }
        ssize_t sent = sendfile(link->socket, file, &at, size);
        if (sent == 0) {
            return err_set(err, ERR_PROTOCOL, "a file became shorter while it was sent");
        }
        if (sent < 0) {
            if (!may_retry(link, POLLOUT, err)) {
                return false;
            }
            continue;
        }
        size -= (size_t)sent;
    }
    return true;
}

/* ---- numbers ---- */

void state_put_length(uint8_t ret_head[STATE_PIECE_HEAD], uint32_t length)
{
    for (int i = 0; i < STATE_PIECE_HEAD; i++) {
        ret_head[i] = (uint8_t)(length >> (24 - 8 * i));
    }
}

uint32_t state_get_length(const uint8_t head[STATE_PIECE_HEAD])
{
    return (uint32_t)head[0] << 24 | (uint32_t)head[1] << 16 | (uint32_t)head[2] << 8 | head[3];
}

/* ---- hellos ---- */

static bool make_hello(uint8_t ret_hello[HELLO_BYTES], struct err *err)
{
    memcpy(ret_hello, MAGIC, MAGIC_LEN);
    state_put_length(ret_hello + MAGIC_LEN, VERSION);
    if (getentropy(ret_hello + MAGIC_LEN + 4, NONCE_BYTES) != 0) {
        return err_set(err, ERR_IO, "cannot get random numbers: %s", strerror(errno));
    }
    return true;
}

static bool check_hello(const uint8_t hello[HELLO_BYTES], struct err *err)
{
    uint32_t version = state_get_length(hello + MAGIC_LEN);
    if (memcmp(hello, MAGIC, MAGIC_LEN) != 0) {
        return err_set(err, ERR_PROTOCOL, "the other side does not transfer checkpoints");
    }
    if (version != VERSION) {
        return err_set(err, ERR_PROTOCOL,
                       "the other side uses version %u of the protocol, this one %d: use the same "
                       "release on all nodes",
                       (unsigned)version, VERSION);
    }
    return true;
}

bool state_link_greet(struct state_link *link, struct str token, struct err *err)
{
    uint8_t hellos[2][HELLO_BYTES]; /* of the client, of the server */
    uint8_t *own = hellos[link->is_server];
    uint8_t *other = hellos[!link->is_server];
    if (!make_hello(own, err)) {
        return false;
    }
    if (link->is_server) {
        /* Answers before it checks, so that a peer with another version can report this one. */
        if (!state_link_read(link, other, HELLO_BYTES, err) ||
            !state_link_write(link, own, HELLO_BYTES, false, err)) {
            return false;
        }
    } else if (!state_link_write(link, own, HELLO_BYTES, false, err) ||
               !state_link_read(link, other, HELLO_BYTES, err)) {
        return false;
    }
    sha256_mac(token, (struct str){(const char *)hellos, sizeof(hellos)}, link->key);
    return check_hello(other, err);
}

/* ---- messages ---- */

/* With who sends it, so that a message cannot be sent back. */
static void mac_of(const struct state_link *link, bool is_by_server, const uint8_t head[HEAD_BYTES],
                   struct str body, uint8_t ret_mac[SHA256_BYTES])
{
    char text[LABEL_BYTES + HEAD_BYTES + SHA256_BYTES] = {0};
    memcpy(text, is_by_server ? "server message" : "client message", LABEL_BYTES - 2);
    memcpy(text + LABEL_BYTES, head, HEAD_BYTES);
    sha256(body, (uint8_t *)text + LABEL_BYTES + HEAD_BYTES);
    sha256_mac((struct str){(const char *)link->key, SHA256_BYTES},
               (struct str){text, sizeof(text)}, ret_mac);
}

bool state_message_send(struct state_link *link, enum state_kind kind, struct str body,
                        struct err *err)
{
    uint8_t head[HEAD_BYTES];
    uint8_t mac[SHA256_BYTES];
    state_put_length(head, kind);
    state_put_length(head + STATE_PIECE_HEAD, (uint32_t)body.len);
    mac_of(link, link->is_server, head, body, mac);
    link->told_ms = state_now_ms();
    return state_link_write(link, head, sizeof(head), true, err) &&
           state_link_write(link, body.ptr, body.len, true, err) &&
           state_link_write(link, mac, sizeof(mac), false, err);
}

void state_message_refuse(struct state_link *link, const struct err *why)
{
    struct err ignored;
    AUTO_BUF struct buf body;
    buf_init(&body, REFUSAL_BYTES_MAX);
    buf_add_char(&body, (char)why->kind);
    buf_add(&body, str_sub(str_from(why->text), 0, REFUSAL_BYTES_MAX - 1));
    if (!state_message_send(link, STATE_REFUSED, buf_str(&body), &ignored)) {
        return;
    }
}

bool state_message_wait(void *context, struct err *err)
{
    struct state_link *link = context;
    return state_now_ms() - link->told_ms < WAIT_MS ||
           state_message_send(link, STATE_WAIT, (struct str){0}, err);
}

static bool read_refusal(struct str body, struct err *err)
{
    AUTO_BUF struct buf visible;
    enum err_kind kind = body.len > 0 ? (enum err_kind)(unsigned char)body.ptr[0] : ERR_PROTOCOL;
    buf_init(&visible, (size_t)4 * REFUSAL_BYTES_MAX);
    utf8_add_visible(&visible, str_sub(body, 1, body.len), false);
    if (kind != ERR_NOT_FOUND && kind != ERR_TIMEOUT) {
        kind = ERR_PROTOCOL;
    }
    return err_set(err, kind, "the other side refused: %.*s", STR_ARG(buf_str(&visible)));
}

static bool receive_body(struct state_link *link, size_t size, struct buf *body, struct err *err)
{
    buf_clear(body);
    if (size > body->cap) {
        return err_set(err, ERR_PROTOCOL, "the other side sent a message of %zu bytes", size);
    }
    while (body->len < size) {
        struct str got;
        if (!state_link_take(link, size - body->len, &got, err)) {
            return false;
        }
        buf_add(body, got);
    }
    return true;
}

bool state_message_receive(struct state_link *link, enum state_kind *ret_kind, struct buf *body,
                           struct err *err)
{
    uint8_t head[HEAD_BYTES];
    uint8_t mac[SHA256_BYTES];
    uint8_t expected[SHA256_BYTES];
    do {
        if (!state_link_read(link, head, sizeof(head), err) ||
            !receive_body(link, state_get_length(head + STATE_PIECE_HEAD), body, err) ||
            !state_link_read(link, mac, sizeof(mac), err)) {
            return false;
        }
        mac_of(link, !link->is_server, head, buf_str(body), expected);
        if (!sha256_equal(mac, expected)) {
            /* A server that does not accept our MAC refuses with one that we do not accept. */
            uint32_t kind = state_get_length(head);
            bool is_about_token = kind == (link->is_server ? STATE_REQUEST : STATE_REFUSED);
            return is_about_token
                       ? err_set(err, ERR_AUTH, "the two sides do not have the same token")
                       : err_set(err, ERR_PROTOCOL, "the data was changed in transit");
        }
        *ret_kind = (enum state_kind)state_get_length(head);
    } while (*ret_kind == STATE_WAIT);
    return *ret_kind != STATE_REFUSED || read_refusal(buf_str(body), err);
}
