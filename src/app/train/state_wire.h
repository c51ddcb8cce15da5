/*
 * state_wire.h: the two sides of a state transfer: a session over TCP and its messages.
 *
 *   fetch: hello (version, nonce)      serve: hello (version, nonce)
 *          REQUEST (name)                     MANIFEST, or REFUSED (kind, text)
 *          SEND, or COMPARE (digest)          SAME, or CONTENTS, then pieces, then DONE (digest)
 *
 * The session's key is a MAC of both nonces with the token; each message has a MAC with that key. A
 * piece is its length and its bytes; length 0 announces a REFUSED message instead. Pieces have no
 * MAC of their own: DONE has the digest of all of them. WAIT: the sender is still computing.
 */
#pragma once

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "io/sha256.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum state_kind {
    STATE_REQUEST = 1,
    STATE_SEND,
    STATE_COMPARE,
    STATE_WAIT,
    STATE_MANIFEST,
    STATE_SAME,
    STATE_CONTENTS,
    STATE_DONE,
    STATE_REFUSED,
};

struct state_link {
    int socket; /* does not block */
    bool is_server;
    int64_t idle_ms, deadline_ms; /* a duration, and a time of state_now_ms() */
    uint8_t key[SHA256_BYTES];
    int64_t told_ms; /* time of the last message, for WAIT */
    char *bytes;     /* received and not taken yet */
    size_t from, to;
};

int64_t state_now_ms(void);

/* Takes over the socket. */
void state_link_open(struct state_link *link, int socket, bool is_server, int64_t idle_ms);
void state_link_close(struct state_link *link);

/* Exchanges the hellos and computes the key. */
bool state_link_greet(struct state_link *link, struct str token, struct err *err) MUST_USE;

/* At least 1 and at most `most` received bytes, valid until the next call. */
bool state_link_take(struct state_link *link, size_t most, struct str *ret_bytes,
                     struct err *err) MUST_USE;
bool state_link_read(struct state_link *link, void *ret_bytes, size_t size,
                     struct err *err) MUST_USE;
bool state_link_write(struct state_link *link, const void *bytes, size_t size, bool has_more,
                      struct err *err) MUST_USE;
bool state_link_send_file(struct state_link *link, int file, int64_t offset, size_t size,
                          struct err *err) MUST_USE;

bool state_message_send(struct state_link *link, enum state_kind kind, struct str body,
                        struct err *err) MUST_USE;

/* Skips WAIT. `body` is replaced. ERR_AUTH: the first message of the other side shows that its
 * token differs. A REFUSED message is an error with its kind and text. */
bool state_message_receive(struct state_link *link, enum state_kind *ret_kind, struct buf *body,
                           struct err *err) MUST_USE;

/* Sends REFUSED; failures are ignored, because the connection ends anyway. */
void state_message_refuse(struct state_link *link, const struct err *why);

/* A state_tick_fn: sends WAIT if nothing was sent for a while. */
bool state_message_wait(void *link, struct err *err);

/* The length of a piece. */
enum { STATE_PIECE_HEAD = 4 };
void state_put_length(uint8_t ret_head[STATE_PIECE_HEAD], uint32_t length);
uint32_t state_get_length(const uint8_t head[STATE_PIECE_HEAD]);
