/* state_fetch.c: the client: receives a checkpoint under another name, verifies and renames it. */
#include "app/train/state_transfer.h"
#include "app/train/state_tree.h"
#include "app/train/state_wire.h"
#include "base/encode.h"
#include "io/failpoint.h"
#include "io/file.h"
#include "io/xalloc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    CONNECT_MS = 10 * 1000,
    IDLE_MS = 60 * 1000,
    TOTAL_MS = 60 * 60 * 1000,
    ATTEMPTS = 5, /* to create the folder: another fetch may think that its process is dead */
    TEMP_SIZE = 8 + STATE_NAME_LEN_MAX + 16
};

#define TEMP_PREFIX ".fetch-"

struct fetch {
    const struct state_source *source;
    const char *folder_path, *name;
    int folder;           /* where checkpoints are */
    char temp[TEMP_SIZE]; /* name in `folder` while it is received; empty if there is none */
    int root;             /* of the new one; holds its lock */
    struct state_link link;
    struct arena arena;
    struct state_manifest manifest;
    struct sha256_state *digest;
};

/* ---- connecting ---- */

static bool wait_connected(int socket, int64_t until)
{
    struct pollfd watch = {.fd = socket, .events = POLLOUT};
    int error = ETIMEDOUT;
    socklen_t size = sizeof(error);
    while (true) {
        int64_t left = until - state_now_ms();
        int ready = left > 0 ? poll(&watch, 1, (int)left) : 0;
        if (ready > 0) {
            getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size);
            errno = error;
            return error == 0;
        }
        if (ready == 0 || errno != EINTR) {
            errno = ready == 0 ? ETIMEDOUT : errno;
            return false;
        }
    }
}

/* -1 and errno on failure. */
static int connect_to(const struct addrinfo *address, int64_t until)
{
    int made = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (made < 0) {
        return -1;
    }
    if (connect(made, address->ai_addr, address->ai_addrlen) == 0 ||
        (errno == EINPROGRESS && wait_connected(made, until))) {
        return made;
    }
    int saved = errno;
    close(made);
    errno = saved;
    return -1;
}

static int connect_source(const struct state_source *source, struct err *err)
{
    char port[8];
    struct addrinfo *found;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    int made = -1;
    snprintf(port, sizeof(port), "%u", (unsigned)source->port);
    int code = getaddrinfo(source->host, port, &hints, &found);
    if (code != 0) {
        err_set(err, ERR_UNAVAILABLE, "%s has no address: %s", source->host, gai_strerror(code));
        return -1;
    }
    int64_t until = state_now_ms() + (source->connect_ms > 0 ? source->connect_ms : CONNECT_MS);
    for (const struct addrinfo *one = found; one && made < 0; one = one->ai_next) {
        made = connect_to(one, until);
    }
    freeaddrinfo(found);
    if (made < 0) {
        err_set(err, ERR_UNAVAILABLE, "no connection: %s", strerror(errno));
    }
    return made;
}

/* ---- the folder while it is received ---- */

static void remove_below(const struct fetch *fetch, const char *name)
{
    char path[4200];
    struct err ignored;
    int len = snprintf(path, sizeof(path), "%s/%s", fetch->folder_path, name);
    if (len < (int)sizeof(path) && !file_remove_folder(path, &ignored)) {
        return; /* the next fetch tries again */
    }
}

/* A fetch holds the lock of its folder as long as it lives. */
static bool is_abandoned(int parent, const char *name)
{
    int folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0) {
        return false;
    }
    bool is_free = flock(folder, LOCK_EX | LOCK_NB) == 0;
    close(folder);
    return is_free;
}

static void remove_leftovers(const struct fetch *fetch)
{
    int again = openat(fetch->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *listing = again >= 0 ? fdopendir(again) : NULL;
    const struct dirent *found;
    while (listing && (found = readdir(listing)) != NULL) {
        if (str_starts(str_from(found->d_name), TEMP_PREFIX) &&
            is_abandoned(fetch->folder, found->d_name)) {
            remove_below(fetch, found->d_name);
        }
    }
    if (listing) {
        closedir(listing);
    }
}

static bool make_temp(struct fetch *fetch, struct err *err)
{
    struct stat status;
    remove_leftovers(fetch);
    for (int i = 0; i < ATTEMPTS; i++) {
        snprintf(fetch->temp, sizeof(fetch->temp), TEMP_PREFIX "%s-%d", fetch->name, (int)getpid());
        if (mkdirat(fetch->folder, fetch->temp, 0700) != 0) {
            err_set(err, ERR_IO, "cannot create %s/%s: %s", fetch->folder_path, fetch->temp,
                    strerror(errno));
            fetch->temp[0] = '\0';
            return false;
        }
        fetch->root = openat(fetch->folder, fetch->temp,
                             O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fetch->root >= 0 && flock(fetch->root, LOCK_EX) == 0 &&
            fstat(fetch->root, &status) == 0 && status.st_nlink > 0) {
            return true;
        }
        if (fetch->root >= 0) {
            close(fetch->root);
            fetch->root = -1;
        }
    }
    return err_set(err, ERR_IO, "cannot lock %s/%s", fetch->folder_path, fetch->temp);
}

/* ---- receiving ---- */

static bool io_failed(const struct fetch *fetch, const struct state_entry *entry, struct err *err)
{
    return err_set(err, ERR_IO, "cannot write %.*s below %s: %s",
                   STR_ARG(str_sub(entry->path, 0, 200)), fetch->folder_path, strerror(errno));
}

static bool write_all(int file, struct str bytes)
{
    while (bytes.len > 0) {
        ssize_t written = write(file, bytes.ptr, bytes.len);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            return false;
        }
        bytes = str_sub(bytes, (size_t)written, bytes.len);
    }
    return true;
}

/* The source announces an error instead of a piece. */
static bool receive_trouble(struct fetch *fetch, struct err *err)
{
    AUTO_BUF struct buf body;
    enum state_kind kind;
    buf_init(&body, 1024);
    return state_message_receive(&fetch->link, &kind, &body, err)
               ? err_set(err, ERR_PROTOCOL, "the source sent an invalid piece")
               : err_failed();
}

static bool receive_piece(struct fetch *fetch, const struct state_entry *entry, int file,
                          int64_t left, int64_t *ret_size, struct err *err)
{
    uint8_t head[STATE_PIECE_HEAD];
    struct str got;
    if (!state_link_read(&fetch->link, head, sizeof(head), err)) {
        return false;
    }
    uint32_t size = state_get_length(head);
    if (size == 0) {
        return receive_trouble(fetch, err);
    }
    if (size > STATE_PIECE_BYTES || size > left) {
        return err_set(err, ERR_PROTOCOL, "the source sent a piece of %u bytes", (unsigned)size);
    }
    for (size_t rest = size; rest > 0; rest -= got.len) {
        if (!state_link_take(&fetch->link, rest, &got, err)) {
            return false;
        }
        sha256_add(fetch->digest, got);
        if (!write_all(file, got)) {
            return io_failed(fetch, entry, err);
        }
    }
    *ret_size = size;
    return true;
}

static bool receive_file(struct fetch *fetch, const struct state_entry *entry, struct err *err)
{
    int file = state_file_open(fetch->root, entry->path, O_WRONLY | O_CREAT | O_EXCL);
    bool is_received = file >= 0 || io_failed(fetch, entry, err);
    for (int64_t done = 0; is_received && done < entry->size;) {
        int64_t size = 0;
        is_received = receive_piece(fetch, entry, file, entry->size - done, &size, err);
        done += size;
    }
    if (is_received &&
        (fchmod(file, entry->mode) != 0 || (fetch->source->is_durable && fsync(file) != 0))) {
        is_received = io_failed(fetch, entry, err);
    }
    if (file >= 0 && close(file) != 0 && is_received) {
        is_received = io_failed(fetch, entry, err);
    }
    return is_received;
}

/* The folder of an entry, opened without following links. `ret_name` is the last component.
 * -1 and errno on failure. */
static int open_parent(struct fetch *fetch, const struct state_entry *entry, const char **ret_name)
{
    size_t slash = entry->path.len;
    while (slash > 0 && entry->path.ptr[slash - 1] != '/') {
        slash--;
    }
    *ret_name = entry->path.ptr + slash;
    return slash == 0 ? dup(fetch->root)
                      : state_file_open(fetch->root, str_sub(entry->path, 0, slash - 1),
                                        O_RDONLY | O_DIRECTORY);
}

static bool make_folder(struct fetch *fetch, const struct state_entry *entry, struct err *err)
{
    const char *name;
    int parent = open_parent(fetch, entry, &name);
    bool is_made = (parent >= 0 && mkdirat(parent, name, 0700) == 0) ||
                   io_failed(fetch, entry, err);
    if (parent >= 0) {
        close(parent);
    }
    return is_made;
}

/* The target is one piece. One that leaves the tree is refused, whatever the source says. */
static bool receive_link(struct fetch *fetch, const struct state_entry *entry, struct err *err)
{
    char target[STATE_PATH_LEN_MAX + 1];
    uint8_t head[STATE_PIECE_HEAD];
    const char *name;
    if (!state_link_read(&fetch->link, head, sizeof(head), err)) {
        return false;
    }
    uint32_t size = state_get_length(head);
    if (size == 0) {
        return receive_trouble(fetch, err);
    }
    if (size != entry->size || size > STATE_PATH_LEN_MAX) {
        return err_set(err, ERR_PROTOCOL, "the source sent a piece of %u bytes", (unsigned)size);
    }
    if (!state_link_read(&fetch->link, target, size, err)) {
        return false;
    }
    target[size] = '\0';
    sha256_add(fetch->digest, (struct str){target, size});
    if (!state_link_is_inside(entry->path, (struct str){target, size})) {
        return err_set(err, ERR_PROTOCOL, "the source sent a link that leaves the directory");
    }
    int parent = open_parent(fetch, entry, &name);
    bool is_made = (parent >= 0 && symlinkat(target, parent, name) == 0) ||
                   io_failed(fetch, entry, err);
    if (parent >= 0) {
        close(parent);
    }
    return is_made;
}

/* Permissions, from the inside out, when nothing more is created in them. */
static bool finish_folders(struct fetch *fetch, struct err *err)
{
    for (size_t i = fetch->manifest.count; i-- > 0;) {
        const struct state_entry *entry = &fetch->manifest.entries[i];
        int folder = entry->is_folder
                         ? state_file_open(fetch->root, entry->path, O_RDONLY | O_DIRECTORY)
                         : -1;
        bool is_done = !entry->is_folder || (folder >= 0 && fchmod(folder, entry->mode) == 0 &&
                                             (!fetch->source->is_durable || fsync(folder) == 0));
        is_done = is_done || io_failed(fetch, entry, err);
        if (folder >= 0) {
            close(folder);
        }
        if (!is_done) {
            return false;
        }
    }
    struct state_entry root = {.path = str_from(fetch->name)};
    return (fchmod(fetch->root, fetch->manifest.mode) == 0 &&
            (!fetch->source->is_durable || fsync(fetch->root) == 0)) ||
           io_failed(fetch, &root, err);
}

static bool check_end(struct fetch *fetch, uint8_t ret_digest[SHA256_BYTES], struct err *err)
{
    AUTO_BUF struct buf body;
    enum state_kind kind;
    buf_init(&body, 1024);
    sha256_end(fetch->digest, ret_digest);
    fetch->digest = NULL;
    if (!state_message_receive(&fetch->link, &kind, &body, err)) {
        return false;
    }
    if (kind != STATE_DONE || body.len != SHA256_BYTES ||
        !sha256_equal((const uint8_t *)body.ptr, ret_digest)) {
        return err_set(err, ERR_PROTOCOL, "the data was changed in transit, or while it was sent");
    }
    return true;
}

static bool receive_contents(struct fetch *fetch, struct str manifest,
                             uint8_t ret_digest[SHA256_BYTES], struct err *err)
{
    if (!make_temp(fetch, err)) {
        return false;
    }
    fetch->digest = sha256_begin();
    sha256_add(fetch->digest, manifest);
    for (size_t i = 0; i < fetch->manifest.count; i++) {
        const struct state_entry *entry = &fetch->manifest.entries[i];
        if (!(entry->is_folder ? make_folder(fetch, entry, err)
              : entry->is_link ? receive_link(fetch, entry, err)
                               : receive_file(fetch, entry, err))) {
            return false;
        }
    }
    return check_end(fetch, ret_digest, err) && finish_folders(fetch, err);
}

/* ---- what is there already ---- */

/* Whether `folder`/`name` has the same files with the same sizes, and its digest. If
 * not, or if it cannot be read, it is received again. */
static bool has_local(struct fetch *fetch, struct str manifest, uint8_t ret_digest[SHA256_BYTES])
{
    AUTO_BUF struct buf text;
    struct state_manifest local;
    struct err ignored;
    buf_init(&text, STATE_MANIFEST_BYTES_MAX);
    int root = state_folder_open(fetch->folder, fetch->name, &ignored);
    if (root < 0) {
        return false;
    }
    bool is_equal = state_tree_walk(root, &fetch->arena, &local, &ignored);
    if (is_equal) {
        state_manifest_add(&text, &local);
        is_equal = str_eq(buf_str(&text), manifest) &&
                   state_tree_digest(root, &local, state_message_wait, &fetch->link, ret_digest,
                                     &ignored);
    }
    close(root);
    return is_equal;
}

/* Sends what to do, and returns whether the source has the same. */
static bool compare(struct fetch *fetch, struct str manifest, uint8_t ret_digest[SHA256_BYTES],
                    bool *ret_is_same, struct err *err)
{
    AUTO_BUF struct buf body;
    enum state_kind kind;
    buf_init(&body, 1024);
    bool is_there = has_local(fetch, manifest, ret_digest);
    struct str own = {(const char *)ret_digest, is_there ? SHA256_BYTES : 0};
    if (!state_message_send(&fetch->link, is_there ? STATE_COMPARE : STATE_SEND, own, err) ||
        !state_message_receive(&fetch->link, &kind, &body, err)) {
        return false;
    }
    *ret_is_same = is_there && kind == STATE_SAME && str_eq(buf_str(&body), own);
    return *ret_is_same || kind == STATE_CONTENTS ||
           err_set(err, ERR_PROTOCOL, "the source sent an unexpected message");
}

/* ---- the rename ---- */

/* If the file system cannot exchange two folders, for a moment neither exists. */
static bool replace(struct fetch *fetch)
{
    enum { EXCHANGE = 2 };
    char old[TEMP_SIZE + 8];
    if (syscall(SYS_renameat2, fetch->folder, fetch->temp, fetch->folder, fetch->name, EXCHANGE) ==
        0) { /* musl has no function for it */
        return true;
    }
    if (errno != EINVAL && errno != ENOSYS) {
        return false;
    }
    snprintf(old, sizeof(old), "%s.old", fetch->temp);
    failpoint("file", fetch->name, "before");
    if (renameat(fetch->folder, fetch->name, fetch->folder, old) != 0 ||
        renameat(fetch->folder, fetch->temp, fetch->folder, fetch->name) != 0) {
        return false;
    }
    remove_below(fetch, old);
    return true;
}

static bool install(struct fetch *fetch, struct err *err)
{
    struct stat status;
    bool is_new = fstatat(fetch->folder, fetch->name, &status, AT_SYMLINK_NOFOLLOW) != 0;
    if (!is_new && !S_ISDIR(status.st_mode)) {
        return err_set(err, ERR_EXISTS, "%s/%s is not a folder; remove it", fetch->folder_path,
                       fetch->name);
    }
    failpoint("file", fetch->name, "before");
    if (!(is_new ? renameat(fetch->folder, fetch->temp, fetch->folder, fetch->name) == 0
                 : replace(fetch)) ||
        (fetch->source->is_durable && fsync(fetch->folder) != 0)) {
        return err_set(err, ERR_IO, "cannot rename the received checkpoint to %s/%s: %s",
                       fetch->folder_path, fetch->name, strerror(errno));
    }
    if (is_new) {
        fetch->temp[0] = '\0'; /* otherwise it has the old one now */
    }
    return true;
}

/* ---- all of it ---- */

static bool run_session(struct fetch *fetch, struct state_fetched *fetched, struct err *err)
{
    AUTO_BUF struct buf manifest;
    enum state_kind kind;
    uint8_t digest[SHA256_BYTES];
    buf_init(&manifest, STATE_MANIFEST_BYTES_MAX);
    if (!state_link_greet(&fetch->link, fetch->source->token, err) ||
        !state_message_send(&fetch->link, STATE_REQUEST, str_from(fetch->name), err) ||
        !state_message_receive(&fetch->link, &kind, &manifest, err)) {
        return false;
    }
    if (kind != STATE_MANIFEST) {
        return err_set(err, ERR_PROTOCOL, "the source sent no list of files");
    }
    if (!state_manifest_parse(buf_str(&manifest), &fetch->arena, &fetch->manifest, err) ||
        !compare(fetch, buf_str(&manifest), digest, &fetched->was_there, err)) {
        return false;
    }
    if (!fetched->was_there &&
        (!receive_contents(fetch, buf_str(&manifest), digest, err) || !install(fetch, err))) {
        return false;
    }
    fetched->bytes = fetch->manifest.bytes;
    fetched->files = fetch->manifest.files;
    encode_hex_to(fetched->digest, digest, SHA256_BYTES);
    return true;
}

static bool run_fetch(struct fetch *fetch, struct state_fetched *fetched, struct err *err)
{
    const struct state_source *source = fetch->source;
    int64_t start = state_now_ms();
    int connected = connect_source(source, err);
    if (connected < 0) {
        return false;
    }
    state_link_open(&fetch->link, connected, false,
                    source->idle_ms > 0 ? source->idle_ms : IDLE_MS);
    fetch->link.deadline_ms = start + (source->total_ms > 0 ? source->total_ms : TOTAL_MS);
    arena_init(&fetch->arena);
    bool is_fetched = run_session(fetch, fetched, err);
    sha256_end(fetch->digest, NULL);
    if (fetch->temp[0] != '\0') {
        remove_below(fetch, fetch->temp);
    }
    if (fetch->root >= 0) {
        close(fetch->root);
    }
    arena_clear(&fetch->arena);
    state_link_close(&fetch->link);
    fetched->seconds = (double)(state_now_ms() - start) / 1000;
    return is_fetched;
}

bool state_fetch(const struct state_source *source, const char *folder, const char *name,
                 struct state_fetched *ret, struct err *err)
{
    struct fetch fetch = {.source = source, .folder_path = folder, .name = name, .root = -1};
    struct state_fetched fetched = {0};
    if (!state_name_check(str_from(name), err)) {
        return false;
    }
    if (source->token.len < STATE_TOKEN_LEN_MIN) {
        return err_set(err, ERR_USAGE, "the token must have at least %d characters",
                       STATE_TOKEN_LEN_MIN);
    }
    fetch.folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fetch.folder < 0) {
        return err_set(err, ERR_IO, "cannot open the folder %s: %s", folder, strerror(errno));
    }
    bool is_fetched = run_fetch(&fetch, &fetched, err);
    close(fetch.folder);
    if (!is_fetched) {
        return err_wrap(err, "checkpoint %s from %s:%u", name, source->host,
                        (unsigned)source->port);
    }
    *ret = fetched;
    return true;
}
