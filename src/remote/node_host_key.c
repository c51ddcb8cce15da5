/* node_host_key.c: generates, announces and installs a new host key. */
#include "remote/node_host_key.h"

#include "base/arena.h"
#include "io/file.h"
#include "io/process.h"
#include "io/xalloc.h"
#include "remote/ssh_key.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HOST_KEY "/etc/ssh/ssh_host_ed25519_key"

enum { ROTATE_MS = 20000, WHY_MAX = 2048, WORDS_MAX = 64, TITLE_MAX = 16 * 1024 };

static const char *host_key_file(void)
{
    const char *given = getenv("SHOAL_HOST_KEY");
    return given ? given : HOST_KEY;
}

static const char *node_host_key_in_folder(struct arena *arena, const char *folder,
                                           const char *name)
{
    return arena_printf(arena, "%s/%s", folder, name).ptr;
}

/* ---- generating ---- */

static struct str public_path(struct arena *arena, const char *folder)
{
    return arena_printf(arena, "%s/host_key.pub", folder);
}

static bool node_host_key_make(struct arena *arena, const char *folder, struct buf *line)
{
    struct ssh_key key;
    struct err err;
    struct buf text;
    buf_init(&text, SSH_KEY_TEXT_BYTES_MAX);
    if (!ssh_key_random(&key, &err)) {
        return false;
    }
    ssh_key_add_private(&text, &key, STR(""));
    ssh_key_add_public(line, key.public, STR(""));
    ssh_key_wipe(&key);
    /* The public half is written last: if it exists, so does the private half. */
    bool ok = file_write(node_host_key_in_folder(arena, folder, "host_key"), buf_str(&text), 0600,
                         &err) &&
              file_write(public_path(arena, folder).ptr, buf_str(line), 0600, &err);
    buf_wipe(&text);
    return ok;
}

struct str node_host_key_next(struct arena *arena, const char *folder)
{
    AUTO_BUF struct buf line;
    struct err err;
    buf_init(&line, 1024);
    if (file_stat(node_host_key_in_folder(arena, folder, "host_key_rotated")).kind ==
            FILE_REGULAR ||
        file_stat(host_key_file()).kind != FILE_REGULAR) {
        return STR("");
    }
    if (!file_read(public_path(arena, folder).ptr, &line, &err) || line.len == 0) {
        buf_clear(&line);
        if (!node_host_key_make(arena, folder, &line)) {
            return STR("");
        }
    }
    return arena_str(arena, str_trim(buf_str(&line)));
}

struct str node_host_key_shown(struct arena *arena, const char *folder)
{
    AUTO_BUF struct buf line;
    struct err err;
    buf_init(&line, 1024);
    bool ok = file_read(node_host_key_in_folder(arena, folder, "host_key_rotated"), &line, &err);
    return ok ? arena_str(arena, str_trim(buf_str(&line))) : STR("");
}

/* ---- installing: the session's side ---- */

struct rotation {
    struct arena arena;
    const char *folder;
    node_host_key_fn *done;
    void *context;
};

static void node_host_key_finish(void *context, const struct child_result *result)
{
    struct rotation *rotation = context;
    struct err err;
    struct str why = str_trim(result->output[CHILD_STDERR]);
    AUTO_BUF struct buf line;
    buf_init(&line, 1024);
    bool ok = child_was_fine(result) &&
              file_read(public_path(&rotation->arena, rotation->folder).ptr, &line, &err) &&
              file_write(
                  node_host_key_in_folder(&rotation->arena, rotation->folder, "host_key_rotated"),
                  buf_str(&line), 0600, &err);
    if (ok) {
        unlink(node_host_key_in_folder(&rotation->arena, rotation->folder, "host_key"));
        unlink(public_path(&rotation->arena, rotation->folder).ptr);
    }
    rotation->done(rotation->context, ok, why.len > 0 ? why : str_from(result->err.text));
    arena_clear(&rotation->arena);
    free(rotation);
}

/* The path of this program. /proc/self/exe has no valid path after an upgrade replaced the file;
 * the new file is used instead. */
static const char *own_path(struct arena *arena, const char *folder)
{
    char path[4096];
    ssize_t size = readlink("/proc/self/exe", path, sizeof(path) - 1);
    struct str found = {path, size > 0 ? (size_t)size : 0};
    return size > 0 && !str_ends(found, " (deleted)")
               ? arena_str(arena, found).ptr
               : node_host_key_in_folder(arena, folder, "bin/shoal");
}

void node_host_key_rotate(struct child_pool *pool, const char *folder, node_host_key_fn *done,
                          void *context)
{
    static const char *const names[] = {"PATH", "HOME", "SHOAL_HOST_KEY", NULL};
    struct rotation *rotation = HEAP_NEW(struct rotation);
    struct buf key;
    struct err err;
    arena_init(&rotation->arena);
    rotation->folder = arena_str(&rotation->arena, str_from(folder)).ptr;
    rotation->done = done;
    rotation->context = context;
    buf_init(&key, SSH_KEY_TEXT_BYTES_MAX * 2);
    if (!file_read(node_host_key_in_folder(&rotation->arena, folder, "host_key"), &key, &err) ||
        !file_read(public_path(&rotation->arena, folder).ptr, &key, &err)) {
        buf_clear(&key); /* the child then reports that it got no key */
    }
    const char *program = own_path(&rotation->arena, folder);
    const char *const argv[] = {"sudo", "-n", program, "node", "host-key", NULL};
    bool is_ours = access(host_key_file(), W_OK) == 0;
    child_start(pool, &(struct child_spec){
                          .argv = is_ours ? argv + 2 : argv,
                          .env_names = names,
                          .input = buf_str(&key),
                          .output = {{0}, {.bytes_max = WHY_MAX, .keeps_tail = true}},
                          .deadline_ms = ROTATE_MS,
                          .done = node_host_key_finish,
                          .context = rotation,
                      });
    buf_wipe(&key);
}

/* ---- installing: the privileged process ---- */

/*
 * Reads the argv of the listening sshd from its process title and appends "-t". `pid` is an
 * ancestor of this process. The title is "sshd: /usr/sbin/sshd -D [listener] 0 of 10-100 startups";
 * before OpenSSH 8.2 it is the plain argv. Per-connection processes show the user's name instead.
 */
static bool listener_words(int64_t pid, struct arena *arena, const char **words)
{
    AUTO_BUF struct buf title;
    size_t count = 0;
    buf_init(&title, TITLE_MAX);
    if (!process_is_named(pid, "sshd") || !process_read_line(pid, &title)) {
        return false;
    }
    struct str rest = str_trim(buf_str(&title));
    size_t mark = str_find(rest, " [listener]");
    if (str_starts(rest, "sshd: ")) {
        rest = mark != SIZE_MAX ? str_sub(rest, 6, mark) : STR("");
    }
    while (rest.len > 0 && count < WORDS_MAX - 2) {
        words[count++] = arena_str(arena, str_cut(&rest, ' ')).ptr;
    }
    words[count] = count > 0 ? "-t" : NULL;
    words[count + 1] = NULL;
    return count > 0 && words[0][0] == '/';
}

struct node_host_key_trial {
    struct loop *loop;
    bool is_ok;
};

static void on_host_key(void *context, const struct child_result *result)
{
    struct node_host_key_trial *trial = context;
    trial->is_ok = child_was_fine(result);
    loop_stop(trial->loop);
}

/* Runs `sshd -t`. An sshd that rejects its configuration would exit on SIGHUP. */
static bool would_start(const char *const *words)
{
    struct node_host_key_trial trial = {0};
    struct err err;
    if (!loop_open(&clock_of_machine, &trial.loop, &err)) {
        return false;
    }
    struct child_pool *pool = child_pool_new(trial.loop, 1);
    child_start(pool, &(struct child_spec){.argv = words,
                                           .env_names = child_usual_env,
                                           .deadline_ms = ROTATE_MS / 2,
                                           .done = on_host_key,
                                           .context = &trial});
    loop_run(trial.loop);
    child_pool_free(pool);
    loop_close(trial.loop);
    return trial.is_ok;
}

/* Reloads the listening sshd. Without a listener (socket activation), each new sshd reads the new
 * key anyway. */
static bool tell_sshd(struct arena *arena, struct err *err)
{
    const char **words = ARENA_ARRAY(arena, WORDS_MAX, const char *);
    for (int64_t pid = getpid(); pid > 0; pid = process_parentage(pid).parent) {
        if (!listener_words(pid, arena, words)) {
            continue;
        }
        if (!would_start(words)) {
            return err_set(err, ERR_CONFIG, "the sshd configuration is invalid (run: sshd -t)");
        }
        return kill((pid_t)pid, SIGHUP) == 0 ||
               err_set(err, ERR_IO, "cannot make sshd load its new host key");
    }
    return true;
}

static bool node_host_key_do_install(struct arena *arena, struct str key, struct err *err)
{
    const char *path = host_key_file();
    const char *public = arena_printf(arena, "%s.pub", path).ptr;
    static const char end[] = "-----END OPENSSH PRIVATE KEY-----\n";
    size_t private_end = str_find(key, end);
    if (!str_starts(key, "-----BEGIN OPENSSH PRIVATE KEY-----\n") || private_end == SIZE_MAX) {
        return err_set(err, ERR_PROTOCOL, "no host key was received");
    }
    private_end += sizeof(end) - 1;
    struct str line = arena_printf(arena, "%.*s\n",
                                   STR_ARG(str_trim(str_sub(key, private_end, key.len))));
    /* If the public file is missing, sshd derives it from the private key; if it does not match,
     * sshd refuses the key. */
    unlink(public);
    return file_write(path, str_sub(key, 0, private_end), 0600, err) &&
           file_write(public, line, 0644, err) && tell_sshd(arena, err);
}

int node_host_key_install(void)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct buf key;
    struct err err = {0};
    buf_init(&key, SSH_KEY_TEXT_BYTES_MAX * 2);
    bool ok = file_read("-", &key, &err) && node_host_key_do_install(&arena, buf_str(&key), &err);
    if (!ok) {
        fprintf(stderr, "%s\n", err.text);
    }
    buf_wipe(&key);
    return ok ? 0 : 1;
}
