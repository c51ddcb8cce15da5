/* state_send.c: the server: a process per connection, which sends one checkpoint. */
#include "app/train/state_transfer.h"
#include "app/train/state_tree.h"
#include "app/train/state_wire.h"
#include "base/utf8.h"
#include "io/failpoint.h"
#include "io/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#if __has_include(<linux/landlock.h>)
#include <linux/landlock.h>
#endif

enum {
    HELLO_MS = 10 * 1000,
    IDLE_MS = 30 * 1000,
    TOTAL_MS = 60 * 60 * 1000,
    TURN_MS = 1000,             /* the longest time until ended processes are collected */
    PAUSE_MS = 100,             /* after a lack of descriptors or processes */
    COPIED_BYTES_MAX = 64 << 10 /* a piece up to this size is sent with its head in one call */
};

/* ---- sending ---- */

struct sender {
    struct state_link *link;
    int root; /* of the checkpoint */
    struct state_manifest manifest;
    struct sha256_state *digest;
    char *piece; /* with room for the head before it */
};

static bool send_piece(struct sender *sender, int file, const struct state_entry *entry, int64_t at,
                       size_t size, struct err *err)
{
    char *bytes = sender->piece + STATE_PIECE_HEAD;
    uint8_t *head = (uint8_t *)sender->piece;
    if (!state_piece_read(file, entry, at, bytes, size, err)) {
        return false;
    }
    sha256_add(sender->digest, (struct str){bytes, size});
    state_put_length(head, (uint32_t)size);
    if (size <= COPIED_BYTES_MAX) {
        return state_link_write(sender->link, head, STATE_PIECE_HEAD + size, true, err);
    }
    /* If the file changes before these are sent, their digest differs: the receiver notices. */
    return state_link_write(sender->link, head, STATE_PIECE_HEAD, true, err) &&
           state_link_send_file(sender->link, file, at, size, err);
}

static bool has_changed(int file, const struct state_entry *entry, const struct stat *first)
{
    struct stat now;
    return fstat(file, &now) != 0 || now.st_size != entry->size ||
           now.st_mtim.tv_sec != first->st_mtim.tv_sec ||
           now.st_mtim.tv_nsec != first->st_mtim.tv_nsec;
}

static bool send_file(struct sender *sender, const struct state_entry *entry, struct err *err)
{
    struct stat first;
    bool is_sent = true;
    int file = state_file_open(sender->root, entry->path, O_RDONLY | O_NONBLOCK);
    if (file < 0 || fstat(file, &first) != 0 || !S_ISREG(first.st_mode) ||
        first.st_size != entry->size) {
        is_sent = false;
    }
    for (int64_t done = 0; is_sent && done < entry->size;) {
        int64_t left = entry->size - done;
        size_t size = left < STATE_PIECE_BYTES ? (size_t)left : STATE_PIECE_BYTES;
        if (!send_piece(sender, file, entry, done, size, err)) {
            close(file);
            return false;
        }
        done += (int64_t)size;
    }
    if (!is_sent || has_changed(file, entry, &first)) {
        is_sent = err_set(err, ERR_PROTOCOL, "file %.*s changed while it was sent",
                          STR_ARG(str_sub(entry->path, 0, 200)));
    }
    if (file >= 0) {
        close(file);
    }
    return is_sent;
}

static bool send_link(struct sender *sender, const struct state_entry *entry, struct err *err)
{
    char target[STATE_PATH_LEN_MAX + 1];
    if (!state_link_read_target(sender->root, entry, target, err)) {
        return false;
    }
    size_t size = strlen(target);
    sha256_add(sender->digest, str_from(target));
    state_put_length((uint8_t *)sender->piece, (uint32_t)size);
    memcpy(sender->piece + STATE_PIECE_HEAD, target, size);
    return state_link_write(sender->link, sender->piece, STATE_PIECE_HEAD + size, true, err);
}

/* Announces the error where the receiver expects a piece or the end. */
static void refuse_piece(struct state_link *link, const struct err *why)
{
    static const uint8_t head[STATE_PIECE_HEAD];
    struct err ignored;
    if (state_link_write(link, head, sizeof(head), true, &ignored)) {
        state_message_refuse(link, why);
    }
}

static bool send_contents(struct sender *sender, struct str manifest, struct err *err)
{
    uint8_t digest[SHA256_BYTES];
    if (!state_message_send(sender->link, STATE_CONTENTS, (struct str){0}, err)) {
        return false;
    }
    sha256_add(sender->digest, manifest);
    for (size_t i = 0; i < sender->manifest.count; i++) {
        const struct state_entry *entry = &sender->manifest.entries[i];
        if (!entry->is_folder &&
            !(entry->is_link ? send_link(sender, entry, err) : send_file(sender, entry, err))) {
            refuse_piece(sender->link, err);
            return false;
        }
    }
    sha256_end(sender->digest, digest);
    sender->digest = NULL;
    return state_message_send(sender->link, STATE_DONE,
                              (struct str){(const char *)digest, sizeof(digest)}, err);
}

/* Whether the receiver has the same: compares digests, as sizes and times prove nothing. */
static bool is_same(struct sender *sender, struct str theirs, bool *ret_is_same, struct err *err)
{
    uint8_t digest[SHA256_BYTES];
    if (theirs.len != SHA256_BYTES) {
        return err_set(err, ERR_PROTOCOL, "invalid comparison");
    }
    if (!state_tree_digest(sender->root, &sender->manifest, state_message_wait, sender->link,
                           digest, err)) {
        return false;
    }
    *ret_is_same = sha256_equal(digest, (const uint8_t *)theirs.ptr);
    return true;
}

static bool send_state(struct sender *sender, struct str manifest, struct err *err)
{
    AUTO_BUF struct buf body;
    enum state_kind kind;
    bool is_there = false;
    buf_init(&body, SHA256_BYTES);
    if (!state_message_send(sender->link, STATE_MANIFEST, manifest, err) ||
        !state_message_receive(sender->link, &kind, &body, err)) {
        return false;
    }
    if ((kind == STATE_COMPARE && !is_same(sender, buf_str(&body), &is_there, err)) ||
        (kind != STATE_COMPARE && kind != STATE_SEND)) {
        if (kind != STATE_COMPARE) {
            err_set(err, ERR_PROTOCOL, "unexpected message");
        }
        state_message_refuse(sender->link, err);
        return false;
    }
    return is_there ? state_message_send(sender->link, STATE_SAME, buf_str(&body), err)
                    : send_contents(sender, manifest, err);
}

/* ---- a connection ---- */

static bool receive_name(struct state_link *link, const struct state_server *server,
                         struct buf *name, struct err *err)
{
    enum state_kind kind;
    if (!state_link_greet(link, server->token, err)) {
        return false;
    }
    if (!state_message_receive(link, &kind, name, err)) {
        if (err->kind == ERR_AUTH) {
            state_message_refuse(link, err);
        }
        return false;
    }
    if (kind != STATE_REQUEST) {
        return err_set(err, ERR_PROTOCOL, "no request");
    }
    if (!state_name_check(buf_str(name), err)) {
        state_message_refuse(link, err);
        return false;
    }
    return true;
}

static bool serve_request(struct state_link *link, const struct state_server *server, int root,
                          struct buf *name, volatile bool *is_known, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    AUTO_BUF struct buf manifest;
    struct sender sender = {.link = link, .root = -1};
    buf_init(&manifest, STATE_MANIFEST_BYTES_MAX);
    if (!receive_name(link, server, name, err)) {
        return false;
    }
    *is_known = true;
    link->deadline_ms = state_now_ms() + (server->total_ms > 0 ? server->total_ms : TOTAL_MS);
    sender.root = state_folder_open(root, buf_str(name).ptr, err);
    if (sender.root < 0 || !state_tree_walk(sender.root, &arena, &sender.manifest, err)) {
        state_message_refuse(link, err);
        return false; /* the process ends: nothing needs to be closed */
    }
    state_manifest_add(&manifest, &sender.manifest);
    sender.piece = heap_zeroed(STATE_PIECE_HEAD + STATE_PIECE_BYTES);
    sender.digest = sha256_begin();
    bool is_sent = send_state(&sender, buf_str(&manifest), err);
    sha256_end(sender.digest, NULL);
    free(sender.piece);
    close(sender.root);
    return is_sent;
}

/* ---- the rights of a connection's process ---- */

static void close_others(int first, int second)
{
#ifdef SYS_close_range
    unsigned low = (unsigned)(first < second ? first : second);
    unsigned high = (unsigned)(first < second ? second : first);
    syscall(SYS_close_range, STDERR_FILENO + 1, low - 1, 0);
    if (high > low + 1) {
        syscall(SYS_close_range, low + 1, high - 1, 0);
    }
    syscall(SYS_close_range, high + 1, ~0U, 0);
#else
    (void)first;
    (void)second;
#endif
}

/* On kernels with Landlock, the kernel allows reading below `root` and nothing else. */
static void allow_only(int root)
{
#if defined(SYS_landlock_create_ruleset) && __has_include(<linux/landlock.h>)
    struct landlock_ruleset_attr rules = {.handled_access_fs = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) -
                                                               1}; /* all of the first version */
    struct landlock_path_beneath_attr below = {.allowed_access = LANDLOCK_ACCESS_FS_READ_FILE |
                                                                 LANDLOCK_ACCESS_FS_READ_DIR,
                                               .parent_fd = root};
    int ruleset = (int)syscall(SYS_landlock_create_ruleset, &rules, sizeof(rules), 0);
    if (ruleset >= 0) {
        if (syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &below, 0) == 0) {
            syscall(SYS_landlock_restrict_self, ruleset, 0);
        }
        close(ruleset);
    }
#else
    (void)root;
#endif
}

/* A bug in the process of a connection must not affect other connections. */
static void drop_rights(int socket, int root, pid_t parent)
{
    const struct rlimit none = {0, 0};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(1); /* the server ended before the call above */
    }
    signal(SIGPIPE, SIG_IGN); /* of sendfile() */
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    setrlimit(RLIMIT_CORE, &none); /* the token is in memory */
    setrlimit(RLIMIT_NPROC, &none);
    close_others(socket, root);
    allow_only(root);
}

NO_RETURN static void serve_connection(const struct state_server *server, int socket, int root,
                                       pid_t parent, volatile bool *is_known)
{
    struct state_link link;
    struct err err = {0};
    struct buf name;
    drop_rights(socket, root, parent);
    buf_init(&name, STATE_NAME_LEN_MAX);
    state_link_open(&link, socket, true, server->idle_ms > 0 ? server->idle_ms : IDLE_MS);
    link.deadline_ms = state_now_ms() + (server->hello_ms > 0 ? server->hello_ms : HELLO_MS);
    bool is_served = serve_request(&link, server, root, &name, is_known, &err);
    state_link_close(&link);
    if (!is_served) {
        struct buf shown;
        buf_init(&shown, (size_t)4 * STATE_NAME_LEN_MAX);
        utf8_add_visible(&shown, buf_str(&name), false);
        fprintf(stderr, "cannot send checkpoint \"%.*s\": %s\n", STR_ARG(buf_str(&shown)),
                err.text);
    }
    _exit(is_served ? 0 : 1);
}

/* ---- the server ---- */

struct state_serving {
    const struct state_server *server;
    int root;
    int running;
    pid_t pids[STATE_CONNECTIONS_MAX]; /* 0: unused */
    int64_t since[STATE_CONNECTIONS_MAX];
    volatile bool *is_known; /* shared: the client has proven that it knows the token */
};

/* Clients without the token must not keep those with it out: the oldest one of them ends. */
static void end_stranger(struct state_serving *serving)
{
    int oldest = -1;
    for (int i = 0; i < STATE_CONNECTIONS_MAX; i++) {
        if (serving->pids[i] != 0 && !serving->is_known[i] &&
            (oldest < 0 || serving->since[i] < serving->since[oldest])) {
            oldest = i;
        }
    }
    if (oldest >= 0) {
        kill(serving->pids[oldest], SIGKILL);
    }
}

static void forget_process(struct state_serving *serving, pid_t ended)
{
    for (int i = 0; i < STATE_CONNECTIONS_MAX; i++) {
        if (serving->pids[i] == ended) {
            serving->pids[i] = 0;
            serving->running--;
        }
    }
}

/* Collects processes that have ended; waits for one if the limit is reached and a client waits. */
static void collect(struct state_serving *serving, bool has_client)
{
    if (has_client && serving->running >= STATE_CONNECTIONS_MAX) {
        end_stranger(serving);
    }
    while (serving->running > 0) {
        bool is_full = has_client && serving->running >= STATE_CONNECTIONS_MAX;
        pid_t ended = waitpid(-1, NULL, is_full ? 0 : WNOHANG);
        if (ended > 0) {
            forget_process(serving, ended);
        } else if (ended == 0 || errno != EINTR) {
            serving->running = ended < 0 ? 0 : serving->running; /* ECHILD: none is left */
            return;
        }
    }
}

static void start_connection(struct state_serving *serving, int socket)
{
    pid_t parent = getpid();
    int place = 0;
    while (place < STATE_CONNECTIONS_MAX - 1 && serving->pids[place] != 0) {
        place++;
    }
    serving->is_known[place] = false;
    failpoint("fork", "state", "before");
    pid_t child = fork();
    if (child == 0) {
        serve_connection(serving->server, socket, serving->root, parent, &serving->is_known[place]);
    }
    close(socket);
    if (child > 0) {
        serving->running++;
        serving->pids[place] = child;
        serving->since[place] = state_now_ms();
    } else {
        poll(NULL, 0, PAUSE_MS);
    }
}

/* False if the listener cannot be used any more. */
static bool accept_one(struct state_serving *serving, struct err *err)
{
    struct pollfd watch = {.fd = serving->server->listener, .events = POLLIN};
    int ready = poll(&watch, 1, TURN_MS);
    if (ready <= 0) {
        return ready == 0 || errno == EINTR ||
               err_set(err, ERR_IO, "cannot wait for connections: %s", strerror(errno));
    }
    collect(serving, true);
    int socket = accept4(watch.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (socket >= 0) {
        start_connection(serving, socket);
        return true;
    }
    switch (errno) {
    case EBADF:
    case EINVAL:
    case ENOTSOCK:
    case EOPNOTSUPP:
        return err_set(err, ERR_IO, "cannot accept connections: %s", strerror(errno));
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
        poll(NULL, 0, PAUSE_MS);
        return true;
    default:
        return true; /* the connection was lost before it was accepted */
    }
}

bool state_serve(const struct state_server *server, struct err *err)
{
    struct state_serving serving = {.server = server};
    uint8_t warm[SHA256_BYTES];
    int is_listening = 0;
    socklen_t size = sizeof(is_listening);
    if (getsockopt(server->listener, SOL_SOCKET, SO_ACCEPTCONN, &is_listening, &size) != 0 ||
        !is_listening) {
        return err_set(err, ERR_IO, "descriptor %d is not a listening socket", server->listener);
    }
    if (server->token.len < STATE_TOKEN_LEN_MIN) {
        return err_set(err, ERR_USAGE, "the token must have at least %d characters",
                       STATE_TOKEN_LEN_MIN);
    }
    serving.root = open(server->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (serving.root < 0) {
        return err_set(err, ERR_IO, "cannot open the folder %s: %s", server->root, strerror(errno));
    }
    serving.is_known = mmap(NULL, sizeof(bool) * STATE_CONNECTIONS_MAX, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (serving.is_known == MAP_FAILED) {
        close(serving.root);
        return err_set(err, ERR_IO, "cannot allocate memory: %s", strerror(errno));
    }
    signal(SIGCHLD, SIG_DFL);      /* an ignored one would make waitpid() useless */
    sha256((struct str){0}, warm); /* libcrypto reads its files now: the processes cannot */
    while (accept_one(&serving, err)) {
        collect(&serving, false);
    }
    close(serving.root);
    return false;
}
