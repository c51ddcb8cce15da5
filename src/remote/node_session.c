/* node_session.c: the client's side of the protocol on a link. */
#include "remote/node_session.h"

#include "base/encode.h"
#include "io/xalloc.h"
#include "remote/node_link.h"
#include "remote/payload_digest.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    CONTACT_MS = 15 * 60 * 1000,
    AGAIN_MS = 10 * 60 * 1000, /* how long to reconnect after a broken link */
    PIECE_BYTES = 32 * 1024,   /* in memory for each of hundreds of sessions */
    /* How much of the program a near node must write before it gets more. sshd accepts 2 MB more
     * than the node has read, and spends four times as long on them: it copies and clears all of
     * them for each packet. Other nodes get all at once, because each answer takes a round trip. */
    PART_BYTES = 1024 * 1024,
    ENDS_MAX = 3, /* how often the remote program may exit early */
};

/* Exit statuses of the script below. */
enum { NO_FOLDER = 125, NOT_WRITTEN = 124, CANNOT_RUN = 126, NOT_FOUND = 127 };

#define ANSWER "shoal-node 1 "
#define MORE "more"

/*
 * Works in any login shell, so it is one line without single quotes inside. Prints the architecture
 * and the digest of the installed program, reads the length of a new program (0: keep the installed
 * one), the length of its parts and the program itself, and execs it. It asks for every part but
 * the first. The steps must run with the user's own umask.
 */
static const char script[] =
    "exec sh -c 'u=$(umask); umask 077; p=$HOME/.shoal/bin; f=$p/shoal; t=$f.$$; mkdir -p \"$p\" "
    "|| exit 125; s=$(sha256sum \"$f\" 2>/dev/null); s=${s%% *}; echo \"" ANSWER
    "$(uname -m) ${s:--}\"; read -r n c || exit 123; a=$n; [ \"$n\" = 0 ] || { { while [ \"$n\" "
    "-gt \"$c\" ] && head -c \"$c\"; do n=$((n - c)); echo " MORE " >&3; done; [ \"$n\" -le \"$c\" "
    "] && head -c \"$n\"; } 3>&1 >\"$t\" && [ $(wc -c <\"$t\") -eq \"$a\" ] && chmod 700 \"$t\" && "
    "mv -f \"$t\" \"$f\"; } || { rm -f \"$t\"; exit 124; }; umask $u; exec \"$f\" node serve'";

enum phase {
    WAITS,   /* connecting */
    BEGINS,  /* sending the program, or waiting for its greeting */
    GREETED, /* ready for the request */
    ASKED,   /* request sent */
    OVER,
};

struct node_session {
    struct node_session_setup setup; /* only the fields not copied elsewhere: loop, hooks */
    struct node_link *link;
    struct arena arena; /* the request, which has secrets */
    struct node_request request;
    bool has_request, was_greeted, is_rotated;
    struct str host_key; /* host key from the first greeting, pinned since then */
    char run[NODE_RUN_SIZE];
    enum phase phase;
    unsigned ends; /* early exits of the remote program since its last message */

    int payload;       /* open descriptor while the program is sent, otherwise -1 */
    size_t part_bytes; /* of the program, that may be sent before the node asks for more */
    struct buf out;
    size_t out_at;

    /* A follower reports every event from the first one. Events are identified by their number as
     * long as the run (its start time) is the same. */
    int64_t began_ms;
    size_t seen_count, at;
    char failed[256]; /* describes the failed step for the error */

    int holds; /* entry points that are running */
    bool is_closed;
};

/* ---- lifetime ---- */

static void node_session_free(struct node_session *session)
{
    node_link_free(session->link);
    if (session->payload >= 0) {
        close(session->payload);
    }
    buf_wipe(&session->out);
    arena_clear(&session->arena);
    free(session);
}

/*
 * Any hook may close the session. The functions that the link and the caller call hold it while
 * they run, and the last one to release it frees it. So it is valid everywhere in between, and only
 * `is_closed` has to be checked after a hook.
 */
static void node_session_hold(struct node_session *session)
{
    session->holds++;
}

static void node_session_release(struct node_session *session)
{
    if (--session->holds == 0 && session->is_closed) {
        node_session_free(session);
    }
}

/* ---- hooks ---- */

static void node_session_finish(struct node_session *session, bool is_ok, const struct err *err)
{
    if (session->phase != OVER) {
        const struct node_session_hooks *hooks = &session->setup.hooks;
        struct err copy = err ? *err : (struct err){0};
        session->phase = OVER;
        hooks->done(hooks->context, is_ok, is_ok ? NULL : &copy);
    }
}

static void node_session_tell_waiting(struct node_session *session, struct str why)
{
    const struct node_session_hooks *hooks = &session->setup.hooks;
    hooks->waiting(hooks->context, why);
}

static void node_session_on_waiting(void *context, struct str why)
{
    struct node_session *session = context;
    node_session_hold(session);
    node_session_tell_waiting(session, why);
    node_session_release(session);
}

/* ---- sending ---- */

static void let_payload_go(struct node_session *session)
{
    if (session->payload >= 0) {
        close(session->payload);
        session->payload = -1;
    }
}

/* Sends the next piece when the previous one was written. A read error closes the link; the script
 * on the node then notices that bytes are missing. */
static void feed(void *context)
{
    struct node_session *session = context;
    struct str piece = str_sub(buf_str(&session->out), session->out_at,
                               session->out_at + PIECE_BYTES);
    if (piece.len > 0) {
        session->out_at += piece.len;
        node_link_write(session->link, piece);
        return;
    }
    buf_wipe(&session->out);
    session->out_at = 0;
    if (session->payload >= 0 && session->part_bytes > 0) {
        char *room = heap_zeroed(PIECE_BYTES);
        size_t most = session->part_bytes < PIECE_BYTES ? session->part_bytes : PIECE_BYTES;
        ssize_t size = read(session->payload, room, most);
        if (size > 0) {
            session->part_bytes -= (size_t)size;
            node_link_write(session->link, (struct str){room, (size_t)size});
        } else {
            let_payload_go(session);
        }
        free(room);
    }
}

static void node_session_send_request(struct node_session *session)
{
    struct err err;
    session->request.run = str_from(session->run);
    session->request.host_key = session->host_key;
    buf_init(&session->out, NODE_REQUEST_BYTES_MAX);
    session->out_at = 0;
    if (!node_request_write(&session->request, &session->out, &err)) {
        node_session_finish(session, false, &err);
        return;
    }
    session->phase = ASKED;
    feed(session);
}

/* "shoal-node 1 x86_64 9f86d0..." */
static void send_payload(struct node_session *session, struct str line)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct str path, rest = str_sub(line, sizeof(ANSWER) - 1, line.len);
    struct str machine = str_cut(&rest, ' ');
    char digest[PAYLOAD_DIGEST_SIZE], numbers[64];
    int64_t size = 0;
    struct err err = {0};
    const struct node_session_hooks *hooks = &session->setup.hooks;
    bool ok = hooks->payload(hooks->context, machine, &arena, &path, &err);
    if (session->is_closed) {
        return;
    }
    ok = ok && payload_digest(path.ptr, digest, &size, &err);
    if (ok && !str_is(str_trim(rest), digest)) {
        session->payload = open(path.ptr, O_RDONLY | O_CLOEXEC);
        ok = session->payload >= 0 || err_set(&err, ERR_IO, "%s: %s", path.ptr, strerror(errno));
    }
    if (!ok) {
        node_session_finish(session, false, &err);
        return;
    }
    session->phase = BEGINS;
    session->part_bytes = session->setup.place.is_near ? PART_BYTES : (size_t)size;
    snprintf(numbers, sizeof(numbers), "%lld %zu\n", session->payload >= 0 ? (long long)size : 0,
             session->part_bytes);
    node_link_write(session->link, str_from(numbers));
}

static void send_part(struct node_session *session)
{
    session->part_bytes = PART_BYTES;
    feed(session);
}

/* ---- receiving ---- */

static void tell_rotated(struct node_session *session, bool is_ok, struct str why)
{
    const struct node_session_hooks *hooks = &session->setup.hooks;
    session->is_rotated = true;
    if (hooks->rotated) {
        hooks->rotated(hooks->context, is_ok, why);
    }
}

static void greet_first(struct node_session *session, const struct node_hello *hello)
{
    const struct node_session_hooks *hooks = &session->setup.hooks;
    struct node_hello shown = *hello;
    if (session->setup.keeps_host_key) {
        shown.host_key = shown.shown_key = STR("");
    }
    session->was_greeted = true;
    session->host_key = arena_str(&session->arena, shown.host_key);
    hooks->hello(hooks->context, &shown);
}

static void greet_again(struct node_session *session, const struct node_hello *hello)
{
    bool was_lost = session->host_key.len > 0 && str_eq(hello->shown_key, session->host_key) &&
                    !session->is_rotated;
    if (session->has_request) {
        node_session_send_request(session);
    }
    if (was_lost && !session->is_closed) { /* the notice was lost when the link broke */
        tell_rotated(session, true, STR(""));
    }
}

static void take_hello(struct node_session *session, struct str line)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct node_hello hello;
    struct err err;
    if (node_hello_read(line, &arena, &hello, &err)) {
        session->phase = GREETED;
        if (session->was_greeted) {
            greet_again(session, &hello);
        } else {
            greet_first(session, &hello);
        }
    }
}

static void describe_failure(const struct node_session *session, struct err *err)
{
    err_set(err, ERR_UNAVAILABLE, "%s",
            session->failed[0] ? session->failed : "the setup was stopped on the node");
}

static void node_session_note_failure(struct node_session *session, const struct step_event *event)
{
    char how[64];
    if (event->is_late) {
        snprintf(how, sizeof(how), "did not finish in time");
    } else if (event->signal > 0) {
        snprintf(how, sizeof(how), "was killed by signal %d", event->signal);
    } else {
        snprintf(how, sizeof(how), "exited with status %d", event->status);
    }
    snprintf(session->failed, sizeof(session->failed),
             "\"%.*s\" %s; its complete output is in ~/.shoal/steps/log/%zu on the node",
             STR_ARG(str_sub(event->name, 0, 120)), how, event->step + 1);
}

static void node_session_take_event(struct node_session *session, const struct step_event *event)
{
    struct err err;
    if (event->kind == STEP_BUNDLE_BEGAN) {
        session->at = 0;
        if (event->wall_ms != session->began_ms) {
            session->began_ms = event->wall_ms;
            session->seen_count = 0;
        }
        if (event->run.len == NODE_RUN_SIZE - 1) { /* may be another session's */
            memcpy(session->run, event->run.ptr, NODE_RUN_SIZE - 1);
        }
    }
    session->ends = 0;
    if (++session->at <= session->seen_count) {
        return;
    }
    session->seen_count = session->at;
    if (event->kind == STEP_FAILED) {
        node_session_note_failure(session, event);
    }
    const struct node_session_hooks *hooks = &session->setup.hooks;
    hooks->event(hooks->context, event);
    if (session->is_closed) {
        return;
    }
    if (event->kind == STEP_BUNDLE_DONE) {
        node_session_finish(session, true, NULL);
    } else if (event->kind == STEP_BUNDLE_FAILED) {
        describe_failure(session, &err);
        node_session_finish(session, false, &err);
    }
}

static void node_session_take_notice(struct node_session *session, const struct node_notice *notice)
{
    struct err err;
    switch (notice->kind) {
    case NODE_WAITS:
        node_session_tell_waiting(session, notice->text);
        break;
    case NODE_ROTATED:
    case NODE_NOT_ROTATED:
        tell_rotated(session, notice->kind == NODE_ROTATED, notice->text);
        break;
    case NODE_TROUBLE:
        err_set(&err, ERR_UNAVAILABLE, "%.*s", STR_ARG(notice->text));
        node_session_finish(session, false, &err);
        break;
    case NODE_NOTICE_KIND_COUNT:
        break;
    }
}

/* Ignores output of the user's shell profiles. */
static void node_session_read_line(struct node_session *session, struct str line)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct step_event event;
    struct node_notice notice;
    struct err err;
    if (session->phase == WAITS && str_starts(line, ANSWER)) {
        send_payload(session, line);
        return;
    }
    if (node_notice_read(line, &arena, &notice)) {
        node_session_take_notice(session, &notice);
    } else if (session->phase == BEGINS && str_is(line, MORE)) {
        send_part(session);
    } else if (session->phase == BEGINS) {
        take_hello(session, line);
    } else if (session->phase == ASKED && step_event_read(line, &arena, &event, &err)) {
        node_session_take_event(session, &event);
    }
}

static void node_session_on_line(void *context, struct str line)
{
    struct node_session *session = context;
    node_session_hold(session);
    node_session_read_line(session, line);
    node_session_release(session);
}

/* ---- when a link ends ---- */

static void node_session_describe_end(const struct node_session *session, int status,
                                      struct str why, struct err *err)
{
    switch (status) {
    case NO_FOLDER:
        err_set(err, ERR_IO, "cannot create ~/.shoal/bin on the node: %.*s", STR_ARG(why));
        break;
    case NOT_WRITTEN:
        err_set(err, ERR_IO,
                "cannot write the shoal program to ~/.shoal/bin on the node: %.*s (if the disk "
                "is full, `df -h` shows it)",
                STR_ARG(why));
        break;
    case CANNOT_RUN:
    case NOT_FOUND:
        err_set(err, ERR_UNAVAILABLE,
                "the shoal program cannot run on the node: %.*s (wrong architecture, a missing "
                "library, or a home directory mounted with noexec)",
                STR_ARG(why));
        break;
    default:
        err_set(err, ERR_UNAVAILABLE, "%s exited with status %d: %.*s",
                session->phase == WAITS ? "the login shell on the node" : "the setup program",
                status, STR_ARG(why));
    }
}

static void open_again(struct node_session *session, struct str why)
{
    char text[600];
    buf_wipe(&session->out);
    let_payload_go(session);
    session->phase = WAITS;
    session->at = 0;
    node_link_open(session->link, AGAIN_MS);
    snprintf(text, sizeof(text), "the connection was lost: %.*s", STR_ARG(why));
    node_session_tell_waiting(session, str_from(text));
}

static void node_session_take_end(struct node_session *session, enum node_link_end end, int status,
                                  struct str why, const struct err *given)
{
    struct err err;
    bool is_late = session->phase == GREETED || session->phase == ASKED;
    if (session->phase == OVER) {
        return;
    }
    if (end == NODE_LINK_FAILED) {
        node_session_finish(session, false, given);
    } else if (end == NODE_LINK_BROKE || (is_late && ++session->ends < ENDS_MAX)) {
        open_again(session, why);
    } else {
        node_session_describe_end(session, status, why, &err);
        node_session_finish(session, false, &err);
    }
}

static void node_session_on_end(void *context, enum node_link_end end, int status, struct str why,
                                const struct err *given)
{
    struct node_session *session = context;
    node_session_hold(session);
    node_session_take_end(session, end, status, why, given);
    node_session_release(session);
}

/* ---- the object ---- */

struct node_session *node_session_open(const struct node_session_setup *setup)
{
    struct node_session *session = HEAP_NEW(struct node_session);
    unsigned char rng[(NODE_RUN_SIZE - 1) / 2];
    session->setup = *setup;
    session->payload = -1;
    arena_init_secret(&session->arena);
    RAND_bytes(rng, sizeof(rng));
    encode_hex_to(session->run, rng, sizeof(rng));
    session->link = node_link_new(&(struct node_link_setup){
        .loop = setup->loop,
        .children = setup->children,
        .place = setup->place,
        .command = str_from(script),
        .answers = ANSWER,
        .hooks = {.context = session,
                  .waiting = node_session_on_waiting,
                  .line = node_session_on_line,
                  .drained = feed,
                  .ended = node_session_on_end},
    });
    node_link_open(session->link, setup->contact_ms > 0 ? setup->contact_ms : CONTACT_MS);
    return session;
}

static struct bundle copy_bundle(struct arena *arena, const struct bundle *bundle)
{
    struct step *steps = ARENA_ARRAY(arena, bundle->count, struct step);
    for (size_t i = 0; i < bundle->count; i++) {
        const struct step *from = &bundle->steps[i];
        struct step_variable *variables = ARENA_ARRAY(arena, from->variable_count,
                                                      struct step_variable);
        for (size_t j = 0; j < from->variable_count; j++) {
            variables[j].name = arena_str(arena, from->variables[j].name);
            variables[j].value = arena_str(arena, from->variables[j].value);
        }
        steps[i] = *from;
        steps[i].name = arena_str(arena, from->name);
        steps[i].command = arena_str(arena, from->command);
        steps[i].variables = variables;
    }
    return (struct bundle){steps, bundle->count};
}

void node_session_send(struct node_session *session, const struct node_request *request)
{
    struct node_file *files = ARENA_ARRAY(&session->arena, request->file_count, struct node_file);
    for (size_t i = 0; i < request->file_count; i++) {
        files[i] = request->files[i];
        files[i].path = arena_str(&session->arena, files[i].path);
        files[i].bytes = arena_str(&session->arena, files[i].bytes);
    }
    session->request = (struct node_request){
        .files = files,
        .file_count = request->file_count,
        .bundle = copy_bundle(&session->arena, &request->bundle),
    };
    if (request->run.len == NODE_RUN_SIZE - 1) {
        memcpy(session->run, request->run.ptr, NODE_RUN_SIZE - 1);
    }
    session->has_request = true;
    if (session->phase == GREETED) {
        node_session_hold(session);
        node_session_send_request(session);
        node_session_release(session);
    }
}

void node_session_close(struct node_session *session)
{
    if (session && session->holds > 0) {
        session->is_closed = true;
        node_link_close(session->link);
    } else if (session) {
        node_session_free(session);
    }
}
