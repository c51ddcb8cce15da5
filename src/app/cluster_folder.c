/* cluster_folder.c: finds the folder of an owner, and writes whose it is. */
#include "app/cluster_folder.h"

#include "base/encode.h"
#include "base/utf8.h"
#include "io/file.h"
#include "io/lock.h"
#include "io/sha256.h"

#include <stdlib.h>

enum { NAME_BYTES_MAX = 16 * 1024, OWNER_BYTES_MAX = CLUSTER_OWNER_MAX + 1, DIGEST_BYTES = 4 };

#define OWNER_FILE "owner"
#define MARK '@' /* encode_uri() leaves none in a name */

/* ---- names ---- */

struct str cluster_folder_home(struct arena *arena)
{
    const char *home = getenv("XDG_STATE_HOME");
    struct str base = home && home[0] == '/' ? str_from(home)
                                             : file_expand_home(arena, STR("~/.local/state"));
    return arena_printf(arena, "%.*s/shoal", STR_ARG(base));
}

struct str cluster_folder_plain(struct str name)
{
    size_t at = str_find_char(name, MARK);
    return at == SIZE_MAX ? name : str_sub(name, 0, at);
}

static void cluster_folder_add_digest(struct buf *out, struct str text)
{
    uint8_t digest[SHA256_BYTES];
    sha256(text, digest);
    encode_hex(out, digest, DIGEST_BYTES);
}

/* Two plug-ins may have clusters of one name. */
static void cluster_folder_add_plugin(struct buf *name, const struct config *config)
{
    enum { COMMAND_BYTES_MAX = 64 * 1024 };
    AUTO_BUF struct buf words;
    const struct value *command = config_plugin(config);
    struct str module = value_text(value_get_c(config->provider, "module"));
    bool is_class = config_is_ray_class(config) && module.len > 0;
    buf_init(&words, COMMAND_BYTES_MAX);
    if (!command && !is_class) {
        return;
    }
    buf_add(&words, is_class ? module : STR(""));
    for (size_t i = 0; command && i < command->list.count; i++) {
        buf_add(&words, value_text(command->list.items[i]));
        buf_add_char(&words, '\n');
    }
    cluster_folder_add_digest(name, buf_str(&words));
}

/* The region is part of the name: clusters of one name in two regions are different clusters. */
static struct str plain_name(const struct config *config, struct arena *arena)
{
    AUTO_BUF struct buf name;
    buf_init(&name, NAME_BYTES_MAX);
    encode_uri(&name, config->provider_type, "");
    buf_add_char(&name, '-');
    encode_uri(&name, value_text(value_get_c(config->provider, "region")), "");
    cluster_folder_add_plugin(&name, config);
    buf_add_char(&name, '-');
    encode_uri(&name, config->cluster_name, "");
    return arena_str(arena, buf_str(&name));
}

/* ---- owners ---- */

/* One line that can be printed, wherever it comes from. */
static struct str visible(struct str text, struct arena *arena)
{
    AUTO_BUF struct buf out;
    buf_init(&out, NAME_BYTES_MAX);
    utf8_add_visible(&out, str_sub(text, 0, CLUSTER_OWNER_MAX), false);
    return arena_str(arena, buf_str(&out));
}

/* The key of the file that names the owner, where one does. */
static struct str owner_in_file(const struct config *config, struct arena *arena)
{
    static const struct {
        const char *type, *key, *word;
    } forms[] = {
        {"gcp", "project_id", "project"},
        {"local", "head_ip", "head"},
        {"azure", "subscription_id", "subscription"},
        {"vsphere", "vsphere_config.credentials.server", "server"},
    };
    AUTO_BUF struct buf plugin;
    buf_init(&plugin, NAME_BYTES_MAX);
    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        if (str_is(config->provider_type, forms[i].type)) {
            struct str text = value_text(value_path(config->provider, forms[i].key));
            return visible(arena_printf(arena, "%s %.*s", forms[i].word, STR_ARG(text)), arena);
        }
    }
    cluster_folder_add_plugin(&plugin, config);
    return plugin.len > 0 ? arena_printf(arena, "plug-in %.*s", STR_ARG(buf_str(&plugin)))
                          : STR("");
}

struct str cluster_folder_owner(const struct config *config, struct arena *arena)
{
    struct str in_file = owner_in_file(config, arena);
    return in_file.len > 0 || !config->owner ? in_file : config->owner->text;
}

void cluster_folder_know(const struct config *config, struct str owner, struct arena *arena)
{
    if (config->owner) {
        config->owner->text = visible(owner, arena);
    }
}

struct str cluster_folder_read(const char *path, struct arena *arena)
{
    AUTO_BUF struct buf text;
    struct err ignored;
    buf_init(&text, OWNER_BYTES_MAX);
    bool is_read = file_read(arena_printf(arena, "%s/" OWNER_FILE, path).ptr, &text, &ignored);
    return is_read ? visible(str_trim(buf_str(&text)), arena) : STR("");
}

/* The lock of the journal: two commands with two accounts may start at once. */
bool cluster_folder_claim(const char *path, struct str owner, struct err *err)
{
    enum { PRIVATE = 0600 };
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct lock *lock;
    if (str_eq(cluster_folder_read(path, &arena), owner)) {
        return true;
    }
    if (!lock_take(arena_printf(&arena, "%s/lock", path).ptr, "shoal, which reads the owner", &lock,
                   err)) {
        return false;
    }
    struct str found = cluster_folder_read(path, &arena);
    bool ok = (found.len == 0 || str_eq(found, owner) ||
               err_set(err, ERR_EXISTS,
                       "another command has just started a cluster of this name with other "
                       "credentials; run it again")) &&
              (found.len > 0 ||
               file_write(arena_printf(&arena, "%s/" OWNER_FILE, path).ptr,
                          arena_printf(&arena, "%.*s\n", STR_ARG(owner)), PRIVATE, err));
    lock_drop(lock);
    return ok;
}

/* ---- finding ---- */

static bool holds_records(const char *path, struct arena *arena)
{
    return file_stat(arena_printf(arena, "%s/key.pub", path).ptr).kind != FILE_MISSING ||
           file_stat(arena_printf(arena, "%s/journal.db", path).ptr).kind != FILE_MISSING;
}

struct folder_each {
    struct str home, plain;
    struct arena *arena;
    cluster_folder_fn *take;
    void *context;
};

static void each_take(void *context, const struct file_entry *entry)
{
    const struct folder_each *each = context;
    if (str_eq(cluster_folder_plain(entry->name), each->plain)) {
        each->take(
            each->context,
            arena_printf(each->arena, "%.*s/%.*s", STR_ARG(each->home), STR_ARG(entry->name)).ptr);
    }
}

void cluster_folder_each(const struct config *config, struct arena *arena, cluster_folder_fn *take,
                         void *context)
{
    struct folder_each each = {.home = cluster_folder_home(arena),
                               .plain = plain_name(config, arena),
                               .arena = arena,
                               .take = take,
                               .context = context};
    file_list(each.home.ptr, each_take, &each);
}

struct folder_search {
    struct str owner;
    struct arena *arena;
    const char *chosen;
    struct str other;
    const char *only; /* one of them */
    size_t count;
};

static void note_only(void *context, const char *path)
{
    struct folder_search *search = context;
    search->only = path;
    search->count++;
}

static void note_other(void *context, const char *path)
{
    struct folder_search *search = context;
    struct str owner = cluster_folder_read(path, search->arena);
    search->count++;
    if (!str_eq(str_from(path), str_from(search->chosen)) && holds_records(path, search->arena)) {
        search->other = owner.len > 0 ? owner : STR("an older release");
    }
}

/* The folder with the hash exists only for its owner; the plain one is of the owner in it, or of
 * the first who comes if it has no records. */
static const char *choose(const struct config *config, struct str owner, const char *plain,
                          struct arena *arena)
{
    AUTO_BUF struct buf name;
    struct folder_search search = {.arena = arena};
    buf_init(&name, NAME_BYTES_MAX);
    buf_addf(&name, "%s%c", plain, MARK);
    cluster_folder_add_digest(&name, owner);
    const char *hashed = arena_str(arena, buf_str(&name)).ptr;
    if (owner.len == 0) {
        cluster_folder_each(config, arena, note_only, &search);
        return search.count == 1 ? search.only : plain;
    }
    struct str found = cluster_folder_read(plain, arena);
    bool is_others = found.len > 0 && !str_eq(found, owner);
    return is_others || file_stat(hashed).kind == FILE_FOLDER ? hashed : plain;
}

struct cluster_folder cluster_folder_find(const struct config *config, struct arena *arena)
{
    struct folder_search search = {.owner = cluster_folder_owner(config, arena), .arena = arena};
    struct str name = plain_name(config, arena);
    const char *plain =
        arena_printf(arena, "%.*s/%.*s", STR_ARG(cluster_folder_home(arena)), STR_ARG(name)).ptr;
    search.chosen = choose(config, search.owner, plain, arena);
    bool has_records = holds_records(search.chosen, arena);
    bool is_plugin = str_starts(search.owner, "plug-in "); /* the folder's name has the command */
    cluster_folder_each(config, arena, note_other, &search);
    return (struct cluster_folder){
        .path = search.chosen,
        .has_records = has_records,
        .is_unowned = has_records && !is_plugin &&
                      cluster_folder_read(search.chosen, arena).len == 0,
        .other = search.other,
        .count = search.count,
    };
}
