/*
 * node_probe.c: sets one node up as the launcher does, and prints each event in a line with the
 * milliseconds since its start. Words: USER ADDRESS PORT KNOWN_HOSTS IDENTITY CONTROL PAYLOAD
 * CONTACT_MS, and COPY when that is to be copied to ~/new/copy/ before; the bundle on standard
 * input. Exits with 0 when it was done. A new host key is pinned. PROXY may hold a proxy command;
 * FAR is set if the machine is not in the network of this one.
 */
#include "io/file.h"
#include "remote/node_session.h"
#include "remote/rsync.h"

#include <stdio.h>
#include <stdlib.h>

struct probe {
    struct loop *loop;
    struct child_pool *pool;
    struct node_session *session;
    struct ssh_target place;
    const char *copy;
    const char *known_hosts, *payload;
    struct bundle bundle;
    int64_t start_ms;
    bool is_ok;
};

static void say(const struct probe *probe, const char *what, struct str text)
{
    printf("%lld %s %.*s\n", (long long)(loop_now_ms(probe->loop) - probe->start_ms), what,
           STR_ARG(text));
    fflush(stdout);
}

static bool find_payload(void *context, struct str machine, struct arena *arena,
                         struct str *ret_path, struct err *err)
{
    const struct probe *probe = context;
    (void)err;
    say(probe, "payload", machine);
    *ret_path = arena_str(arena, str_from(probe->payload));
    return true;
}

static void on_waiting(void *context, struct str why)
{
    say(context, "waiting", why);
}

static void pin(const struct probe *probe, struct str key)
{
    AUTO_BUF struct buf lines;
    struct err err;
    buf_init(&lines, 64 * 1024);
    if (!file_read(probe->known_hosts, &lines, &err)) {
        exit(2);
    }
    buf_addf(&lines, "node %.*s\n", STR_ARG(key));
    if (!file_write(probe->known_hosts, buf_str(&lines), 0600, &err)) {
        exit(2);
    }
}

static void send_request(struct probe *probe)
{
    struct node_file files[] = {{STR("~/deep/er/file"), STR("hello\n"), 0600}};
    node_session_send(probe->session, &(struct node_request){
                                          .files = files,
                                          .file_count = 1,
                                          .bundle = probe->bundle,
                                      });
}

static void on_copied(void *context, const struct child_result *result)
{
    say(context, "copied", result->output[CHILD_STDERR]);
    send_request(context);
}

static void copy_there(struct probe *probe)
{
    struct arena arena;
    struct err err;
    const char *const *argv;
    struct str excludes[] = {STR("*.o")};
    arena_init(&arena);
    if (!rsync_argv(&(struct rsync_copy){.place = &probe->place,
                                         .here = str_from(probe->copy),
                                         .there = STR("~/new/copy/"),
                                         .excludes = excludes,
                                         .exclude_count = 1,
                                         .makes_parents = true},
                    &arena, &argv, &err)) {
        exit(2);
    }
    child_start(probe->pool, &(struct child_spec){.argv = argv,
                                                  .env_names = child_usual_env,
                                                  .output = {{0}, {.bytes_max = 4000}},
                                                  .done = on_copied,
                                                  .context = probe});
    arena_clear(&arena);
}

static void on_hello(void *context, const struct node_hello *hello)
{
    struct probe *probe = context;
    say(probe, "hello", hello->home);
    if (hello->host_key.len > 0) {
        say(probe, "key", hello->host_key);
        pin(probe, hello->host_key);
    }
    if (hello->shown_key.len > 0) {
        say(probe, "shown", hello->shown_key);
    }
    if (probe->copy) {
        copy_there(probe);
    } else {
        send_request(probe);
    }
}

static void on_rotated(void *context, bool is_ok, struct str why)
{
    say(context, is_ok ? "rotated" : "not-rotated", why);
}

static void apply_event(void *context, const struct step_event *event)
{
    static const char *const words[] = {"bundle-began", "began",       "skipped",       "done",
                                        "failed",       "bundle-done", "bundle-failed", "again"};
    char text[64];
    snprintf(text, sizeof(text), "%s %zu", words[event->kind], event->step);
    say(context, "event", str_from(text));
}

static void on_done(void *context, bool is_ok, const struct err *err)
{
    struct probe *probe = context;
    probe->is_ok = is_ok;
    say(probe, is_ok ? "fine" : "error", str_from(err ? err->text : ""));
    node_session_close(probe->session);
    loop_stop(probe->loop);
}

static void open_session(struct probe *probe, char **words)
{
    probe->place = (struct ssh_target){.user = str_from(words[1]),
                                       .address = str_from(words[2]),
                                       .port = (uint16_t)strtoul(words[3], NULL, 10),
                                       .machine = STR("node"),
                                       .known_hosts = words[4],
                                       .identity = words[5],
                                       .control = words[6],
                                       .proxy_command = str_from(getenv("PROXY")),
                                       .is_near = !getenv("FAR")};
    probe->known_hosts = words[4];
    probe->payload = words[7];
    probe->copy = words[9];
    probe->start_ms = loop_now_ms(probe->loop);
    probe->session = node_session_open(&(struct node_session_setup){
        .loop = probe->loop,
        .children = probe->pool,
        .place = probe->place,
        .contact_ms = strtoll(words[8], NULL, 10),
        .hooks = {probe, find_payload, on_waiting, on_hello, on_rotated, apply_event, on_done},
    });
}

int main(int argc, char **argv)
{
    struct probe probe = {0};
    struct arena arena;
    struct err err = {0};
    AUTO_BUF struct buf text;
    arena_init(&arena);
    buf_init(&text, BUNDLE_BYTES_MAX);
    if (argc < 9 || argc > 10 || !file_read("-", &text, &err) ||
        !bundle_read(buf_str(&text), &arena, &probe.bundle, &err) ||
        !loop_open(&clock_of_machine, &probe.loop, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 2;
    }
    probe.pool = child_pool_new(probe.loop, 4);
    open_session(&probe, argv);
    loop_run(probe.loop);
    child_pool_free(probe.pool);
    loop_close(probe.loop);
    arena_clear(&arena);
    return probe.is_ok ? 0 : 1;
}
