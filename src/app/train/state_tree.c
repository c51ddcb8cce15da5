/* state_tree.c: reads trees, writes and parses manifests, computes digests. */
#include "app/train/state_tree.h"

#include "base/encode.h"
#include "base/utf8.h"
#include "io/xalloc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The head of a manifest and of each entry, in bytes. Numbers are big-endian. */
#define MAGIC "shoal-state 1\n"
enum { MAGIC_LEN = sizeof(MAGIC) - 1, HEAD_LEN = MAGIC_LEN + 2 + 4, ENTRY_LEN = 1 + 2 + 8 + 2 };

enum { COMPONENT_LEN_MAX = 255, PERMISSIONS = 0777, OWNER = 0700, SHOWN_MAX = 200 };

/* ---- names ---- */

/* A path in a message: short, without control characters. */
struct shown {
    char text[SHOWN_MAX + 1];
};

static struct shown state_tree_show(struct str path)
{
    struct shown shown = {0};
    AUTO_BUF struct buf visible;
    buf_init(&visible, (size_t)4 * SHOWN_MAX);
    utf8_add_visible(&visible, str_sub(path, 0, SHOWN_MAX), false);
    struct str text = str_sub(buf_str(&visible), 0, SHOWN_MAX);
    memcpy(shown.text, text.ptr, text.len);
    return shown;
}

static bool is_component(struct str name)
{
    if (name.len == 0 || name.len > COMPONENT_LEN_MAX || str_is(name, ".") || str_is(name, "..")) {
        return false;
    }
    for (size_t i = 0; i < name.len; i++) {
        if ((unsigned char)name.ptr[i] < ' ' || name.ptr[i] == 0x7f || name.ptr[i] == '/') {
            return false;
        }
    }
    return true;
}

bool state_name_check(struct str name, struct err *err)
{
    if (is_component(name) && name.ptr[0] != '.' && name.len <= STATE_NAME_LEN_MAX) {
        return true;
    }
    return err_set(err, ERR_USAGE,
                   "\"%s\" is not the name of a checkpoint: it must be one component of a path, "
                   "of 1 to %d characters, that does not begin with a dot",
                   state_tree_show(name).text, STATE_NAME_LEN_MAX);
}

int state_folder_open(int parent, const char *name, struct err *err)
{
    int folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0) {
        err_set(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "cannot open the folder %s: %s",
                state_tree_show(str_from(name)).text, strerror(errno));
    }
    return folder;
}

int state_file_open(int root, struct str path, int flags)
{
    struct str rest = path;
    int folder = root;
    int file = -1;
    do {
        char name[COMPONENT_LEN_MAX + 1];
        struct str component = str_cut(&rest, '/');
        bool is_last = component.ptr + component.len == path.ptr + path.len;
        if (!is_component(component)) {
            errno = EINVAL;
            file = -1;
        } else {
            memcpy(name, component.ptr, component.len);
            name[component.len] = '\0';
            file = openat(folder, name,
                          (is_last ? flags : O_RDONLY | O_DIRECTORY) | O_NOFOLLOW | O_CLOEXEC,
                          0600);
        }
        if (folder != root) {
            int saved = errno;
            close(folder);
            errno = saved;
        }
        folder = file;
        if (is_last) {
            return file;
        }
    } while (file >= 0);
    return -1;
}

/* ---- links ---- */

bool state_link_is_inside(struct str path, struct str target)
{
    int64_t depth = 0;
    for (size_t i = 0; i < path.len; i++) {
        depth += path.ptr[i] == '/';
    }
    bool is_inside = target.len > 0 && target.len <= STATE_PATH_LEN_MAX && target.ptr[0] != '/' &&
                     !memchr(target.ptr, '\0', target.len);
    bool is_down = false; /* ".." after a name could pass through another link */
    while (is_inside && target.len > 0) {
        struct str name = str_cut(&target, '/');
        bool is_up = str_is(name, "..");
        depth -= is_up;
        is_inside = depth >= 0 && !(is_up && is_down);
        is_down = is_down || !is_up;
    }
    return is_inside;
}

static bool link_is_safe(int folder, struct str path, struct str name)
{
    char target[STATE_PATH_LEN_MAX + 1];
    ssize_t length = readlinkat(folder, name.ptr, target, sizeof(target));
    return length > 0 && state_link_is_inside(path, (struct str){target, (size_t)length});
}

/* ---- reading a tree ---- */

struct walk {
    struct arena *arena;
    struct state_manifest manifest;
    struct state_entry *entries;
    size_t capacity;
    size_t path_bytes;
};

static bool walk_folder(struct walk *walk, int folder, struct str path, int depth, struct err *err);

static bool check_limits(const struct state_manifest *manifest, size_t path_bytes, struct err *err)
{
    if (manifest->count > STATE_FILES_MAX || manifest->bytes > STATE_BYTES_MAX ||
        path_bytes + manifest->count * ENTRY_LEN > STATE_MANIFEST_BYTES_MAX - HEAD_LEN) {
        return err_set(err, ERR_PROTOCOL,
                       "the checkpoint has more than %d files or %lld GB: too large to send",
                       STATE_FILES_MAX, (long long)(STATE_BYTES_MAX >> 30));
    }
    return true;
}

static bool walk_entry(struct walk *walk, int folder, struct str parent, struct str name, int depth,
                       struct err *err)
{
    struct stat status;
    struct str path = parent.len == 0
                          ? name
                          : arena_printf(walk->arena, "%.*s/%.*s", STR_ARG(parent), STR_ARG(name));
    struct shown shown = state_tree_show(path);
    if (!is_component(name) || path.len > STATE_PATH_LEN_MAX) {
        return err_set(err, ERR_PROTOCOL, "the name of %s has control characters or is too long",
                       shown.text);
    }
    if (fstatat(folder, name.ptr, &status, AT_SYMLINK_NOFOLLOW) != 0) {
        return err_set(err, ERR_PROTOCOL, "%s changed while it was read: %s", shown.text,
                       strerror(errno));
    }
    bool is_link = S_ISLNK(status.st_mode);
    if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode) && !is_link) {
        return err_set(err, ERR_PROTOCOL,
                       "%s is a special file; a checkpoint may have only files and folders",
                       shown.text);
    }
    if (is_link && !link_is_safe(folder, path, name)) {
        return err_set(err, ERR_PROTOCOL,
                       "%s is a symbolic link that leaves the directory; replace it with a copy",
                       shown.text);
    }
    bool is_folder = S_ISDIR(status.st_mode);
    struct state_entry entry = {path, is_folder, is_link,
                                (status.st_mode & PERMISSIONS) | (is_folder ? OWNER : 0),
                                is_folder ? 0 : status.st_size};
    ARENA_PUSH(walk->arena, walk->entries, walk->manifest.count, walk->capacity) = entry;
    walk->path_bytes += path.len;
    walk->manifest.files += !is_folder;
    walk->manifest.bytes += entry.size > STATE_BYTES_MAX ? STATE_BYTES_MAX + 1 : entry.size;
    if (!check_limits(&walk->manifest, walk->path_bytes, err)) {
        return false;
    }
    if (!is_folder) {
        return true;
    }
    int child = state_folder_open(folder, name.ptr, err);
    return child >= 0 && walk_folder(walk, child, path, depth + 1, err);
}

static int compare_names(const void *a, const void *b)
{
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

static bool list_names(struct walk *walk, DIR *listing, struct str **ret_names, size_t *ret_count,
                       struct err *err)
{
    struct str *names = NULL;
    size_t count = 0;
    size_t capacity = 0;
    const struct dirent *found;
    errno = 0;
    while ((found = readdir(listing)) != NULL) {
        struct str name = str_from(found->d_name);
        if (str_is(name, ".") || str_is(name, "..")) {
            continue;
        }
        if (count >= STATE_FILES_MAX) {
            return err_set(err, ERR_PROTOCOL, "the checkpoint has more than %d files",
                           STATE_FILES_MAX);
        }
        struct str copy = arena_str(walk->arena, name);
        ARENA_PUSH(walk->arena, names, count, capacity) = copy;
    }
    if (errno != 0) {
        return err_set(err, ERR_IO, "cannot list a folder of the checkpoint: %s", strerror(errno));
    }
    if (count > 0) {
        qsort(names, count, sizeof(*names), compare_names);
    }
    *ret_names = names;
    *ret_count = count;
    return true;
}

/* Closes `folder`. The depth is bounded, and so is the recursion. */
static bool walk_folder(struct walk *walk, int folder, struct str path, int depth, struct err *err)
{
    struct str *names;
    size_t count;
    bool is_read = false;
    DIR *listing = depth <= STATE_DEPTH_MAX ? fdopendir(folder) : NULL;
    if (!listing) {
        close(folder);
        return err_set(err, ERR_PROTOCOL, "cannot list %s: %s", state_tree_show(path).text,
                       depth <= STATE_DEPTH_MAX ? strerror(errno)
                                                : "folders are nested too deeply");
    }
    if (list_names(walk, listing, &names, &count, err)) {
        is_read = true;
        for (size_t i = 0; is_read && i < count; i++) {
            is_read = walk_entry(walk, dirfd(listing), path, names[i], depth, err);
        }
    }
    closedir(listing);
    return is_read;
}

bool state_tree_walk(int root, struct arena *arena, struct state_manifest *ret_manifest,
                     struct err *err)
{
    struct stat status;
    struct walk walk = {.arena = arena};
    int folder = openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0 || fstat(root, &status) != 0) {
        return err_set(err, ERR_IO, "cannot read the checkpoint: %s", strerror(errno));
    }
    walk.manifest.mode = (status.st_mode & PERMISSIONS) | OWNER;
    if (!walk_folder(&walk, folder, (struct str){0}, 0, err)) {
        return false;
    }
    walk.manifest.entries = walk.entries;
    *ret_manifest = walk.manifest;
    return true;
}

/* ---- the text of a manifest ---- */

static void put_number(struct buf *out, uint64_t number, int bytes)
{
    for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) {
        buf_add_char(out, (char)(number >> shift & 0xff));
    }
}

void state_manifest_add(struct buf *out, const struct state_manifest *manifest)
{
    buf_add(out, STR(MAGIC));
    put_number(out, manifest->mode, 2);
    put_number(out, manifest->count, 4);
    for (size_t i = 0; i < manifest->count; i++) {
        const struct state_entry *entry = &manifest->entries[i];
        buf_add_char(out, entry->is_folder ? 'd' : entry->is_link ? 'l' : 'f');
        put_number(out, entry->mode, 2);
        put_number(out, (uint64_t)entry->size, 8);
        put_number(out, entry->path.len, 2);
        buf_add(out, entry->path);
    }
}

/* The caller has checked that there are enough bytes. */
static uint64_t take_number(struct str *rest, size_t bytes)
{
    uint64_t number = 0;
    for (size_t i = 0; i < bytes; i++) {
        number = number << 8 | (unsigned char)rest->ptr[i];
    }
    *rest = str_sub(*rest, bytes, rest->len);
    return number;
}

/* The order of a walk: as bytes, but with '/' before all others. */
static int compare_paths(struct str a, struct str b)
{
    size_t shorter = a.len < b.len ? a.len : b.len;
    for (size_t i = 0; i < shorter; i++) {
        int left = a.ptr[i] == '/' ? 0 : (unsigned char)a.ptr[i];
        int right = b.ptr[i] == '/' ? 0 : (unsigned char)b.ptr[i];
        if (left != right) {
            return left - right;
        }
    }
    return a.len < b.len ? -1 : a.len > b.len;
}

/* The folders above the current entry. */
struct stack {
    struct str paths[STATE_DEPTH_MAX];
    int depth;
};

static bool has_parent(struct stack *stack, struct str path)
{
    size_t slash = path.len;
    while (slash > 0 && path.ptr[slash - 1] != '/') {
        slash--;
    }
    struct str parent = str_sub(path, 0, slash > 0 ? slash - 1 : 0);
    while (stack->depth > 0 && !str_eq(stack->paths[stack->depth - 1], parent)) {
        stack->depth--;
    }
    return slash == 0 || stack->depth > 0;
}

static bool is_path(struct str path)
{
    struct str rest = path;
    while (rest.len > 0) {
        struct str component = str_cut(&rest, '/');
        if (!is_component(component)) {
            return false;
        }
    }
    return path.len > 0 && path.len <= STATE_PATH_LEN_MAX && path.ptr[path.len - 1] != '/';
}

static bool parse_entry(struct str *rest, struct arena *arena, struct stack *stack,
                        struct state_entry *ret_entry)
{
    if (rest->len < ENTRY_LEN) {
        return false;
    }
    char kind = rest->ptr[0];
    *rest = str_sub(*rest, 1, rest->len);
    uint64_t mode = take_number(rest, 2);
    uint64_t size = take_number(rest, 8);
    uint64_t len = take_number(rest, 2);
    struct str path = str_sub(*rest, 0, len);
    bool is_folder = kind == 'd';
    bool is_valid = path.len == len && is_path(path) &&
                    (kind == 'f' || kind == 'd' || kind == 'l') && mode <= PERMISSIONS &&
                    size <= STATE_BYTES_MAX && has_parent(stack, path) &&
                    (!is_folder || (size == 0 && (mode & OWNER) == OWNER)) &&
                    (kind != 'l' || (size > 0 && size <= STATE_PATH_LEN_MAX));
    if (!is_valid || (is_folder && stack->depth == STATE_DEPTH_MAX)) {
        return false;
    }
    *rest = str_sub(*rest, len, rest->len);
    *ret_entry = (struct state_entry){arena_str(arena, path), is_folder, kind == 'l',
                                      (uint32_t)mode, (int64_t)size};
    if (is_folder) {
        stack->paths[stack->depth++] = ret_entry->path;
    }
    return true;
}

bool state_manifest_parse(struct str bytes, struct arena *arena,
                          struct state_manifest *ret_manifest, struct err *err)
{
    struct state_manifest manifest = {0};
    struct stack stack = {.depth = 0};
    struct str rest = bytes;
    if (bytes.len < HEAD_LEN || bytes.len > STATE_MANIFEST_BYTES_MAX || !str_starts(bytes, MAGIC)) {
        return err_set(err, ERR_PROTOCOL, "the list of files is not one of this release");
    }
    rest = str_sub(rest, MAGIC_LEN, rest.len);
    manifest.mode = (uint32_t)take_number(&rest, 2);
    manifest.count = take_number(&rest, 4);
    if (manifest.mode > PERMISSIONS || (manifest.mode & OWNER) != OWNER ||
        manifest.count > STATE_FILES_MAX || manifest.count > rest.len / ENTRY_LEN) {
        return err_set(err, ERR_PROTOCOL, "the list of files has an invalid header");
    }
    struct state_entry *entries = ARENA_ARRAY(arena, manifest.count, struct state_entry);
    for (size_t i = 0; i < manifest.count; i++) {
        if (!parse_entry(&rest, arena, &stack, &entries[i]) ||
            (i > 0 && compare_paths(entries[i - 1].path, entries[i].path) >= 0)) {
            return err_set(err, ERR_PROTOCOL, "file %zu of the list is not valid", i + 1);
        }
        manifest.files += !entries[i].is_folder;
        manifest.bytes += entries[i].size;
        if (manifest.bytes > STATE_BYTES_MAX) {
            return err_set(err, ERR_PROTOCOL, "the list of files has too many bytes");
        }
    }
    if (rest.len > 0) {
        return err_set(err, ERR_PROTOCOL, "the list of files has bytes after its end");
    }
    manifest.entries = entries;
    *ret_manifest = manifest;
    return true;
}

/* ---- contents ---- */

bool state_piece_read(int file, const struct state_entry *entry, int64_t offset, char *ret_bytes,
                      size_t size, struct err *err)
{
    size_t done = 0;
    while (done < size) {
        ssize_t got = pread(file, ret_bytes + done, size - done, offset + (int64_t)done);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return err_set(err, ERR_PROTOCOL, "%s %s", state_tree_show(entry->path).text,
                           got < 0 ? strerror(errno) : "became shorter while it was read");
        }
        done += (size_t)got;
    }
    return true;
}

bool state_link_read_target(int root, const struct state_entry *entry,
                            char ret_target[STATE_PATH_LEN_MAX + 1], struct err *err)
{
    size_t slash = entry->path.len;
    while (slash > 0 && entry->path.ptr[slash - 1] != '/') {
        slash--;
    }
    int parent = slash == 0 ? root
                            : state_file_open(root, str_sub(entry->path, 0, slash - 1),
                                              O_RDONLY | O_DIRECTORY);
    ssize_t length = parent >= 0 ? readlinkat(parent, entry->path.ptr + slash, ret_target,
                                              STATE_PATH_LEN_MAX + 1)
                                 : -1;
    if (parent >= 0 && parent != root) {
        close(parent);
    }
    if (length != entry->size) {
        return err_set(err, ERR_PROTOCOL, "%s changed while it was read",
                       state_tree_show(entry->path).text);
    }
    ret_target[length] = '\0';
    return true;
}

static bool digest_link(int root, const struct state_entry *entry, struct sha256_state *digest,
                        struct err *err)
{
    char target[STATE_PATH_LEN_MAX + 1];
    if (!state_link_read_target(root, entry, target, err)) {
        return false;
    }
    sha256_add(digest, str_from(target));
    return true;
}

static bool digest_file(int root, const struct state_entry *entry, struct sha256_state *digest,
                        char *piece, state_tick_fn *tick, void *context, struct err *err)
{
    struct stat status;
    bool is_read = true;
    int file = state_file_open(root, entry->path, O_RDONLY | O_NONBLOCK);
    if (file < 0 || fstat(file, &status) != 0 || !S_ISREG(status.st_mode) ||
        status.st_size != entry->size) {
        is_read = err_set(err, ERR_PROTOCOL, "%s changed while it was read",
                          state_tree_show(entry->path).text);
    }
    for (int64_t done = 0; is_read && done < entry->size;) {
        int64_t left = entry->size - done;
        size_t size = left < STATE_PIECE_BYTES ? (size_t)left : STATE_PIECE_BYTES;
        is_read = state_piece_read(file, entry, done, piece, size, err) &&
                  (!tick || tick(context, err));
        if (is_read) {
            sha256_add(digest, (struct str){piece, size});
        }
        done += (int64_t)size;
    }
    if (file >= 0) {
        close(file);
    }
    return is_read;
}

bool state_tree_digest(int root, const struct state_manifest *manifest, state_tick_fn *tick,
                       void *context, uint8_t ret_digest[SHA256_BYTES], struct err *err)
{
    AUTO_BUF struct buf text;
    buf_init(&text, STATE_MANIFEST_BYTES_MAX);
    state_manifest_add(&text, manifest);
    char *piece = heap_zeroed(STATE_PIECE_BYTES);
    struct sha256_state *digest = sha256_begin();
    bool is_read = true;
    sha256_add(digest, buf_str(&text));
    for (size_t i = 0; is_read && i < manifest->count; i++) {
        const struct state_entry *entry = &manifest->entries[i];
        is_read = entry->is_folder ||
                  (entry->is_link ? digest_link(root, entry, digest, err)
                                  : digest_file(root, entry, digest, piece, tick, context, err));
    }
    sha256_end(digest, is_read ? ret_digest : NULL);
    free(piece);
    return is_read;
}

bool state_digest(const char *folder, const char *name, char ret_digest[STATE_DIGEST_SIZE],
                  struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct state_manifest manifest;
    uint8_t digest[SHA256_BYTES];
    if (!state_name_check(str_from(name), err)) {
        return false;
    }
    int parent = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (parent < 0) {
        return err_set(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO,
                       "cannot open the folder %s: %s", folder, strerror(errno));
    }
    int root = state_folder_open(parent, name, err);
    close(parent);
    if (root < 0) {
        return false;
    }
    bool is_read = state_tree_walk(root, &arena, &manifest, err) &&
                   state_tree_digest(root, &manifest, NULL, NULL, digest, err);
    close(root);
    if (is_read) {
        encode_hex_to(ret_digest, digest, SHA256_BYTES);
    }
    return is_read;
}
