/* hash.c: SHA-256 over Python's JSON, and over file contents in the order of Python's os.walk(). */
#include "config/hash.h"

#include "base/buf.h"
#include "base/panic.h"
#include "base/utf8.h"
#include "config/document/json_write.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

enum { JSON_BYTES_MAX = 64 * 1024 * 1024, KEY_BYTES_MAX = 1024 * 1024, DIGEST_BYTES = 32 };

/* ---- the digest ---- */

struct digest {
    EVP_MD_CTX *state;
};

static void digest_start(struct digest *digest)
{
    digest->state = EVP_MD_CTX_new();
    if (!digest->state || !EVP_DigestInit_ex(digest->state, EVP_sha256(), NULL)) {
        panic("SHA-256 is not available");
    }
}

static void digest_add(struct digest *digest, struct str bytes)
{
    if (!EVP_DigestUpdate(digest->state, bytes.ptr, bytes.len)) {
        panic("SHA-256 failed");
    }
}

static void digest_drop(struct digest *digest)
{
    EVP_MD_CTX_free(digest->state);
    digest->state = NULL;
}

static struct str base32hex(struct arena *arena, const unsigned char bytes[DIGEST_BYTES])
{
    static const char alphabet[] = "0123456789abcdefghijklmnopqrstuv";
    enum { DIGIT_COUNT = (DIGEST_BYTES * 8 + 4) / 5 };
    char *text = arena_alloc(arena, DIGIT_COUNT + 1);
    for (size_t i = 0; i < DIGIT_COUNT; i++) {
        size_t byte = i * 5 / 8;
        unsigned next = byte + 1 < DIGEST_BYTES ? bytes[byte + 1] : 0;
        unsigned pair = (unsigned)bytes[byte] << 8 | next;
        text[i] = alphabet[pair >> (11 - i * 5 % 8) & 31];
    }
    return (struct str){text, DIGIT_COUNT};
}

/* The digest so far; more may be added. */
static struct str digest_text(struct arena *arena, const struct digest *digest)
{
    unsigned char bytes[EVP_MAX_MD_SIZE];
    EVP_MD_CTX *copy = EVP_MD_CTX_new();
    if (!copy || !EVP_MD_CTX_copy_ex(copy, digest->state) ||
        !EVP_DigestFinal_ex(copy, bytes, NULL)) {
        panic("SHA-256 failed");
    }
    EVP_MD_CTX_free(copy);
    return base32hex(arena, bytes);
}

static bool digest_add_json(struct digest *digest, const struct value *value, struct err *err)
{
    AUTO_BUF struct buf json;
    buf_init(&json, JSON_BYTES_MAX);
    if (!json_write(&json, value, JSON_SORTED, err)) {
        return false;
    }
    if (json.is_full) {
        return err_set(err, ERR_CONFIG, "the configuration is too large to hash");
    }
    digest_add(digest, buf_str(&json));
    return true;
}

/* ---- launch ---- */

static void hash_take_text(void *context, struct str bytes)
{
    buf_add(context, bytes);
}

/* Reads a key file like Python reads text: UTF-8, with all line ends converted. */
static bool hash_read_key(struct arena *arena, const struct host *host, struct str path,
                          struct str *ret_text, struct err *err)
{
    AUTO_BUF struct buf raw;
    buf_init(&raw, KEY_BYTES_MAX);
    if (!host->read(host, host->expand(host, arena, path), hash_take_text, &raw, err)) {
        return false;
    }
    if (!utf8_is_valid(buf_str(&raw))) {
        return err_set(err, ERR_CONFIG, "%.*s is not text", STR_ARG(path));
    }
    char *text = arena_alloc(arena, raw.len + 1);
    size_t len = 0;
    for (size_t i = 0; i < raw.len; i++) {
        bool is_return = raw.ptr[i] == '\r';
        text[len++] = is_return ? '\n' : raw.ptr[i];
        if (is_return && i + 1 < raw.len && raw.ptr[i + 1] == '\n') {
            i++;
        }
    }
    *ret_text = (struct str){text, len};
    return true;
}

static bool replace_key(struct arena *arena, const struct host *host, struct value *auth,
                        const char *name, struct err *err)
{
    const struct value *path = value_get_c(auth, name);
    struct str text;
    if (!path) {
        return true;
    }
    if (path->kind != VALUE_STRING) {
        return err_set(err, ERR_CONFIG, "auth.%s is not a path", name);
    }
    if (!hash_read_key(arena, host, path->text, &text, err)) {
        return err_wrap(err, "auth.%s", name);
    }
    value_map_set_c(arena, auth, name, value_string(arena, text, path->place));
    return true;
}

bool hash_launch(struct arena *arena, const struct host *host, const struct value *node_config,
                 const struct value *auth, struct str *ret_hash, struct err *err)
{
    struct digest digest;
    struct place nowhere = {0};
    struct value *full_auth = value_copy_shallow(arena, auth);
    if (!replace_key(arena, host, full_auth, "ssh_private_key", err) ||
        !replace_key(arena, host, full_auth, "ssh_public_key", err)) {
        return false;
    }
    struct value *both = value_new(arena, VALUE_LIST, nowhere);
    value_list_add(arena, both, value_copy_shallow(arena, node_config));
    value_list_add(arena, both, full_auth);
    digest_start(&digest);
    bool ok = digest_add_json(&digest, both, err);
    if (ok) {
        *ret_hash = digest_text(arena, &digest);
    }
    digest_drop(&digest);
    return ok;
}

/* ---- contents ---- */

struct folder {
    struct str path;
    struct str *files; /* sorted */
    size_t file_count, file_capacity;
};

struct hash_walk {
    struct arena *arena;
    const struct host *host;
    struct folder *folders; /* all folders found; those from `next` on are not listed yet */
    size_t count, capacity, next;
};

static void add_folder(struct hash_walk *walk, struct str path)
{
    ARENA_PUSH(walk->arena, walk->folders, walk->count,
               walk->capacity) = (struct folder){.path = path};
}

static struct str join(struct arena *arena, struct str folder, struct str name)
{
    const char *slash = str_ends(folder, "/") ? "" : "/";
    return arena_printf(arena, "%.*s%s%.*s", STR_ARG(folder), slash, STR_ARG(name));
}

static void take_entry(void *context, const struct host_entry *entry)
{
    struct hash_walk *walk = context;
    struct str name = arena_str(walk->arena, entry->name);
    if (entry->is_folder) {
        if (!entry->is_link) {
            add_folder(walk, join(walk->arena, walk->folders[walk->next].path, name));
        }
        return;
    }
    struct folder *folder = &walk->folders[walk->next];
    ARENA_PUSH(walk->arena, folder->files, folder->file_count, folder->file_capacity) = name;
}

static int hash_compare_names(const void *left, const void *right)
{
    return str_cmp(*(const struct str *)left, *(const struct str *)right);
}

static int compare_folders(const void *left, const void *right)
{
    return str_cmp(((const struct folder *)left)->path, ((const struct folder *)right)->path);
}

static void hash_take_bytes(void *context, struct str bytes)
{
    digest_add(context, bytes);
}

/* Python cannot encode a name that is not UTF-8, so Ray has no hash for such a folder. */
static bool hash_add_name(struct digest *digest, struct str name, struct err *err)
{
    if (!utf8_is_valid(name)) {
        return err_set(err, ERR_CONFIG, "the name \"%.*s\" is not UTF-8", STR_ARG(name));
    }
    digest_add(digest, name);
    return true;
}

static bool add_one_folder(struct digest *digest, const struct hash_walk *walk,
                           const struct folder *folder, struct err *err)
{
    if (!hash_add_name(digest, folder->path, err)) {
        return false;
    }
    for (size_t i = 0; i < folder->file_count; i++) {
        struct str file = join(walk->arena, folder->path, folder->files[i]);
        if (!hash_add_name(digest, folder->files[i], err) ||
            !walk->host->read(walk->host, file, hash_take_bytes, digest, err)) {
            return false;
        }
    }
    return true;
}

static bool add_folder_contents(struct digest *digest, struct arena *arena, const struct host *host,
                                struct str path, struct err *err)
{
    struct hash_walk walk = {.arena = arena, .host = host};
    add_folder(&walk, path);
    for (; walk.next < walk.count; walk.next++) {
        host->list(host, walk.folders[walk.next].path, take_entry, &walk);
        struct folder *folder = &walk.folders[walk.next];
        if (folder->file_count > 1) {
            qsort(folder->files, folder->file_count, sizeof(struct str), hash_compare_names);
        }
    }
    qsort(walk.folders, walk.count, sizeof(struct folder), compare_folders);
    for (size_t i = 0; i < walk.count; i++) {
        if (!add_one_folder(digest, &walk, &walk.folders[i], err)) {
            return false;
        }
    }
    return true;
}

static bool add_contents(struct digest *digest, struct arena *arena, const struct host *host,
                         struct str local_path, bool may_be_missing, struct err *err)
{
    struct str path = host->expand(host, arena, local_path);
    struct host_file file = host->look(host, path);
    if (file.kind == HOST_MISSING && may_be_missing) {
        return true;
    }
    if (file.kind == HOST_FOLDER) {
        return add_folder_contents(digest, arena, host, path, err);
    }
    return host->read(host, path, hash_take_bytes, digest, err);
}

/* The strings of a map's values or of a list, in Python's sort order. */
static bool sorted_paths(struct arena *arena, const struct value *value, struct str **ret_paths,
                         size_t *ret_count, struct err *err)
{
    bool is_map = value->kind == VALUE_MAP;
    size_t count = is_map ? value->map.count : value->kind == VALUE_LIST ? value->list.count : 0;
    struct str *paths = ARENA_ARRAY(arena, count, struct str);
    for (size_t i = 0; i < count; i++) {
        const struct value *path = is_map ? value->map.entries[i].value : value->list.items[i];
        if (path->kind != VALUE_STRING) {
            return err_set(err, ERR_CONFIG, "line %u: a path must be text", path->place.line);
        }
        paths[i] = path->text;
    }
    if (count > 1) {
        qsort(paths, count, sizeof(struct str), hash_compare_names);
    }
    *ret_paths = paths;
    *ret_count = count;
    return true;
}

static bool add_all_contents(struct digest *digest, struct arena *arena, const struct host *host,
                             const struct value *paths, bool may_be_missing, struct err *err)
{
    struct str *sorted = NULL;
    size_t count = 0;
    if (!sorted_paths(arena, paths, &sorted, &count, err)) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (!add_contents(digest, arena, host, sorted[i], may_be_missing, err)) {
            return err_wrap(err, "file_mounts");
        }
    }
    return true;
}

/* ---- runtime ---- */

static bool run_runtime(struct arena *arena, const struct host *host,
                        const struct hash_runtime_input *input, struct digest *runtime,
                        struct digest *contents, struct err *err)
{
    if (!digest_add_json(runtime, input->file_mounts, err) ||
        !digest_add_json(runtime, input->extra, err) ||
        !add_all_contents(contents, arena, host, input->file_mounts, false, err)) {
        return false;
    }
    digest_add(runtime, digest_text(arena, contents));
    return !input->cluster_synced_files || input->cluster_synced_files->kind == VALUE_NULL ||
           add_all_contents(contents, arena, host, input->cluster_synced_files, true, err);
}

bool hash_runtime(struct arena *arena, const struct host *host,
                  const struct hash_runtime_input *input, struct str *ret_runtime,
                  struct str *ret_contents, struct err *err)
{
    struct digest runtime;
    struct digest contents;
    digest_start(&runtime);
    digest_start(&contents);
    bool ok = run_runtime(arena, host, input, &runtime, &contents, err);
    if (ok) {
        *ret_runtime = digest_text(arena, &runtime);
        *ret_contents = digest_text(arena, &contents);
    }
    digest_drop(&runtime);
    digest_drop(&contents);
    return ok;
}
