/* node_serve.c: the node's side of a session. */
#include "remote/node_serve.h"

#include "io/file.h"
#include "io/hangup.h"
#include "remote/node_host_key.h"
#include "remote/node_request.h"
#include "remote/step_event.h"
#include "remote/step_run.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 256 * 1024, PIECE_BYTES = 64 * 1024, STARTS_MAX = 3 };

struct serve {
    struct arena arena;
    const char *home, *folder, *steps; /* ~, ~/.shoal, ~/.shoal/steps */
    struct str host_key;               /* sent in the greeting */
    int64_t handover;                  /* sent in the greeting */
    struct loop *loop;
    bool is_link_gone, is_over, is_ok, is_rotating;
};

/* ---- sending ---- */

/* sshd uses one socket for both directions, which is non-blocking while it is watched. */
static void node_serve_send(struct serve *serve, struct str bytes)
{
    while (bytes.len > 0 && !serve->is_link_gone) {
        ssize_t size = write(STDOUT_FILENO, bytes.ptr, bytes.len);
        if (size >= 0) {
            bytes = str_sub(bytes, (size_t)size, bytes.len);
        } else if (errno == EAGAIN) {
            struct pollfd ready = {.fd = STDOUT_FILENO, .events = POLLOUT};
            (void)poll(&ready, 1, -1);
        } else if (errno != EINTR) {
            serve->is_link_gone = true;
        }
    }
}

static void say_notice(struct serve *serve, enum node_notice_kind kind, struct str text)
{
    AUTO_BUF struct buf line;
    buf_init(&line, LINE_MAX_BYTES);
    node_notice_write(&(struct node_notice){kind, text}, &line);
    node_serve_send(serve, buf_str(&line));
}

static int trouble(struct serve *serve, const struct err *err)
{
    say_notice(serve, NODE_TROUBLE, str_from(err->text));
    return 1;
}

/* ---- greeting ---- */

/* PRETTY_NAME="Debian GNU/Linux 12 (bookworm)" */
static struct str os_name(struct arena *arena)
{
    AUTO_BUF struct buf text;
    struct err err;
    buf_init(&text, 64 * 1024);
    if (file_read("/etc/os-release", &text, &err)) {
        struct str rest = buf_str(&text);
        while (rest.len > 0) {
            struct str line = str_trim(str_cut(&rest, '\n'));
            if (str_starts(line, "PRETTY_NAME=")) {
                line = str_sub(line, 12, line.len);
                bool is_quoted = line.len > 1 && (line.ptr[0] == '"' || line.ptr[0] == '\'');
                return arena_str(arena, is_quoted ? str_sub(line, 1, line.len - 1) : line);
            }
        }
    }
    return STR("");
}

static void node_serve_greet(struct serve *serve)
{
    AUTO_BUF struct buf line;
    struct utsname machine = {0};
    struct statvfs disk = {0};
    struct sysinfo memory = {0};
    buf_init(&line, LINE_MAX_BYTES);
    uname(&machine);
    (void)statvfs(serve->home, &disk);
    (void)sysinfo(&memory);
    const char *user = getenv("USER");
    serve->host_key = node_host_key_next(&serve->arena, serve->folder);
    node_hello_write(
        &(struct node_hello){
            .protocol = NODE_PROTOCOL,
            .version = STR(SHOAL_VERSION),
            .machine = str_from(machine.machine),
            .os = os_name(&serve->arena),
            .user = str_from(user ? user : getenv("LOGNAME")),
            .home = str_from(serve->home),
            .host_key = serve->host_key,
            .shown_key = node_host_key_shown(&serve->arena, serve->folder),
            .disk_free = (int64_t)(disk.f_bavail * disk.f_frsize),
            .disk_size = (int64_t)(disk.f_blocks * disk.f_frsize),
            .memory = (int64_t)memory.totalram * memory.mem_unit,
            .processors = sysconf(_SC_NPROCESSORS_ONLN),
            .handover = serve->handover,
        },
        &line);
    node_serve_send(serve, buf_str(&line));
}

/* ---- the request ---- */

/* Waits for a whole line. False if the client disconnected. */
static bool on_line(struct buf *line)
{
    char *piece = malloc(PIECE_BYTES);
    bool is_whole = false;
    while (piece && !is_whole && !line->is_full) {
        ssize_t size = read(STDIN_FILENO, piece, PIECE_BYTES);
        if (size == 0 || (size < 0 && errno != EINTR)) {
            break;
        }
        struct str got = {piece, size > 0 ? (size_t)size : 0};
        size_t end = str_find_char(got, '\n');
        is_whole = end != SIZE_MAX;
        buf_add(line, str_sub(got, 0, is_whole ? end : got.len));
    }
    free(piece);
    return is_whole || line->is_full;
}

/* Our own folders are private; others get the user's umask. */
static bool node_serve_make_folders(struct serve *serve, char *path, struct err *err)
{
    struct str ours = arena_printf(&serve->arena, "%s/", serve->folder);
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        bool is_ours = strcmp(path, serve->folder) == 0 || str_starts(str_from(path), ours.ptr);
        bool ok = mkdir(path, is_ours ? 0700 : 0777) == 0 || errno == EEXIST;
        int fault = errno;
        if (!ok) {
            return err_set(err, ERR_IO, "%s: cannot be created: %s", path, strerror(fault));
        }
        *slash = '/';
    }
    return true;
}

static bool write_file(struct serve *serve, const struct node_file *file, struct err *err)
{
    struct str path = file->path;
    if (str_starts(path, "~/")) {
        path = arena_printf(&serve->arena, "%s/%.*s", serve->home,
                            STR_ARG(str_sub(path, 2, path.len)));
    }
    char *room = arena_alloc(&serve->arena, path.len + 1);
    memcpy(room, path.ptr, path.len);
    return node_serve_make_folders(serve, room, err) &&
           file_write(room, file->bytes, file->mode, err);
}

/* ---- the steps ---- */

/* Stops the setup of an older configuration instead of waiting for it. */
static bool start_steps(struct serve *serve, const struct node_request *request, struct err *err)
{
    AUTO_BUF struct buf text;
    char key[STEP_KEY_SIZE];
    buf_init(&text, BUNDLE_BYTES_MAX);
    if (!bundle_write(&request->bundle, &text, err)) {
        return false;
    }
    for (int i = 0; !step_run_start(serve->steps, buf_str(&text), request->run, key, err); i++) {
        if (err->kind != ERR_EXISTS || i == STARTS_MAX) {
            return false;
        }
        say_notice(serve, NODE_WAITS,
                   STR("stopping the previous setup, which is still running on the node"));
        if (!step_run_stop(serve->steps, err)) {
            return false;
        }
    }
    return true;
}

static void stop_if_over(struct serve *serve)
{
    if ((serve->is_over || serve->is_link_gone) && !serve->is_rotating) {
        loop_stop(serve->loop);
    }
}

static void copy_line(void *context, struct str line)
{
    struct serve *serve = context;
    node_serve_send(serve, line);
}

static void node_serve_finish(void *context, bool is_ok, const struct err *err)
{
    struct serve *serve = context;
    if (err) {
        (void)trouble(serve, err);
    }
    serve->is_over = true;
    serve->is_ok = is_ok;
    stop_if_over(serve);
}

static void on_hangup(void *context)
{
    struct serve *serve = context;
    serve->is_link_gone = true;
    stop_if_over(serve);
}

static void on_rotated(void *context, bool is_ok, struct str why)
{
    struct serve *serve = context;
    serve->is_rotating = false;
    say_notice(serve, is_ok ? NODE_ROTATED : NODE_NOT_ROTATED, is_ok ? STR("") : why);
    stop_if_over(serve);
}

/* The steps are running already; the host key is replaced at the same time. */
static bool node_serve_follow(struct serve *serve, const struct node_request *request,
                              struct err *err)
{
    bool has_steps = request->bundle.count > 0;
    bool is_pinned = serve->host_key.len > 0 && str_eq(request->host_key, serve->host_key);
    struct step_follow *steps = NULL;
    if (!loop_open(&clock_of_machine, &serve->loop, err)) {
        return false;
    }
    struct child_pool *pool = child_pool_new(serve->loop, 1);
    struct hangup *hangup = hangup_watch(serve->loop, STDIN_FILENO, on_hangup, serve);
    bool ok = !has_steps || step_follow_start(serve->loop, serve->steps, copy_line,
                                              node_serve_finish, serve, &steps, err);
    serve->is_over = !has_steps;
    serve->is_ok = !has_steps;
    if (ok && is_pinned) {
        serve->is_rotating = true;
        node_host_key_rotate(pool, serve->folder, on_rotated, serve);
    }
    if (ok && (!serve->is_over || serve->is_rotating)) {
        loop_run(serve->loop);
    }
    step_follow_end(steps);
    hangup_end(hangup);
    child_pool_free(pool);
    loop_close(serve->loop);
    return ok;
}

static int node_serve_answer(struct serve *serve, struct str line)
{
    struct node_request request;
    struct err err = {0};
    AUTO_BUF struct buf end;
    buf_init(&end, LINE_MAX_BYTES);
    bool ok = node_request_read(line, &serve->arena, &request, &err);
    for (size_t i = 0; ok && i < request.file_count; i++) {
        ok = write_file(serve, &request.files[i], &err);
    }
    bool has_steps = ok && request.bundle.count > 0;
    ok = ok && (!has_steps || start_steps(serve, &request, &err));
    if (ok && !has_steps) {
        step_event_write(&(struct step_event){.kind = STEP_BUNDLE_DONE}, &end);
        node_serve_send(serve, buf_str(&end));
    }
    ok = ok && node_serve_follow(serve, &request, &err);
    return ok ? !serve->is_ok : trouble(serve, &err);
}

int node_serve(int64_t handover)
{
    struct serve serve = {.handover = handover};
    struct buf line;
    struct err err = {0};
    arena_init_secret(&serve.arena);
    buf_init(&line, NODE_REQUEST_BYTES_MAX);
    serve.home = file_expand_home(&serve.arena, STR("~")).ptr;
    serve.folder = arena_printf(&serve.arena, "%s/.shoal", serve.home).ptr;
    serve.steps = arena_printf(&serve.arena, "%s/steps", serve.folder).ptr;
    int status = 0;
    if (!file_make_private_folder(serve.folder, &err)) {
        status = trouble(&serve, &err);
    } else {
        node_serve_greet(&serve);
        status = on_line(&line) ? node_serve_answer(&serve, buf_str(&line)) : 1;
    }
    buf_wipe(&line);
    arena_clear(&serve.arena);
    return status;
}
