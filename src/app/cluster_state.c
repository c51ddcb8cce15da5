/* cluster_state.c: finds and creates the state folder of a cluster. */
#include "app/cluster_state.h"

#include "base/encode.h"
#include "base/memzero.h"
#include "io/file.h"
#include "io/sha256.h"
#include "provider/local/local_provider.h"
#include "remote/known_hosts.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

enum {
    SECRET_BYTES = 32,
    KEY_FILE_BYTES_MAX = 16 * 1024,
    CONTROL_BYTES_MAX = 103 - 17 - 17,
};

/* ---- location ---- */

/* A socket path has at most 103 bytes on all systems. ssh appends 17 bytes while it creates one,
 * and cluster_state_control() adds a name of 17 bytes. */
static bool holds_sockets(struct str folder)
{
    return folder.len <= CONTROL_BYTES_MAX;
}

/* The runtime folder if there is one, else a subfolder of the state folder; /tmp only if that path
 * is too long. */
static const char *control_folder(const char *folder, struct arena *arena)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    unsigned long long hash = str_hash(str_from(folder));
    struct str inside = arena_printf(arena, "%s/ctl", folder);
    if (runtime && runtime[0] == '/') {
        struct str path = arena_printf(arena, "%s/shoal/%llx", runtime, hash);
        if (holds_sockets(path)) {
            return path.ptr;
        }
    }
    return holds_sockets(inside)
               ? inside.ptr
               : arena_printf(arena, "/tmp/shoal-%u/%llx", (unsigned)geteuid(), hash).ptr;
}

/* ---- the secret ---- */

static int nibble(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool secret_from_hex(struct str hex, struct arena *arena, struct str *ret_secret)
{
    struct str text = str_trim(hex);
    char *bytes = arena_alloc(arena, SECRET_BYTES);
    for (size_t i = 0; text.len == 2 * SECRET_BYTES && i < SECRET_BYTES; i++) {
        int high = nibble(text.ptr[2 * i]);
        int low = nibble(text.ptr[2 * i + 1]);
        if (high < 0 || low < 0) {
            return false;
        }
        bytes[i] = (char)(high << 4 | low);
    }
    *ret_secret = (struct str){bytes, SECRET_BYTES};
    return text.len == 2 * SECRET_BYTES;
}

static bool make_secret(const char *path, struct err *err)
{
    uint8_t bytes[SECRET_BYTES];
    char hex[2 * SECRET_BYTES + 1];
    if (getentropy(bytes, sizeof(bytes)) != 0) {
        return err_set(err, ERR_IO, "cannot read random bytes from the system");
    }
    encode_hex_to(hex, bytes, sizeof(bytes));
    bool ok = file_write(path, str_from(hex), 0600, err);
    memzero(bytes, sizeof(bytes));
    memzero(hex, sizeof(hex));
    return ok;
}

static bool cluster_state_find_secret(struct cluster_state *state, bool makes, struct arena *arena,
                                      struct err *err)
{
    const char *path = arena_printf(arena, "%s/secret", state->folder).ptr;
    bool is_there = file_stat(path).kind != FILE_MISSING;
    if (!is_there && !makes) {
        return true;
    }
    struct buf hex;
    buf_init(&hex, KEY_FILE_BYTES_MAX);
    bool ok = (is_there || make_secret(path, err)) && file_read_secret(path, &hex, err) &&
              (secret_from_hex(buf_str(&hex), arena, &state->secret) ||
               err_set(err, ERR_IO, "%s is damaged", path));
    buf_wipe(&hex);
    return ok;
}

/* ---- the key ---- */

static bool make_key(const char *path, const char *public_path, struct str comment, struct err *err)
{
    struct ssh_key key;
    struct buf private_text;
    AUTO_BUF struct buf public_text;
    buf_init(&private_text, KEY_FILE_BYTES_MAX);
    buf_init(&public_text, KEY_FILE_BYTES_MAX);
    if (!ssh_key_random(&key, err)) {
        return false;
    }
    ssh_key_add_private(&private_text, &key, comment);
    ssh_key_add_public(&public_text, key.public, comment);
    buf_add_char(&public_text, '\n');
    /* Write the public half last: if it exists, so does the private one. */
    bool ok = file_write(path, buf_str(&private_text), 0600, err) &&
              file_write(public_path, buf_str(&public_text), 0644, err);
    buf_wipe(&private_text);
    ssh_key_wipe(&key);
    return ok;
}

/* The cluster's own key exists even if the file names another one: the head connects to workers
 * with it. The file decides which of the two is used to connect to the head. */
static bool cluster_state_find_key(struct cluster_state *state, const struct config *config,
                                   bool makes, struct arena *arena, struct err *err)
{
    const char *path = arena_printf(arena, "%s/key", state->folder).ptr;
    const char *public_path = arena_printf(arena, "%s/key.pub", state->folder).ptr;
    bool is_there = file_stat(public_path).kind != FILE_MISSING;
    bool is_named = config->ssh_private_key.len > 0;
    struct str comment = arena_printf(arena, "shoal-%.*s", STR_ARG(config->cluster_name));
    AUTO_BUF struct buf text;
    buf_init(&text, KEY_FILE_BYTES_MAX);
    if (is_named) {
        state->key = file_expand_home(arena, config->ssh_private_key).ptr;
    } else if ((is_there || makes) && !config_is_local(config)) {
        state->key = path; /* own machines have the keys of their user */
    }
    if (!is_there && !makes) {
        return true;
    }
    if ((!is_there && !make_key(path, public_path, comment, err)) ||
        !file_read(public_path, &text, err)) {
        return false;
    }
    /* The class installs the named key on workers, too. */
    state->own_key = is_named && config_trusts_first_key(config) ? state->key : path;
    state->public_key = arena_str(arena, str_trim(buf_str(&text)));
    return true;
}

bool cluster_state_login_key(const struct cluster_state *state, const struct config *config,
                             struct arena *arena, struct str *ret_key, struct err *err)
{
    struct str given = value_text(value_get_c(config->auth, "ssh_public_key"));
    AUTO_BUF struct buf text;
    buf_init(&text, KEY_FILE_BYTES_MAX);
    if (config->ssh_private_key.len == 0) {
        *ret_key = state->public_key;
        return true;
    }
    const char *path = given.len > 0 ? file_expand_home(arena, given).ptr
                                     : arena_printf(arena, "%s.pub", state->key).ptr;
    if (!file_read(path, &text, err)) {
        return err_wrap(err,
                        "the public key of auth.ssh_private_key (write it with: ssh-keygen -y -f "
                        "%s >%s)",
                        state->key, path);
    }
    struct str rest = str_trim(buf_str(&text));
    *ret_key = arena_str(arena, str_trim(str_cut(&rest, '\n')));
    return true;
}

/* ---- opening ---- */

static bool cluster_state_make_folders(const struct cluster_state *state, struct arena *arena,
                                       struct err *err)
{
    return file_make_private_folder(state->folder, err) &&
           (state->owner.len == 0 || cluster_folder_claim(state->folder, state->owner, err)) &&
           file_make_private_folder(arena_printf(arena, "%s/known_hosts", state->folder).ptr,
                                    err) &&
           file_make_private_folder(arena_printf(arena, "%s/log", state->folder).ptr, err) &&
           file_make_private_folder(state->control, err);
}

/* There is nothing to check for a cluster that is unknown on this machine. */
static bool check_folders(const struct cluster_state *state, struct err *err)
{
    return state->is_new || (file_check_private_folder(state->folder, err) &&
                             file_make_private_folder(state->control, err));
}

/* The owner is written before anything else. */
static bool open_owned(const char *folder, struct str owner, const struct config *config,
                       bool makes, struct arena *arena, struct cluster_state *ret_state,
                       struct err *err)
{
    struct cluster_state state = {
        .folder = folder,
        .owner = owner,
        .is_new = file_stat(folder).kind == FILE_MISSING,
        .control = control_folder(folder, arena),
    };
    bool ok = (makes ? cluster_state_make_folders(&state, arena, err)
                     : check_folders(&state, err)) &&
              cluster_state_find_secret(&state, makes, arena, err) &&
              cluster_state_find_key(&state, config, makes, arena, err);
    if (ok) {
        *ret_state = state;
    }
    return ok;
}

bool cluster_state_open_at(const char *folder, const struct config *config, bool makes,
                           struct arena *arena, struct cluster_state *ret_state, struct err *err)
{
    return open_owned(folder, STR(""), config, makes, arena, ret_state, err);
}

bool cluster_state_refuse(const struct config *config, const char *folder, struct err *err)
{
    return err_set(err, ERR_EXISTS,
                   "the records of cluster %.*s in %s are of an older release and do not say whose "
                   "they are, and no such cluster was found with these credentials. Use the "
                   "credentials of that cluster; if the cluster is gone, delete the folder",
                   STR_ARG(config->cluster_name), folder);
}

bool cluster_state_open(const struct config *config, bool makes, struct arena *arena,
                        struct cluster_state *ret_state, struct err *err)
{
    struct cluster_folder folder = cluster_folder_find(config, arena);
    struct str owner = cluster_folder_owner(config, arena);
    if (makes && folder.is_unowned && owner.len > 0) {
        return cluster_state_refuse(config, folder.path, err);
    }
    owner = folder.is_unowned ? STR("")
            : owner.len > 0   ? owner
                              : cluster_folder_read(folder.path, arena);
    return open_owned(folder.path, owner, config, makes, arena, ret_state, err);
}

struct elsewhere {
    struct str before, behind; /* the folder's name before and after the region */
    struct str own;
    struct str found;
    struct arena *arena;
};

static void take_folder(void *context, const struct file_entry *entry)
{
    struct elsewhere *elsewhere = context;
    struct str folder = cluster_folder_plain(entry->name);
    size_t around = elsewhere->before.len + elsewhere->behind.len;
    if (folder.len <= around || !str_starts(folder, elsewhere->before.ptr) ||
        !str_eq(str_sub(folder, folder.len - elsewhere->behind.len, folder.len),
                elsewhere->behind)) {
        return;
    }
    struct str region = str_sub(folder, elsewhere->before.len, folder.len - elsewhere->behind.len);
    if (!str_eq(region, elsewhere->own)) {
        elsewhere->found = arena_str(elsewhere->arena, region);
    }
}

struct str cluster_state_elsewhere(const struct config *config, struct arena *arena)
{
    AUTO_BUF struct buf name;
    struct elsewhere elsewhere = {.own = value_text(value_get_c(config->provider, "region")),
                                  .arena = arena};
    buf_init(&name, KEY_FILE_BYTES_MAX);
    encode_uri(&name, config->cluster_name, "");
    elsewhere.before = arena_printf(arena, "%.*s-", STR_ARG(config->provider_type));
    elsewhere.behind = arena_printf(arena, "-%.*s", STR_ARG(buf_str(&name)));
    file_list(cluster_folder_home(arena).ptr, take_folder, &elsewhere);
    return elsewhere.found;
}

/* ---- by name ---- */

#define FILE_NAME "file"

bool cluster_state_note_file(const struct cluster_state *state, const char *path, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    return file_write(arena_printf(&arena, "%s/" FILE_NAME, state->folder).ptr, str_from(path),
                      0600, err);
}

struct known_search {
    struct str before, behind; /* the folder's name before and after the region */
    struct str home;
    struct arena *arena;
    struct cluster_known *known;
    size_t count, most, cloud;
};

/* The clouds whose clusters can be named, and how many dashes are in their regions. */
static const struct {
    const char *cloud;
    size_t least, most;
} named_clouds[] = {{"aws", 2, 3}, {"gcp", 1, 1}};

/* "us-west-2", "us-west1": another cluster's name may end with a dash and ours. */
static bool is_region(size_t cloud, struct str text)
{
    size_t dashes = 0;
    for (size_t i = 0; i < text.len; i++) {
        dashes += text.ptr[i] == '-';
    }
    char last = text.len > 0 ? text.ptr[text.len - 1] : '\0';
    return dashes >= named_clouds[cloud].least && dashes <= named_clouds[cloud].most &&
           last >= '0' && last <= '9';
}

static void read_file_of(struct str folder, struct arena *arena, struct cluster_known *known);

static void take_known(void *context, const struct file_entry *entry)
{
    struct known_search *search = context;
    struct str folder = cluster_folder_plain(entry->name);
    size_t around = search->before.len + search->behind.len;
    if (search->count == search->most || folder.len <= around ||
        !str_starts(folder, search->before.ptr) || !str_ends(folder, search->behind.ptr)) {
        return;
    }
    struct str region = str_sub(folder, search->before.len, folder.len - search->behind.len);
    if (is_region(search->cloud, region)) {
        struct cluster_known *known = &search->known[search->count++];
        known->cloud = named_clouds[search->cloud].cloud;
        known->region = arena_str(search->arena, region);
        struct str path = arena_printf(search->arena, "%.*s/%.*s", STR_ARG(search->home),
                                       STR_ARG(entry->name));
        known->owner = cluster_folder_read(path.ptr, search->arena);
        read_file_of(path, search->arena, known);
    }
}

static void read_file_of(struct str folder, struct arena *arena, struct cluster_known *known)
{
    AUTO_BUF struct buf path;
    struct err err;
    buf_init(&path, KEY_FILE_BYTES_MAX);
    known->file = NULL;
    if (file_read(arena_printf(arena, "%.*s/" FILE_NAME, STR_ARG(folder)).ptr, &path, &err) &&
        path.len > 0) {
        known->file = arena_str(arena, buf_str(&path)).ptr;
    }
}

size_t cluster_state_known(struct str name, struct arena *arena, struct cluster_known *ret_known,
                           size_t most)
{
    AUTO_BUF struct buf encoded;
    struct known_search search = {
        .arena = arena, .known = ret_known, .most = most, .home = cluster_folder_home(arena)};
    buf_init(&encoded, KEY_FILE_BYTES_MAX);
    encode_uri(&encoded, name, "");
    search.behind = arena_printf(arena, "-%.*s", STR_ARG(buf_str(&encoded)));
    for (; name.len > 0 && search.cloud < ARRAY_LEN(named_clouds); search.cloud++) {
        search.before = arena_printf(arena, "%s-", named_clouds[search.cloud].cloud);
        file_list(search.home.ptr, take_known, &search);
    }
    return search.count;
}

struct name_search {
    cluster_state_name_fn *take;
    void *context;
};

/* "aws-us-west-2-NAME". Names that had to be encoded are left out. */
static void take_name(void *context, const struct file_entry *entry)
{
    const struct name_search *search = context;
    struct str folder = cluster_folder_plain(entry->name);
    struct str word = str_cut(&folder, '-');
    size_t cloud = 0;
    while (cloud < ARRAY_LEN(named_clouds) && !str_is(word, named_clouds[cloud].cloud)) {
        cloud++;
    }
    if (cloud == ARRAY_LEN(named_clouds) || str_find_char(folder, '%') != SIZE_MAX) {
        return;
    }
    for (size_t i = 1; i + 1 < folder.len; i++) {
        if (folder.ptr[i] == '-' && is_region(cloud, str_sub(folder, 0, i))) {
            search->take(search->context, str_sub(folder, i + 1, folder.len));
            return;
        }
    }
}

void cluster_state_names(struct arena *arena, cluster_state_name_fn *take, void *context)
{
    struct name_search search = {take, context};
    file_list(cluster_folder_home(arena).ptr, take_name, &search);
}

struct file_search {
    struct str home, before;
    struct arena *arena;
    cluster_state_file_fn *take;
    void *context;
};

static void take_file(void *context, const struct file_entry *entry)
{
    const struct file_search *search = context;
    struct cluster_known known;
    if (str_starts(entry->name, search->before.ptr)) {
        read_file_of(
            arena_printf(search->arena, "%.*s/%.*s", STR_ARG(search->home), STR_ARG(entry->name)),
            search->arena, &known);
        if (known.file) {
            search->take(search->context, known.file);
        }
    }
}

void cluster_state_files(const char *cloud, struct arena *arena, cluster_state_file_fn *take,
                         void *context)
{
    struct file_search search = {
        .home = cluster_folder_home(arena),
        .before = arena_printf(arena, "%s-", cloud),
        .arena = arena,
        .take = take,
        .context = context,
    };
    file_list(search.home.ptr, take_file, &search);
}

/* ---- host keys ---- */

/* An own machine keeps its key for all launches. */
struct str cluster_state_key_name(struct str machine)
{
    return local_address(machine);
}

const char *cluster_state_known_hosts(const struct cluster_state *state, struct str machine,
                                      struct arena *arena)
{
    AUTO_BUF struct buf name;
    buf_init(&name, KEY_FILE_BYTES_MAX);
    encode_uri(&name, cluster_state_key_name(machine), "");
    return arena_printf(arena, "%s/known_hosts/%s", state->folder, name.ptr ? name.ptr : "").ptr;
}

const char *cluster_state_control(const struct cluster_state *state, struct str machine,
                                  struct arena *arena)
{
    return arena_printf(arena, "%s/%016llx", state->control, (unsigned long long)str_hash(machine))
        .ptr;
}

bool cluster_state_is_pinned(const struct cluster_state *state, struct str machine)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    bool is_there = file_stat(cluster_state_known_hosts(state, machine, &arena)).kind ==
                    FILE_REGULAR;
    return is_there;
}

struct str cluster_state_pinned(const struct cluster_state *state, struct str machine,
                                struct arena *arena)
{
    AUTO_BUF struct buf text;
    struct err ignored;
    buf_init(&text, KEY_FILE_BYTES_MAX);
    if (!file_read(cluster_state_known_hosts(state, machine, arena), &text, &ignored)) {
        return STR("");
    }
    struct str rest = buf_str(&text);
    struct str line = str_cut(&rest, '\n');
    struct str name = str_cut(&line, ' ');
    bool is_own = str_eq(name, cluster_state_key_name(machine));
    return is_own && rest.len == 0 ? arena_str(arena, line) : STR("");
}

static bool pin(const char *path, struct str machine, struct str key_line, bool keeps_old,
                struct err *err)
{
    AUTO_BUF struct buf text;
    AUTO_BUF struct buf line;
    buf_init(&text, KEY_FILE_BYTES_MAX);
    buf_init(&line, KEY_FILE_BYTES_MAX);
    if (keeps_old && file_stat(path).kind == FILE_REGULAR && !file_read(path, &text, err)) {
        return false;
    }
    buf_addf(&line, "%.*s %.*s\n", STR_ARG(machine), STR_ARG(key_line));
    if (str_find(buf_str(&text), line.ptr) == SIZE_MAX) {
        buf_add(&text, buf_str(&line));
    }
    return file_write(path, buf_str(&text), 0600, err);
}

bool cluster_state_pin(const struct cluster_state *state, struct str machine, struct str key_line,
                       bool keeps_old, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct str key = str_trim(key_line);
    struct str name = cluster_state_key_name(machine);
    bool is_key = str_starts(key, "ssh-") || str_starts(key, "ecdsa-sha2-");
    /* The node reports its own key; the line must not contain keys of other hosts. */
    if (!is_key || str_find_char(key, '\n') != SIZE_MAX || str_find_char(key, '\r') != SIZE_MAX ||
        !known_hosts_is_name(name)) {
        return err_set(err, ERR_PROTOCOL, "the instance reported an invalid host key");
    }
    return pin(cluster_state_known_hosts(state, machine, &arena), name, key, keeps_old, err);
}

bool cluster_state_pin_greeted(const struct cluster_state *state, struct str machine,
                               const struct node_hello *hello, struct err *err)
{
    if (hello->shown_key.len > 0) {
        return cluster_state_pin(state, machine, hello->shown_key, false, err);
    }
    return hello->host_key.len == 0 ||
           cluster_state_pin(state, machine, hello->host_key, true, err);
}

bool cluster_state_pin_launch(const struct cluster_state *state, struct str machine,
                              uint64_t launch, struct err *err)
{
    struct ssh_key key;
    AUTO_BUF struct buf line;
    buf_init(&line, KEY_FILE_BYTES_MAX);
    if (!ssh_key_of_launch(state->secret, launch, &key, err)) {
        return false;
    }
    ssh_key_add_public(&line, key.public, STR(""));
    ssh_key_wipe(&key);
    return cluster_state_pin(state, machine, buf_str(&line), false, err);
}

/* ---- another machine ---- */

bool cluster_state_make(const struct cluster_state *state, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    return cluster_state_make_folders(state, &arena, err);
}

/* What is copied, in this order: if the public key is there, everything is. */
static const char *const key_files[] = {"secret", "key", "key.pub"};

#define KEY_MARK "shoal-key 2 "

static struct str export_heading(const struct config *config, struct arena *arena)
{
    return arena_printf(arena, KEY_MARK "%.*s %.*s %.*s\nowner ", STR_ARG(config->provider_type),
                        STR_ARG(value_text(value_get_c(config->provider, "region"))),
                        STR_ARG(config->cluster_name));
}

bool cluster_state_export(const struct cluster_state *state, const struct config *config,
                          struct buf *out, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    if (state->owner.len == 0) {
        return err_set(err, ERR_NOT_FOUND,
                       "the key in %s is of an older release, and it is not known whose cluster it "
                       "belongs to; shoal status, with the credentials of the cluster, finds out",
                       state->folder);
    }
    buf_addf(out, "%.*s%.*s\n", STR_ARG(export_heading(config, &arena)), STR_ARG(state->owner));
    for (size_t i = 0; i < ARRAY_LEN(key_files); i++) {
        struct buf text;
        buf_init(&text, KEY_FILE_BYTES_MAX);
        const char *path = arena_printf(&arena, "%s/%s", state->folder, key_files[i]).ptr;
        bool ok = file_read(path, &text, err);
        buf_addf(out, "%s %zu\n", key_files[i], text.len);
        buf_add(out, buf_str(&text));
        buf_add_char(out, '\n');
        buf_wipe(&text);
        if (!ok) {
            return false;
        }
    }
    return true;
}

/* "key 387", the bytes, a line break. */
static bool take_part(struct str *rest, const char *name, struct str *ret_bytes)
{
    struct str size = str_cut(rest, '\n');
    struct str word = str_cut(&size, ' ');
    int64_t count;
    if (!str_is(word, name) || !str_to_i64(size, &count) || count <= 0 ||
        count > KEY_FILE_BYTES_MAX || (size_t)count >= rest->len || rest->ptr[count] != '\n') {
        return false;
    }
    *ret_bytes = str_sub(*rest, 0, (size_t)count);
    *rest = str_sub(*rest, (size_t)count + 1, rest->len);
    return true;
}

static bool is_printable(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < ' ' || text.ptr[i] > '~') {
            return false;
        }
    }
    return text.len > 0 && text.len <= CLUSTER_OWNER_MAX;
}

bool cluster_state_import_owner(const struct config *config, struct arena *arena, struct str *text,
                                struct str *ret_owner, struct err *err)
{
    struct str heading = export_heading(config, arena);
    struct str in_file = cluster_folder_owner(config, arena);
    if (str_starts(*text, "shoal-key 1 ")) {
        return err_set(err, ERR_CONFIG,
                       "this key was exported by an older release, which does not say whose "
                       "cluster it is; export it again with this release");
    }
    if (!str_starts(*text, KEY_MARK)) {
        return err_set(err, ERR_CONFIG, "this is not the output of shoal key export");
    }
    if (!str_starts(*text, heading.ptr)) {
        return err_set(err, ERR_CONFIG, "this is the key of another cluster: %.*s",
                       STR_ARG(str_sub(str_cut(text, '\n'), sizeof(KEY_MARK) - 1, 200)));
    }
    *text = str_sub(*text, heading.len, text->len);
    *ret_owner = str_cut(text, '\n');
    if (!is_printable(*ret_owner)) {
        return err_set(err, ERR_CONFIG, "the exported key is damaged; export it again");
    }
    return in_file.len == 0 || str_eq(in_file, *ret_owner) ||
           err_set(err, ERR_CONFIG,
                   "this is the key of another cluster: it is of %.*s, and the file names %.*s",
                   STR_ARG(*ret_owner), STR_ARG(in_file));
}

bool cluster_state_import(const struct cluster_state *opened, struct str owner, struct str text,
                          struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct str parts[ARRAY_LEN(key_files)];
    struct cluster_state own = *opened;
    const struct cluster_state *state = &own;
    own.owner = owner; /* of a key without an owner, if it is the same */
    for (size_t i = 0; i < ARRAY_LEN(key_files); i++) {
        if (!take_part(&text, key_files[i], &parts[i])) {
            return err_set(err, ERR_CONFIG, "the exported key is damaged; export it again");
        }
    }
    struct str public_key = str_trim(parts[ARRAY_LEN(key_files) - 1]);
    if (state->own_key && !str_eq(state->public_key, public_key)) {
        return err_set(err, ERR_EXISTS,
                       "this machine has another key for this cluster, in %s; if that cluster is "
                       "gone, delete the folder and import again",
                       state->folder);
    }
    bool ok = cluster_state_make_folders(state, &arena, err);
    for (size_t i = 0; ok && i < ARRAY_LEN(key_files); i++) {
        ok = file_write(arena_printf(&arena, "%s/%s", state->folder, key_files[i]).ptr, parts[i],
                        0600, err);
    }
    return ok;
}

/* ---- removal ---- */

bool cluster_state_remove(const struct cluster_state *state, struct err *err)
{
    return file_remove_folder(state->control, err) && file_remove_folder(state->folder, err);
}
