/* cluster_state.c: the folder of a cluster, made and found. */
#include "app/cluster_state.h"

#include "base/encode.h"
#include "base/wipe.h"
#include "io/file.h"
#include "remote/known_hosts.h"

#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

enum {
    SECRET_BYTES = 32,
    KEY_FILE_BYTES_MAX = 16 * 1024,
    RUNTIME_BYTES_MAX = 24, /* the hash, a machine's id and what ssh adds come behind it */
    FOLDERS_OPEN_MAX = 16,  /* while removing */
};

/* ---- where ---- */

static struct str state_home(struct arena *arena)
{
    const char *home = getenv("XDG_STATE_HOME");
    return home && home[0] == '/' ? str_from(home) : file_expand_home(arena, STR("~/.local/state"));
}

/* Two clusters of one name in two regions are two clusters. */
static const char *folder_of(const struct config *config, struct arena *arena)
{
    AUTO_BUF struct buf name;
    buf_init(&name, KEY_FILE_BYTES_MAX);
    encode_uri(&name, config->provider_type, "");
    buf_add_char(&name, '-');
    encode_uri(&name, value_text(value_get_c(config->provider, "region")), "");
    buf_add_char(&name, '-');
    encode_uri(&name, config->cluster_name, "");
    return arena_printf(arena, "%.*s/shoal/%s", STR_ARG(state_home(arena)), name.ptr).ptr;
}

/* The path of a socket has about a hundred bytes; that of the state may have more. */
static const char *control_folder(const char *folder, struct arena *arena)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    unsigned long long hash = str_hash(str_from(folder));
    return runtime && runtime[0] == '/' && strlen(runtime) <= RUNTIME_BYTES_MAX
               ? arena_printf(arena, "%s/shoal/%llx", runtime, hash).ptr
               : arena_printf(arena, "/tmp/shoal-%u/%llx", (unsigned)getuid(), hash).ptr;
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
    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes)) {
        return err_set(err, ERR_IO, "this machine gives no random bytes");
    }
    encode_hex_to(hex, bytes, sizeof(bytes));
    bool ok = file_write(path, str_from(hex), 0600, err);
    wipe(bytes, sizeof(bytes));
    wipe(hex, sizeof(hex));
    return ok;
}

static bool find_secret(struct cluster_state *state, bool makes, struct arena *arena,
                        struct err *err)
{
    const char *path = arena_printf(arena, "%s/secret", state->folder).ptr;
    bool is_there = file_look(path).kind != FILE_MISSING;
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
    /* The public half last: where it is, the private one is too. */
    bool ok = file_write(path, buf_str(&private_text), 0600, err) &&
              file_write(public_path, buf_str(&public_text), 0644, err);
    buf_wipe(&private_text);
    ssh_key_wipe(&key);
    return ok;
}

/* The cluster's own key is there even if the file names another one: what surrounds the machines is
 * made with it. Which of the two ssh uses is the file's word. */
static bool find_key(struct cluster_state *state, const struct config *config, bool makes,
                     struct arena *arena, struct err *err)
{
    const char *path = arena_printf(arena, "%s/key", state->folder).ptr;
    const char *public_path = arena_printf(arena, "%s/key.pub", state->folder).ptr;
    bool is_there = file_look(public_path).kind != FILE_MISSING;
    bool is_named = config->ssh_private_key.len > 0;
    struct str comment = arena_printf(arena, "shoal-%.*s", STR_ARG(config->cluster_name));
    AUTO_BUF struct buf text;
    buf_init(&text, KEY_FILE_BYTES_MAX);
    if (is_named) {
        state->key = file_expand_home(arena, config->ssh_private_key).ptr;
    } else if (is_there || makes) {
        state->key = path;
    }
    if (!is_there && !makes) {
        return true;
    }
    if ((!is_there && !make_key(path, public_path, comment, err)) ||
        !file_read(public_path, &text, err)) {
        return false;
    }
    state->public_key = arena_str(arena, str_trim(buf_str(&text)));
    return true;
}

/* ---- opening ---- */

bool cluster_state_open_at(const char *folder, const struct config *config, bool makes,
                           struct arena *arena, struct cluster_state *ret_state, struct err *err)
{
    struct cluster_state state = {
        .folder = folder,
        .is_new = file_look(folder).kind == FILE_MISSING,
        .control = control_folder(folder, arena),
    };
    const char *known = arena_printf(arena, "%s/known_hosts", folder).ptr;
    const char *logs = arena_printf(arena, "%s/log", folder).ptr;
    bool ok = !makes ||
              (file_make_private_folder(folder, err) && file_make_private_folder(known, err) &&
               file_make_private_folder(logs, err));
    ok = ok && file_make_private_folder(state.control, err) &&
         find_secret(&state, makes, arena, err) && find_key(&state, config, makes, arena, err);
    if (ok) {
        *ret_state = state;
    }
    return ok;
}

bool cluster_state_open(const struct config *config, bool makes, struct arena *arena,
                        struct cluster_state *ret_state, struct err *err)
{
    return cluster_state_open_at(folder_of(config, arena), config, makes, arena, ret_state, err);
}

/* ---- host keys ---- */

const char *cluster_state_known_hosts(const struct cluster_state *state, struct str machine,
                                      struct arena *arena)
{
    AUTO_BUF struct buf name;
    buf_init(&name, KEY_FILE_BYTES_MAX);
    encode_uri(&name, machine, "");
    return arena_printf(arena, "%s/known_hosts/%s", state->folder, name.ptr ? name.ptr : "").ptr;
}

const char *cluster_state_control(const struct cluster_state *state, struct str machine,
                                  struct arena *arena)
{
    return arena_printf(arena, "%s/%.*s", state->control, STR_ARG(str_sub(machine, 0, 40))).ptr;
}

bool cluster_state_is_pinned(const struct cluster_state *state, struct str machine)
{
    struct arena arena;
    arena_init(&arena);
    bool is_there = file_look(cluster_state_known_hosts(state, machine, &arena)).kind ==
                    FILE_REGULAR;
    arena_clear(&arena);
    return is_there;
}

static bool pin(const char *path, struct str machine, struct str key_line, bool keeps_old,
                struct err *err)
{
    AUTO_BUF struct buf text;
    AUTO_BUF struct buf line;
    buf_init(&text, KEY_FILE_BYTES_MAX);
    buf_init(&line, KEY_FILE_BYTES_MAX);
    if (keeps_old && file_look(path).kind == FILE_REGULAR && !file_read(path, &text, err)) {
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
    struct arena arena;
    struct str key = str_trim(key_line);
    /* A node tells its key itself: it must not tell of others in the same breath. */
    if (!str_starts(key, "ssh-") || str_find_char(key, '\n') != SIZE_MAX ||
        str_find_char(key, '\r') != SIZE_MAX || !known_hosts_is_name(machine)) {
        return err_set(err, ERR_PROTOCOL, "what a machine told is no host key");
    }
    arena_init(&arena);
    bool ok = pin(cluster_state_known_hosts(state, machine, &arena), machine, key, keeps_old, err);
    arena_clear(&arena);
    return ok;
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

/* ---- the end ---- */

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)status;
    (void)kind;
    (void)where;
    return remove(path);
}

bool cluster_state_remove(const struct cluster_state *state, struct err *err)
{
    const char *folders[] = {state->control, state->folder};
    for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
        if (file_look(folders[i]).kind != FILE_MISSING &&
            nftw(folders[i], remove_entry, FOLDERS_OPEN_MAX, FTW_DEPTH | FTW_PHYS) != 0) {
            return err_set(err, ERR_IO, "%s cannot be removed", folders[i]);
        }
    }
    return true;
}
