/*
 * state_transfer.h: moves a folder (a training checkpoint) to another machine, over TCP.
 *
 * Blocking, for processes of their own. Both sides prove that they know the token, which is never
 * sent; contents are not encrypted, but no changed, missing or added byte is accepted. Only regular
 * files and folders with their permissions are moved, at most STATE_FILES_MAX of them and
 * STATE_BYTES_MAX bytes; anything else in the tree is an error, and so is a file that changes while
 * it is sent.
 */
#pragma once

#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    STATE_TOKEN_LEN_MIN = 32,
    STATE_DIGEST_SIZE = 65, /* hexadecimal SHA-256 with its NUL */
    STATE_FILES_MAX = 100000,
    STATE_CONNECTIONS_MAX = 16,
};

#define STATE_BYTES_MAX (INT64_C(1) << 40)

/* Times of 0 take the default. */
struct state_server {
    int listener;     /* a listening TCP socket */
    const char *root; /* folder that contains the checkpoints */
    struct str token; /* at least STATE_TOKEN_LEN_MIN characters */
    int64_t hello_ms; /* until a client has proven that it knows the token; default 10 s */
    int64_t idle_ms;  /* without progress of a transfer; default 30 s */
    int64_t total_ms; /* of one connection; default 1 h */
};

/*
 * Serves forever, each connection in its own process, which can only read below `root`. Others
 * wait in the listener's queue while STATE_CONNECTIONS_MAX are served. Returns only on failure. To
 * end it, kill the process: the processes of its connections end with it.
 */
bool state_serve(const struct state_server *server, struct err *err) MUST_USE;

struct state_source {
    const char *host; /* name or address */
    uint16_t port;
    struct str token;
    int64_t connect_ms; /* default 10 s */
    int64_t idle_ms;    /* without progress; default 60 s: the sender may have to compare first */
    int64_t total_ms;   /* default 1 h */
    /* Flushes files and folders to the disk before the rename, so that a checkpoint with its final
     * name survives a power failure. Not needed on tmpfs, or if another copy exists. */
    bool is_durable;
};

struct state_fetched {
    int64_t bytes; /* of the contents, whether received or there already */
    int64_t files; /* without folders */
    double seconds;
    bool was_there; /* `folder` had the same checkpoint: nothing was received */
    char digest[STATE_DIGEST_SIZE];
};

/*
 * Gets the checkpoint `name`, one component of a path, as `folder`/`name`. It gets that name only
 * when it is complete and verified; until then it is `folder`/.fetch-NAME-PID, which is removed on
 * failure and, if this process is killed, by the next fetch. An existing `folder`/`name` with the
 * same digest is kept, a different one is replaced.
 *
 * ERR_NOT_FOUND: the source has no such checkpoint. ERR_AUTH: other token. ERR_UNAVAILABLE: no
 * connection, or it was lost: retry or use another source. ERR_TIMEOUT: too slow. ERR_PROTOCOL:
 * changed on the way, or the source cannot send it. ERR_IO: this machine's disk.
 */
bool state_fetch(const struct state_source *source, const char *folder, const char *name,
                 struct state_fetched *ret, struct err *err) MUST_USE;

/* The digest of `folder`/`name`, which depends on names, permissions, sizes and contents only. */
bool state_digest(const char *folder, const char *name, char ret_digest[STATE_DIGEST_SIZE],
                  struct err *err) MUST_USE;
