/* node_link.c: connects by ssh: retries, classifies failures and gives up. */
#include "remote/node_link.h"

#include "io/tcp_probe.h"
#include "io/xalloc.h"
#include "remote/ssh_error.h"

#include <stdio.h>

enum {
    CONNECT_S = 10, /* includes the wait for the banner of a busy sshd */
    PORT = 22,
    PAUSE_FIRST_MS = 50,
    PAUSE_MOST_MS = 250,
    DENIED_PAUSE_MOST_MS = 2500, /* newer sshd penalize clients that fail often */
    BLIND_MS = 1000,             /* port still closed: try ssh anyway, it may use another route */
    ANSWER_MS = 60000,           /* time from the start of ssh to the first line */
    DENIED_MS = 60000,           /* cloud-init may install our key after sshd starts */
    HOST_KEY_MS = 60000, /* on some images sshd starts before cloud-init has replaced its keys */
    LINE_BYTES_MAX = 256 * 1024,
    STDERR_BYTES_MAX = 4096,
};

struct node_link {
    struct loop *loop;
    struct child_pool *children;
    struct arena arena; /* copies of the setup's data */
    struct ssh_target place;
    const char *const *argv;
    struct err argv_err;
    const char *answers;
    struct node_link_hooks hooks;

    struct child *ssh;
    struct tcp_probe *probe;
    struct loop_timer *again;  /* starts the next ssh */
    struct loop_timer *limit;  /* ANSWER_MS */
    struct loop_timer *expiry; /* contact_ms, all tries together */
    int64_t contact_ms, pause_ms;
    int64_t denied_ms, host_key_ms; /* start of these failures; 0: none */
    bool is_answered;
    bool is_port_open;  /* the probe found it open before this ssh started */
    bool is_direct;     /* ssh is known to connect directly, like the probe */
    bool is_probe_vain; /* ssh got further than the probe, so it uses another route */
    enum ssh_error trouble;
    char last[512]; /* last message of ssh or of the command */
    char told[512]; /* last reason passed to `waiting` */
    struct err err;
    struct loop_task fail;
};

static int64_t node_link_now_ms(const struct node_link *link)
{
    return loop_now_ms(link->loop);
}

/* Call hooks last: they may free the link. */
static void node_link_tell_waiting(struct node_link *link, struct str why)
{
    if (why.len > 0 && !str_is(why, link->told)) {
        snprintf(link->told, sizeof(link->told), "%.*s", STR_ARG(why));
        link->hooks.waiting(link->hooks.context, str_from(link->told));
    }
}

/* ---- stopping ---- */

static void node_link_pause(struct node_link *link)
{
    if (link->ssh) {
        child_forget(link->ssh);
        link->ssh = NULL;
    }
    tcp_probe_end(link->probe);
    link->probe = NULL;
    loop_timer_stop(link->again);
    loop_timer_stop(link->limit);
    loop_timer_stop(link->expiry);
    loop_later_cancel(link->loop, &link->fail);
}

static void node_link_do_end(struct node_link *link, enum node_link_end how, int status,
                             const struct err *err)
{
    node_link_pause(link);
    link->hooks.ended(link->hooks.context, how, status, str_from(link->last), err);
}

static void tell_failure(void *context)
{
    struct node_link *link = context;
    node_link_do_end(link, NODE_LINK_FAILED, 0, &link->err);
}

static const char *seconds_or_minutes(int64_t ms, char text[32])
{
    long long minutes = (long long)(ms / 60000);
    if (minutes > 0) {
        snprintf(text, 32, "%lld minute%s", minutes, minutes == 1 ? "" : "s");
    } else {
        snprintf(text, 32, "%lld s", (long long)(ms / 1000));
    }
    return text;
}

/* ---- classifying failures ---- */

static void describe_refusal(const struct node_link *link, struct err *err)
{
    if (link->trouble == SSH_HOST_KEY) {
        err_set(err, ERR_AUTH,
                "%.*s has a different host key than the one set at its first boot: its image does "
                "not run cloud-init, or another machine answers at that address. Nothing was sent "
                "to it. Known keys: %s (ssh: %s)",
                STR_ARG(link->place.machine), link->place.known_hosts, link->last);
    } else if (link->trouble == SSH_DENIED) {
        err_set(err, ERR_AUTH,
                "%.*s@%.*s rejects the key %s: check that ssh_user is the right user for this "
                "image and that the key pair matches this key (ssh: %s)",
                STR_ARG(link->place.user), STR_ARG(link->place.address),
                link->place.identity ? link->place.identity : "from your ssh agent or ~/.ssh",
                link->last);
    } else {
        err_set(err, ERR_CONFIG, "cannot use ssh: %s", link->last);
    }
}

static void expire(void *context)
{
    struct node_link *link = context;
    struct err err;
    char time[32];
    if (link->host_key_ms > 0) {
        describe_refusal(link, &err);
        node_link_do_end(link, NODE_LINK_FAILED, 0, &err);
        return;
    }
    err_set(&err, ERR_TIMEOUT,
            "%.*s@%.*s did not answer over ssh for %s (%s); check that the instance is running, "
            "that its address is reachable from here, and that the firewall allows port %u",
            STR_ARG(link->place.user), STR_ARG(link->place.address),
            seconds_or_minutes(link->contact_ms, time), link->told[0] ? link->told : "no answer",
            link->place.port > 0 ? link->place.port : PORT);
    node_link_do_end(link, NODE_LINK_FAILED, 0, &err);
}

/* Both a refused key and a wrong host key can be temporary while a machine boots. */
static bool is_final(struct node_link *link)
{
    int64_t now = node_link_now_ms(link);
    link->denied_ms = link->trouble != SSH_DENIED ? 0 : link->denied_ms ? link->denied_ms : now;
    link->host_key_ms = link->trouble != SSH_HOST_KEY ? 0
                        : link->host_key_ms           ? link->host_key_ms
                                                      : now;
    return link->trouble == SSH_MISUSED ||
           (link->denied_ms > 0 && now - link->denied_ms > DENIED_MS) ||
           (link->host_key_ms > 0 && now - link->host_key_ms > HOST_KEY_MS);
}

static void try_later(struct node_link *link)
{
    bool is_refused = link->trouble == SSH_DENIED || link->trouble == SSH_HOST_KEY;
    int64_t most = is_refused ? DENIED_PAUSE_MOST_MS : PAUSE_MOST_MS;
    loop_timer_start(link->again, link->pause_ms);
    link->pause_ms = link->pause_ms * 2 > most ? most : link->pause_ms * 2;
}

static void watch_port(struct node_link *link);

static void node_link_try_again(struct node_link *link)
{
    struct err err;
    if (is_final(link)) {
        describe_refusal(link, &err);
        node_link_do_end(link, NODE_LINK_FAILED, 0, &err);
        return;
    }
    if (link->trouble == SSH_UNREACHABLE) {
        link->is_direct = true;
        watch_port(link);
    } else {
        /* ssh got past the TCP connection, or took another route. */
        link->is_probe_vain = link->is_probe_vain || !link->is_port_open;
        tcp_probe_end(link->probe);
        link->probe = NULL;
        try_later(link);
    }
    node_link_tell_waiting(link, link->trouble == SSH_HOST_KEY
                                     ? STR("it shows another host key than the one for its first "
                                           "boot; nothing is sent until it shows that one")
                                     : str_from(link->last));
}

/* ---- running ssh ---- */

static void node_link_read_line(void *context, enum child_stream stream, struct str line)
{
    struct node_link *link = context;
    if (stream == CHILD_STDERR) {
        enum ssh_error trouble = ssh_error_of(line);
        link->trouble = trouble > link->trouble ? trouble : link->trouble;
        bool is_known = link->last[0] != '\0' && ssh_is_proxys_end(line);
        if (!ssh_is_chatter(line) && !is_known) {
            snprintf(link->last, sizeof(link->last), "%.*s", STR_ARG(line));
        }
    } else if (link->is_answered) {
        link->hooks.line(link->hooks.context, line);
    } else if (str_starts(line, link->answers)) {
        link->is_answered = true;
        link->told[0] = '\0';
        link->last[0] = '\0';
        tcp_probe_end(link->probe);
        link->probe = NULL;
        loop_timer_stop(link->limit);
        loop_timer_stop(link->expiry);
        loop_timer_stop(link->again);
        link->hooks.line(link->hooks.context, line);
    } else if (str_trim(line).len > 0) {
        snprintf(link->last, sizeof(link->last), "%.*s", STR_ARG(line));
    }
}

static void take_drained(void *context)
{
    struct node_link *link = context;
    if (link->is_answered) {
        link->hooks.drained(link->hooks.context);
    }
}

static void node_link_take_end(void *context, const struct child_result *result)
{
    enum { SSH_FAILED = 255 };
    struct node_link *link = context;
    link->ssh = NULL;
    loop_timer_stop(link->limit);
    bool is_ssh = result->end != CHILD_EXITED || result->exit_status == SSH_FAILED;
    if (link->last[0] == '\0') {
        snprintf(link->last, sizeof(link->last), "%s", result->err.text);
    }
    if (result->end == CHILD_NOT_STARTED && result->err.kind == ERR_NOT_FOUND) {
        node_link_do_end(link, NODE_LINK_FAILED, 0, &result->err);
    } else if (!is_ssh) {
        node_link_do_end(link, NODE_LINK_ENDED, result->exit_status, NULL);
    } else if (link->is_answered) {
        node_link_do_end(link, NODE_LINK_BROKE, 0, NULL);
    } else {
        node_link_try_again(link);
    }
}

static void start_ssh(struct node_link *link)
{
    link->is_answered = false;
    link->trouble = SSH_OTHER;
    link->last[0] = '\0';
    loop_timer_stop(link->again);
    link->ssh = child_start(link->children,
                            &(struct child_spec){
                                .argv = link->argv,
                                .env_names = child_usual_env,
                                .is_fed = true,
                                .drained = take_drained,
                                .output = {{LINE_BYTES_MAX, node_link_read_line, false},
                                           {STDERR_BYTES_MAX, node_link_read_line, false}},
                                .done = node_link_take_end,
                                .context = link,
                            });
    loop_timer_start(link->limit, ANSWER_MS);
}

/* The connection was accepted but nothing came. A child that still waits in the pool gets more
 * time. */
static void give_up_ssh(void *context)
{
    struct node_link *link = context;
    if (link->ssh && child_pid(link->ssh) == 0) {
        loop_timer_start(link->limit, ANSWER_MS);
        return;
    }
    if (link->ssh) {
        child_forget(link->ssh);
        link->ssh = NULL;
    }
    snprintf(link->last, sizeof(link->last), "connected, but no answer for %d s", ANSWER_MS / 1000);
    node_link_try_again(link);
}

/* ---- retrying ---- */

static void node_link_try_now(void *context)
{
    struct node_link *link = context;
    bool is_blind = link->probe && !link->is_direct;
    if (!link->ssh && (is_blind || !link->probe)) {
        start_ssh(link);
    }
    if (link->probe) {
        loop_timer_start(link->again, BLIND_MS); /* this at least reports the reason */
        node_link_tell_waiting(link, tcp_probe_why(link->probe));
    }
}

static void on_open(void *context)
{
    struct node_link *link = context;
    tcp_probe_end(link->probe);
    link->probe = NULL;
    if (link->ssh && !link->is_answered) {
        child_forget(link->ssh); /* its SYN packets were lost; it would resend them too late */
        link->ssh = NULL;
    }
    link->pause_ms = PAUSE_FIRST_MS;
    link->is_port_open = true;
    if (!link->ssh) {
        start_ssh(link);
    }
}

static void watch_port(struct node_link *link)
{
    bool has_way_round = link->place.proxy_command.len > 0 || link->place.jump.len > 0;
    link->is_port_open = false;
    if (!has_way_round && !link->is_probe_vain && !link->probe) {
        link->probe = tcp_probe_start(link->loop, link->place.address,
                                      link->place.port > 0 ? link->place.port : PORT, on_open,
                                      link);
    }
    if (link->probe) {
        loop_timer_start(link->again, BLIND_MS);
    } else {
        try_later(link);
    }
}

void node_link_open(struct node_link *link, int64_t contact_ms)
{
    link->contact_ms = contact_ms;
    link->pause_ms = PAUSE_FIRST_MS;
    link->denied_ms = link->host_key_ms = 0;
    link->is_answered = link->is_port_open = link->is_probe_vain = false;
    link->is_direct = link->place.is_near;
    link->last[0] = link->told[0] = '\0';
    if (!link->argv) {
        link->err = link->argv_err;
        loop_defer(link->loop, &link->fail);
        return;
    }
    loop_timer_start(link->expiry, contact_ms);
    link->pause_ms = 0;
    watch_port(link);
    link->pause_ms = PAUSE_FIRST_MS;
}

/* ---- the object ---- */

static void copy_place(struct node_link *link, const struct ssh_target *place)
{
    struct arena *arena = &link->arena;
    link->place = *place;
    link->place.user = arena_str(arena, place->user);
    link->place.address = arena_str(arena, place->address);
    link->place.machine = arena_str(arena, place->machine);
    link->place.known_hosts = arena_str(arena, str_from(place->known_hosts)).ptr;
    link->place.identity = place->identity ? arena_str(arena, str_from(place->identity)).ptr : NULL;
    link->place.control = place->control ? arena_str(arena, str_from(place->control)).ptr : NULL;
    link->place.proxy_command = arena_str(arena, place->proxy_command);
    link->place.jump = arena_str(arena, place->jump);
    link->place.connect_s = place->connect_s > 0 ? place->connect_s : CONNECT_S;
}

struct node_link *node_link_new(const struct node_link_setup *setup)
{
    struct node_link *link = HEAP_NEW(struct node_link);
    link->loop = setup->loop;
    link->children = setup->children;
    link->answers = setup->answers;
    link->hooks = setup->hooks;
    arena_init(&link->arena);
    copy_place(link, &setup->place);
    link->again = loop_timer_new(link->loop, node_link_try_now, link);
    link->limit = loop_timer_new(link->loop, give_up_ssh, link);
    link->expiry = loop_timer_new(link->loop, expire, link);
    link->fail = (struct loop_task){.run = tell_failure, .context = link};
    struct ssh_session session = {.is_master = true, .command = setup->command};
    if (!ssh_argv(&link->place, &session, &link->arena, &link->argv, &link->argv_err)) {
        link->argv = NULL;
    }
    return link;
}

void node_link_close(struct node_link *link)
{
    node_link_pause(link);
}

void node_link_free(struct node_link *link)
{
    if (link) {
        node_link_pause(link);
        loop_timer_free(link->again);
        loop_timer_free(link->limit);
        loop_timer_free(link->expiry);
        arena_clear(&link->arena);
        free(link);
    }
}

void node_link_write(struct node_link *link, struct str bytes)
{
    if (link->ssh && !child_write(link->ssh, bytes)) {
        child_cancel(link->ssh);
    }
}
