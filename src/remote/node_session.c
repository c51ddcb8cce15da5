/* node_session.c: what is said over a link, in its order. */
#include "remote/node_session.h"

#include "base/encode.h"
#include "io/heap.h"
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
    AGAIN_MS = 10 * 60 * 1000, /* how long a broken link is tried to be mended */
    PIECE_BYTES = 256 * 1024,
    ENDS_MAX = 3, /* so often the program there may end before its time */
};

/* Exit statuses of the script below. */
enum { NO_FOLDER = 125, NOT_WRITTEN = 124, CANNOT_RUN = 126, NOT_FOUND = 127 };

#define ANSWER "shoal-node 1 "

/*
 * For any login shell, so one line and no single quote inside. Says what the machine is and which
 * program it has, is told how many bytes of another one come (0: it has the right one), and becomes
 * that program. The steps must have the user's own umask.
 */
static const char script[] =
    "exec sh -c '"
    "u=$(umask); umask 077; p=$HOME/.shoal/bin; f=$p/shoal; t=$f.$$; "
    "mkdir -p \"$p\" || exit 125; "
    "s=$(sha256sum \"$f\" 2>/dev/null); s=${s%% *}; "
    "echo \"" ANSWER "$(uname -m) ${s:--}\"; "
    "read -r n || exit 123; "
    "[ \"$n\" = 0 ] || { head -c \"$n\" >\"$t\" && [ $(wc -c <\"$t\") -eq \"$n\" ] && "
    "chmod 700 \"$t\" && mv -f \"$t\" \"$f\"; } || { rm -f \"$t\"; exit 124; }; "
    "umask $u; exec \"$f\" node serve'";

enum phase {
    WAITS,   /* for ssh */
    BEGINS,  /* the program is sent, or about to greet */
    GREETED, /* may be sent its request */
    ASKED,   /* was sent it */
    OVER,
};

struct node_session {
    struct node_session_setup setup; /* only what is not copied elsewhere: loop, hooks */
    struct node_link *link;
    struct arena arena; /* of the request: secrets */
    struct node_request request;
    bool has_request, was_greeted, is_rotated;
    struct str host_key; /* of the first greeting: pinned since */
    char run[NODE_RUN_SIZE];
    enum phase phase;
    unsigned ends; /* of the program there, since something was heard from it */

    int payload; /* its descriptor while it is sent, else -1 */
    struct buf out;
    size_t out_at;

    /* A runner tells everything from the beginning to whoever comes: what was heard is known by its
     * number, as long as it is the same run. */
    int64_t began_ms;
    size_t heard, at;
    char failed[256]; /* the step, for the error */

    int depth; /* hooks that are being called */
    bool is_closed;
};

/* ---- hooks ---- */

static void destroy(struct node_session *session)
{
    node_link_free(session->link);
    if (session->payload >= 0) {
        close(session->payload);
    }
    buf_wipe(&session->out);
    arena_clear(&session->arena);
    free(session);
}

/* False: the session was closed by the hook, and is gone. */
static bool left(struct node_session *session)
{
    if (--session->depth == 0 && session->is_closed) {
        destroy(session);
        return false;
    }
    return !session->is_closed;
}

static const struct node_session_hooks *enter(struct node_session *session)
{
    session->depth++;
    return &session->setup.hooks;
}

static void finish(struct node_session *session, bool is_ok, const struct err *err)
{
    if (session->phase != OVER) {
        struct err copy = err ? *err : (struct err){0};
        session->phase = OVER;
        const struct node_session_hooks *hooks = enter(session);
        hooks->done(hooks->context, is_ok, is_ok ? NULL : &copy);
        (void)left(session);
    }
}

static void tell_waiting(void *context, struct str why)
{
    struct node_session *session = context;
    const struct node_session_hooks *hooks = enter(session);
    hooks->waiting(hooks->context, why);
    (void)left(session);
}

/* ---- sending ---- */

static void let_payload_go(struct node_session *session)
{
    if (session->payload >= 0) {
        close(session->payload);
        session->payload = -1;
    }
}

/* The next piece; the one before has left. What cannot be read ends the link, and the script there
 * finds too few bytes. */
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
    if (session->payload >= 0) {
        char *room = heap_zeroed(PIECE_BYTES);
        ssize_t size = read(session->payload, room, PIECE_BYTES);
        if (size > 0) {
            node_link_write(session->link, (struct str){room, (size_t)size});
        } else {
            let_payload_go(session);
        }
        free(room);
    }
}

static void send_request(struct node_session *session)
{
    struct err err;
    session->request.run = str_from(session->run);
    session->request.host_key = session->host_key;
    buf_init(&session->out, NODE_REQUEST_BYTES_MAX);
    session->out_at = 0;
    if (!node_request_write(&session->request, &session->out, &err)) {
        finish(session, false, &err);
        return;
    }
    session->phase = ASKED;
    feed(session);
}

/* "shoal-node 1 x86_64 9f86d0..." */
static void send_payload(struct node_session *session, struct str line)
{
    struct arena arena;
    struct str path, rest = str_sub(line, sizeof(ANSWER) - 1, line.len);
    struct str machine = str_cut(&rest, ' ');
    char digest[PAYLOAD_DIGEST_SIZE], number[32];
    int64_t size;
    struct err err = {0};
    arena_init(&arena);
    const struct node_session_hooks *hooks = enter(session);
    bool ok = hooks->payload(hooks->context, machine, &arena, &path, &err);
    if (!left(session)) {
        arena_clear(&arena);
        return;
    }
    ok = ok && payload_digest(path.ptr, digest, &size, &err);
    if (ok && !str_is(str_trim(rest), digest)) {
        session->payload = open(path.ptr, O_RDONLY | O_CLOEXEC);
        ok = session->payload >= 0 || err_set(&err, ERR_IO, "%s: %s", path.ptr, strerror(errno));
    }
    arena_clear(&arena);
    if (!ok) {
        finish(session, false, &err);
        return;
    }
    session->phase = BEGINS;
    snprintf(number, sizeof(number), "%lld\n", session->payload >= 0 ? (long long)size : 0);
    node_link_write(session->link, str_from(number));
}

/* ---- hearing ---- */

static void tell_rotated(struct node_session *session, bool is_ok, struct str why)
{
    const struct node_session_hooks *hooks = enter(session);
    session->is_rotated = true;
    if (hooks->rotated) {
        hooks->rotated(hooks->context, is_ok, why);
    }
    (void)left(session);
}

static void greet_first(struct node_session *session, const struct node_hello *hello)
{
    const struct node_session_hooks *hooks = &session->setup.hooks;
    session->was_greeted = true;
    session->host_key = arena_str(&session->arena, hello->host_key);
    hooks->hello(hooks->context, hello);
}

static void greet_again(struct node_session *session, const struct node_hello *hello)
{
    bool was_lost = session->host_key.len > 0 && hello->host_key.len == 0 && !session->is_rotated;
    if (session->has_request) {
        send_request(session);
    }
    if (was_lost && !session->is_closed) { /* with the link: the word that the key is in place */
        tell_rotated(session, true, STR(""));
    }
}

static void take_hello(struct node_session *session, struct str line)
{
    struct arena arena;
    struct node_hello hello;
    struct err err;
    arena_init(&arena);
    if (node_hello_read(line, &arena, &hello, &err)) {
        session->phase = GREETED;
        enter(session);
        if (session->was_greeted) {
            greet_again(session, &hello);
        } else {
            greet_first(session, &hello);
        }
        (void)left(session);
    }
    arena_clear(&arena);
}

static void describe_failure(const struct node_session *session, struct err *err)
{
    err_set(err, ERR_UNAVAILABLE, "%s",
            session->failed[0] ? session->failed : "the set-up was stopped on the node");
}

static void note_failure(struct node_session *session, const struct step_event *event)
{
    char how[64];
    if (event->is_late) {
        snprintf(how, sizeof(how), "did not finish in time");
    } else if (event->signal > 0) {
        snprintf(how, sizeof(how), "was ended by signal %d", event->signal);
    } else {
        snprintf(how, sizeof(how), "ended with status %d", event->status);
    }
    snprintf(session->failed, sizeof(session->failed),
             "\"%.*s\" %s; all it said is in ~/.shoal/steps/log/%zu there",
             STR_ARG(str_sub(event->name, 0, 120)), how, event->step + 1);
}

static void take_event(struct node_session *session, const struct step_event *event)
{
    struct err err;
    if (event->kind == STEP_BUNDLE_BEGAN) {
        session->at = 0;
        if (event->wall_ms != session->began_ms) {
            session->began_ms = event->wall_ms;
            session->heard = 0;
        }
        if (event->run.len == NODE_RUN_SIZE - 1) { /* of another session, when it was begun there */
            memcpy(session->run, event->run.ptr, NODE_RUN_SIZE - 1);
        }
    }
    session->ends = 0;
    if (++session->at <= session->heard) {
        return;
    }
    session->heard = session->at;
    if (event->kind == STEP_FAILED) {
        note_failure(session, event);
    }
    const struct node_session_hooks *hooks = enter(session);
    hooks->event(hooks->context, event);
    if (!left(session)) {
        return;
    }
    if (event->kind == STEP_BUNDLE_DONE) {
        finish(session, true, NULL);
    } else if (event->kind == STEP_BUNDLE_FAILED) {
        describe_failure(session, &err);
        finish(session, false, &err);
    }
}

static void take_notice(struct node_session *session, const struct node_notice *notice)
{
    struct err err;
    switch (notice->kind) {
    case NODE_WAITS:
        tell_waiting(session, notice->text);
        break;
    case NODE_ROTATED:
    case NODE_NOT_ROTATED:
        tell_rotated(session, notice->kind == NODE_ROTATED, notice->text);
        break;
    case NODE_TROUBLE:
        err_set(&err, ERR_UNAVAILABLE, "%.*s", STR_ARG(notice->text));
        finish(session, false, &err);
        break;
    case NODE_NOTICE_KIND_COUNT:
        break;
    }
}

/* What profiles of the user's print is passed over. */
static void take_line(void *context, struct str line)
{
    struct node_session *session = context;
    struct arena arena;
    struct step_event event;
    struct node_notice notice;
    struct err err;
    if (session->phase == WAITS && str_starts(line, ANSWER)) {
        send_payload(session, line);
        return;
    }
    arena_init(&arena);
    if (node_notice_read(line, &arena, &notice)) {
        take_notice(session, &notice);
    } else if (session->phase == BEGINS) {
        take_hello(session, line);
    } else if (session->phase == ASKED && step_event_read(line, &arena, &event, &err)) {
        take_event(session, &event);
    }
    arena_clear(&arena);
}

/* ---- the end of a link ---- */

static void describe_end(const struct node_session *session, int status, struct str why,
                         struct err *err)
{
    switch (status) {
    case NO_FOLDER:
        err_set(err, ERR_IO, "~/.shoal/bin cannot be made there: %.*s", STR_ARG(why));
        break;
    case NOT_WRITTEN:
        err_set(err, ERR_IO,
                "this program could not be written to ~/.shoal/bin there: %.*s (a full disk? `df "
                "-h` says)",
                STR_ARG(why));
        break;
    case CANNOT_RUN:
    case NOT_FOUND:
        err_set(err, ERR_UNAVAILABLE,
                "this program cannot run there: %.*s (another architecture, a library that is "
                "missing, or a home mounted with noexec?)",
                STR_ARG(why));
        break;
    default:
        err_set(err, ERR_UNAVAILABLE, "%s ended with status %d: %.*s",
                session->phase == WAITS ? "the login shell there" : "what sets the node up", status,
                STR_ARG(why));
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
    snprintf(text, sizeof(text), "the connection broke: %.*s", STR_ARG(why));
    tell_waiting(session, str_from(text));
}

static void take_end(void *context, enum node_link_end end, int status, struct str why,
                     const struct err *given)
{
    struct node_session *session = context;
    struct err err;
    bool is_late = session->phase == GREETED || session->phase == ASKED;
    if (session->phase == OVER) {
        return;
    }
    if (end == NODE_LINK_FAILED) {
        finish(session, false, given);
    } else if (end == NODE_LINK_BROKE || (is_late && ++session->ends < ENDS_MAX)) {
        open_again(session, why);
    } else {
        describe_end(session, status, why, &err);
        finish(session, false, &err);
    }
}

/* ---- the object ---- */

struct node_session *node_session_open(const struct node_session_setup *setup)
{
    struct node_session *session = HEAP_NEW(struct node_session);
    unsigned char dice[(NODE_RUN_SIZE - 1) / 2];
    session->setup = *setup;
    session->payload = -1;
    arena_init_secret(&session->arena);
    RAND_bytes(dice, sizeof(dice));
    encode_hex_to(session->run, dice, sizeof(dice));
    session->link = node_link_new(&(struct node_link_setup){
        .loop = setup->loop,
        .children = setup->children,
        .place = setup->place,
        .command = str_from(script),
        .answers = ANSWER,
        .hooks = {.context = session,
                  .waiting = tell_waiting,
                  .line = take_line,
                  .drained = feed,
                  .ended = take_end},
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
        send_request(session);
    }
}

void node_session_close(struct node_session *session)
{
    if (session && session->depth > 0) {
        session->is_closed = true;
        node_link_close(session->link);
    } else if (session) {
        destroy(session);
    }
}
