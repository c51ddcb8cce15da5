/* store_checkpoint.c: stores, lists, verifies and removes checkpoints in a durable place. */
#include "app/train/store_checkpoint.h"

#include "app/train/state_tree.h"
#include "base/encode.h"
#include "core/train/job.h"
#include "io/file.h"
#include "io/json_line.h"
#include "io/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NUMBERS_MAX = 4096, LIVES_MAX = 16, PARTS_MAX = 256, DIGEST_TEXT = 2 * SHA256_BYTES };

/* ---- manifests ---- */

static void manifest_name(const struct store_part *part, char ret_name[256])
{
    snprintf(ret_name, 256, STORE_MANIFEST "%" PRId64 "-of-%" PRId64 "%s%.*s.json", part->part,
             part->parts, part->save[0] != '\0' ? "." : "", STORE_SAVE_MAX, part->save);
}

static void manifest_key(const struct store_part *part, char ret_key[STORE_KEY_MAX])
{
    char name[256];
    manifest_name(part, name);
    snprintf(ret_key, STORE_KEY_MAX, "checkpoint-%" PRId64 "/%s", part->number, name);
}

static void part_key(const struct store_part *part, char ret_key[256])
{
    snprintf(ret_key, 256, "checkpoint-%" PRId64 "/part-%" PRId64 "-of-%" PRId64 "/", part->number,
             part->part, part->parts);
}

static void file_key(const struct store_part *part, struct str path, char ret_key[STORE_KEY_MAX])
{
    char folder[256];
    part_key(part, folder);
    snprintf(ret_key, STORE_KEY_MAX, "%s%.*s", folder, STR_ARG(path));
}

/* One line of JSON, then its own digest: a manifest that is cut short is not valid. */
static void manifest_write(json_t *manifest, struct buf *out)
{
    uint8_t digest[SHA256_BYTES];
    char text[DIGEST_TEXT + 1];
    json_put_out(manifest, true, out);
    sha256(buf_str(out), digest);
    encode_hex_to(text, digest, SHA256_BYTES);
    buf_addf(out, "%s\n", text);
}

static bool manifest_read(struct str text, json_t **ret_manifest, struct err *err)
{
    uint8_t digest[SHA256_BYTES];
    char expected[DIGEST_TEXT + 1];
    size_t end = str_find_char(text, '\n');
    if (end == SIZE_MAX) {
        return err_set(err, ERR_PROTOCOL, "the manifest is truncated");
    }
    sha256(str_sub(text, 0, end + 1), digest);
    encode_hex_to(expected, digest, SHA256_BYTES);
    if (!str_is(str_trim(str_sub(text, end + 1, text.len)), expected)) {
        return err_set(err, ERR_PROTOCOL, "the digest of the manifest does not match");
    }
    return json_line_read(str_sub(text, 0, end), "the manifest", ret_manifest, err);
}

/* ---- listing ---- */

struct numbers {
    int64_t items[NUMBERS_MAX];
    size_t count;
};

static void note_number(void *context, struct str name)
{
    struct numbers *numbers = context;
    int64_t number;
    if (str_starts(name, "checkpoint-") &&
        str_to_i64(str_sub(name, strlen("checkpoint-"), name.len), &number) && number > 0 &&
        number < TRAIN_CHECKPOINT_MAX / 2 && numbers->count < NUMBERS_MAX) {
        numbers->items[numbers->count++] = number;
    }
}

/* The manifests of one save. */
struct life {
    char save[STORE_SAVE_MAX + 1];
    int64_t parts, count;
    bool has[PARTS_MAX];
};

struct manifests {
    struct life lives[LIVES_MAX];
    size_t count;
};

/* NULL: there are too many. */
static struct life *find_life(struct manifests *found, struct str save, int64_t parts)
{
    for (size_t i = 0; i < found->count; i++) {
        struct life *life = &found->lives[i];
        if (str_is(save, life->save) && life->parts == parts) {
            return life;
        }
    }
    if (found->count == LIVES_MAX || save.len > STORE_SAVE_MAX) {
        return NULL;
    }
    struct life *life = &found->lives[found->count++];
    snprintf(life->save, sizeof(life->save), "%.*s", STR_ARG(save));
    life->parts = parts;
    return life;
}

/* "manifest-2-of-4.SAVE.json" */
static void note_manifest(void *context, struct str name)
{
    int64_t part;
    int64_t parts;
    if (!str_starts(name, STORE_MANIFEST) || !str_ends(name, ".json")) {
        return;
    }
    struct str save = str_sub(name, strlen(STORE_MANIFEST), name.len - strlen(".json"));
    struct str rest = str_cut(&save, '.');
    struct str first = str_cut(&rest, '-');
    if (!str_to_i64(first, &part) || !str_starts(rest, "of-") ||
        !str_to_i64(str_sub(rest, 3, rest.len), &parts) || part < 0 || part >= parts ||
        parts > PARTS_MAX) {
        return;
    }
    struct life *life = find_life(context, save, parts);
    if (life) {
        life->count += !life->has[part];
        life->has[part] = true;
    }
}

static bool find_manifests(struct store_place *place, int64_t number, struct manifests *ret,
                           struct err *err)
{
    char folder[64];
    memset(ret, 0, sizeof(*ret));
    snprintf(folder, sizeof(folder), "checkpoint-%" PRId64 "/", number);
    return place->ops->list(place, folder, note_manifest, ret, err);
}

/* The save of which all parts are there; NULL: none. */
static const struct life *complete_life(const struct manifests *found)
{
    const struct life *best = NULL;
    for (size_t i = 0; i < found->count; i++) {
        const struct life *life = &found->lives[i];
        if (life->count == life->parts && (!best || strcmp(life->save, best->save) > 0)) {
            best = life;
        }
    }
    return best;
}

static int compare_numbers(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a;
    int64_t right = *(const int64_t *)b;
    return (right > left) - (right < left);
}

/* All numbers, the newest first. */
static bool list_numbers(struct store_place *place, struct numbers *ret, struct err *err)
{
    ret->count = 0;
    if (!place->ops->list(place, "", note_number, ret, err)) {
        return false;
    }
    qsort(ret->items, ret->count, sizeof(ret->items[0]), compare_numbers);
    return true;
}

bool store_newest(struct store_place *place, int64_t below, int64_t *ret_number, struct err *err)
{
    struct numbers *numbers = HEAP_NEW(struct numbers);
    struct manifests found;
    bool is_listed = list_numbers(place, numbers, err);
    *ret_number = 0;
    for (size_t i = 0; is_listed && i < numbers->count && *ret_number == 0; i++) {
        if (numbers->items[i] < below) {
            is_listed = find_manifests(place, numbers->items[i], &found, err);
            *ret_number = is_listed && complete_life(&found) ? numbers->items[i] : 0;
        }
    }
    free(numbers);
    return is_listed;
}

bool store_highest(struct store_place *place, int64_t *ret_number, struct err *err)
{
    struct numbers *numbers = HEAP_NEW(struct numbers);
    bool is_listed = list_numbers(place, numbers, err);
    *ret_number = is_listed && numbers->count > 0 ? numbers->items[0] : 0;
    free(numbers);
    return is_listed;
}

bool store_expire(struct store_place *place, int64_t keep, struct err *err)
{
    struct numbers *numbers = HEAP_NEW(struct numbers);
    struct manifests found = {.count = 0};
    int64_t complete = 0;
    bool is_done = list_numbers(place, numbers, err);
    for (size_t i = 0; is_done && i < numbers->count; i++) {
        char folder[64];
        snprintf(folder, sizeof(folder), "checkpoint-%" PRId64 "/", numbers->items[i]);
        is_done = complete >= keep || find_manifests(place, numbers->items[i], &found, err);
        bool is_complete = is_done && complete < keep && complete_life(&found);
        complete += is_complete;
        if (is_done && !is_complete && complete > 0) {
            is_done = place->ops->remove(place, folder, err);
        }
    }
    free(numbers);
    return is_done;
}

/* ---- storing ---- */

static bool put_entry(struct store_place *place, const struct store_part *part, int root,
                      const struct state_entry *entry, json_t *rows, struct err *err)
{
    char key[STORE_KEY_MAX];
    char text[DIGEST_TEXT + 1] = "";
    uint8_t digest[SHA256_BYTES];
    json_t *row = json_object();
    json_array_append_new(rows, row);
    json_put_text(row, "path", entry->path);
    json_put_number(row, "mode", entry->mode);
    json_put_flag(row, "is_folder", entry->is_folder);
    if (entry->is_folder) {
        return true;
    }
    if (entry->is_link) {
        char target[STATE_PATH_LEN_MAX + 1];
        bool is_read = state_link_read_target(root, entry, target, err);
        json_put_text(row, "target", str_from(is_read ? target : ""));
        return is_read;
    }
    int file = state_file_open(root, entry->path, O_RDONLY);
    if (file < 0) {
        return err_set(err, ERR_IO, "cannot open %.*s: %s", STR_ARG(str_sub(entry->path, 0, 200)),
                       strerror(errno));
    }
    file_key(part, entry->path, key);
    bool is_put = place->ops->put(place, key, file, entry->size, digest, err);
    close(file);
    if (is_put) {
        encode_hex_to(text, digest, SHA256_BYTES);
        json_put_number(row, "size", entry->size);
        json_put_text(row, "sha256", str_from(text));
    }
    return is_put;
}

/* The files of this part, and the rows of its manifest. */
static bool put_files(struct store_place *place, const struct store_part *part, const char *folder,
                      json_t *rows, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct state_manifest tree;
    int root = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root < 0) {
        return err_set(err, ERR_NOT_FOUND, "cannot open %.300s: %s", folder, strerror(errno));
    }
    bool is_put = state_tree_walk(root, &arena, &tree, err);
    for (size_t i = 0; is_put && i < tree.count; i++) {
        is_put = put_entry(place, part, root, &tree.entries[i], rows, err);
    }
    close(root);
    return is_put;
}

/* The manifest of this part is there. */
static bool is_stored(struct store_place *place, const struct store_part *part, bool *ret_is_stored,
                      struct err *err)
{
    struct manifests found;
    if (!find_manifests(place, part->number, &found, err)) {
        return false;
    }
    const struct life *life = find_life(&found, str_from(part->save), part->parts);
    *ret_is_stored = life && life->has[part->part];
    return true;
}

/* Nothing is left of a part that could not be stored. With its manifest, or while that may still
 * arrive, the files stay: without them it would name what does not exist. */
static void put_undo(struct store_place *place, const struct store_part *part, bool is_certain,
                     struct err *err)
{
    char folder[256];
    bool has_manifest = true;
    struct err why = {.text = "its manifest may have been stored"};
    part_key(part, folder);
    if (is_certain && is_stored(place, part, &has_manifest, &why) && !has_manifest &&
        place->ops->remove(place, folder, &why)) {
        return;
    }
    struct err first = *err;
    err_set(err, first.kind,
            "%.250s. %s is left there (%.120s); it is removed when a newer checkpoint is complete",
            first.text, folder, why.text);
}

static bool put_manifest(struct store_place *place, const struct store_part *part, json_t *manifest,
                         struct err *err)
{
    AUTO_BUF struct buf text;
    char key[STORE_KEY_MAX];
    buf_init(&text, STORE_MANIFEST_MAX);
    manifest_write(json_incref(manifest), &text);
    manifest_key(part, key);
    return place->ops->put_text(place, key, buf_str(&text), false, err);
}

bool store_put(struct store_place *place, const struct store_part *part, const char *folder,
               struct err *err)
{
    int64_t newest = 0;
    bool has_it = false;
    if (part->part < 0 || part->part >= part->parts || part->parts > PARTS_MAX) {
        return err_set(err, ERR_USAGE, "there is no part %" PRId64 " of %" PRId64, part->part,
                       part->parts);
    }
    if (!is_stored(place, part, &has_it, err) || has_it) {
        return has_it;
    }
    json_t *manifest = json_object();
    json_t *rows = json_array();
    json_put_number(manifest, "checkpoint", part->number);
    json_put_number(manifest, "part", part->part);
    json_put_number(manifest, "parts", part->parts);
    json_put_text(manifest, "save", str_from(part->save));
    json_object_set_new(manifest, "files", rows);
    bool has_files = put_files(place, part, folder, rows, err) &&
                     store_newest(place, INT64_MAX, &newest, err);
    bool is_late = newest > part->number; /* its files may be gone already: see store_expire() */
    bool is_put = has_files && (is_late || put_manifest(place, part, manifest, err));
    json_decref(manifest);
    if (!is_put) {
        put_undo(place, part, !has_files || err->kind != ERR_TIMEOUT, err);
    }
    return is_put;
}

/* ---- fetching ---- */

static bool path_is_inside(struct str path)
{
    struct str rest = path;
    bool is_inside = path.len > 0 && path.len <= STATE_PATH_LEN_MAX;
    while (is_inside && rest.len > 0) {
        struct str name = str_cut(&rest, '/');
        is_inside = name.len > 0 && !str_is(name, ".") && !str_is(name, "..");
    }
    return is_inside;
}

static bool get_file(struct store_place *place, const struct store_part *part, const json_t *row,
                     struct str path, const char *to, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    char key[STORE_KEY_MAX];
    char text[DIGEST_TEXT + 1];
    uint8_t digest[SHA256_BYTES];
    int64_t size = json_take_number(row, "size", 0, STATE_BYTES_MAX);
    mode_t mode = (mode_t)json_take_number(row, "mode", 0, 0777);
    unlink(to); /* of another part */
    int file = open(to, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0) {
        return err_set(err, ERR_IO, "cannot create %.300s: %s", to, strerror(errno));
    }
    file_key(part, path, key);
    bool is_got = place->ops->get(place, key, file, size, digest, err);
    if (!is_got && err->kind == ERR_NOT_FOUND) {
        err->kind = ERR_PROTOCOL; /* the manifest names it */
    }
    encode_hex_to(text, digest, SHA256_BYTES);
    if (is_got && !str_is(json_take_text(row, "sha256", &arena), text)) {
        is_got = err_set(err, ERR_PROTOCOL, "the digest of %.300s does not match", key);
    }
    is_got = is_got && fchmod(file, mode) == 0;
    close(file);
    return is_got;
}

static bool get_entry(struct store_place *place, const struct store_part *part, const json_t *row,
                      const char *folder, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct str path = json_take_text(row, "path", &arena);
    if (!path_is_inside(path)) {
        return err_set(err, ERR_PROTOCOL, "the manifest has an invalid path");
    }
    struct str to = arena_printf(&arena, "%s/%.*s", folder, STR_ARG(path));
    if (json_is_true(json_object_get(row, "is_folder"))) {
        return mkdir(to.ptr, 0700) == 0 || errno == EEXIST ||
               err_set(err, ERR_IO, "cannot create %.300s: %s", to.ptr, strerror(errno));
    }
    struct str target = json_take_text(row, "target", &arena);
    if (target.len > 0) {
        unlink(to.ptr);
        return (state_link_is_inside(path, target) ||
                err_set(err, ERR_PROTOCOL, "the manifest has a link that leaves the directory")) &&
               (symlink(target.ptr, to.ptr) == 0 ||
                err_set(err, ERR_IO, "cannot create %.300s: %s", to.ptr, strerror(errno)));
    }
    return get_file(place, part, row, path, to.ptr, err);
}

static bool get_part(struct store_place *place, const struct store_part *part, const char *folder,
                     struct err *err)
{
    AUTO_BUF struct buf text;
    char key[STORE_KEY_MAX];
    json_t *manifest;
    buf_init(&text, STORE_MANIFEST_MAX);
    manifest_key(part, key);
    if (!place->ops->get_text(place, key, &text, err) ||
        !manifest_read(buf_str(&text), &manifest, err)) {
        return false;
    }
    const json_t *rows = json_object_get(manifest, "files");
    const char *save = json_string_value(json_object_get(manifest, "save"));
    bool is_got = (strcmp(save ? save : "", part->save) == 0 && json_is_array(rows)) ||
                  err_set(err, ERR_PROTOCOL, "the manifest is of another save");
    for (size_t i = 0; is_got && i < json_array_size(rows); i++) {
        is_got = get_entry(place, part, json_array_get(rows, i), folder, err);
    }
    json_decref(manifest);
    return is_got;
}

bool store_get(struct store_place *place, int64_t number, const char *folder, struct err *err)
{
    struct manifests found;
    if (!find_manifests(place, number, &found, err)) {
        return false;
    }
    const struct life *life = complete_life(&found);
    if (!life) {
        return err_set(err, ERR_PROTOCOL, "no save has all of its manifests");
    }
    if (!file_remove_folder(folder, err) || !file_make_private_folder(folder, err)) {
        return false;
    }
    for (int64_t part = life->parts; part-- > 0;) { /* the first part wins, as on the nodes */
        struct store_part one = {number, part, life->parts, life->save};
        if (!get_part(place, &one, folder, err)) {
            return false;
        }
    }
    return true;
}
