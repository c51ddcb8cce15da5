/*
 * node_gate.c: a worker at the head's door: waits until the GCS answers, compares versions.
 *
 * Ray on this node would wait too, but not say for what; and a version that differs would only be
 * noticed after `ray start` has taken its seconds, in words far from the cause. The Python here is
 * asked while the head is waited for.
 */
#include "app/setup/node_words.h"

#include "app/setup/node_tools.h"
#include "app/setup/ray_find.h"
#include "app/setup/version_check.h"
#include "io/child.h"
#include "io/clock.h"
#include "io/file.h"
#include "io/http.h"
#include "io/loop.h"
#include "ray/gcs.h"
#include "ray/gcs_access.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    CALL_MS = 2000,
    RETRY_LEAST_MS = 50,
    RETRY_MOST_MS = 250,
    RETRY_SHARE = 40, /* of the time that was waited already */
    DEADLINE_MS = 15 * 60 * 1000,
    VERSIONS_MS = 30 * 1000, /* after the GCS answers, the head writes about itself */
    REFUSALS_MS = 10 * 1000, /* a GCS of before may be about to end */
    TELL_MS = 10 * 1000,
    LOCAL_MS = 60 * 1000,
    TOKEN_BYTES = 4096,
};

struct gate {
    struct arena arena;
    const char *address;
    struct loop *loop;
    struct http *http;
    struct child_pool *children;
    struct gcs *gcs;
    struct loop_timer *retry, *deadline, *reminder;
    int64_t began_ms, answered_ms, refused_ms; /* 0: not yet */
    struct ray_found here;
    struct version_pair there;
    bool has_here, has_there;
    bool has_token;
    struct err last;
    int status;
};

static void ask(void *context);

/* ---- the end ---- */

static void finish(struct gate *gate, int status)
{
    gate->status = status;
    loop_stop(gate->loop);
}

static void compare(struct gate *gate)
{
    if (!gate->has_here || !gate->has_there) {
        return;
    }
    AUTO_BUF struct buf words;
    buf_init(&words, 4096);
    struct version_pair here = {gate->here.ray, gate->here.python};
    const char *level = getenv("RAY_DEFAULT_PYTHON_VERSION_MATCH_LEVEL");
    bool is_fine = version_check(here, gate->there, str_is(str_from(level), "minor"), &words);
    if (words.len > 0) {
        fprintf(is_fine ? stdout : stderr, "%.*s", STR_ARG(buf_str(&words)));
    }
    if (is_fine) {
        printf("the head's Ray answers at %s after %.1f s\n", gate->address,
               (double)(loop_now_ms(gate->loop) - gate->began_ms) / 1000);
    }
    finish(gate, is_fine ? 0 : 1);
}

static void give_up(void *context)
{
    struct gate *gate = context;
    fprintf(stderr,
            "error: the head's Ray did not answer at %s within %lld s: %s\n"
            "look at the head's own set-up; if Ray runs there, the security group must let the "
            "nodes reach each other on all ports\n",
            gate->address, (long long)(loop_now_ms(gate->loop) - gate->began_ms) / 1000,
            gate->last.kind != ERR_NONE ? gate->last.text : "no answer");
    finish(gate, 1);
}

static void remind(void *context)
{
    struct gate *gate = context;
    printf("still waiting for the head's Ray at %s: %s\n", gate->address,
           gate->last.kind != ERR_NONE ? gate->last.text : "no answer yet");
    fflush(stdout);
    loop_timer_start(gate->reminder, TELL_MS);
}

/* ---- the head ---- */

/* Sooner for a head that was not waited for long: that is when a quarter of a second counts. */
static void again(struct gate *gate)
{
    int64_t delay_ms = (loop_now_ms(gate->loop) - gate->began_ms) / RETRY_SHARE;
    delay_ms = delay_ms < RETRY_LEAST_MS ? RETRY_LEAST_MS : delay_ms;
    loop_timer_start(gate->retry, delay_ms > RETRY_MOST_MS ? RETRY_MOST_MS : delay_ms);
}

static void take_there(struct gate *gate, struct str ray, struct str python)
{
    gate->there = (struct version_pair){arena_str(&gate->arena, ray),
                                        arena_str(&gate->arena, python)};
    gate->has_there = true;
    loop_timer_stop(gate->deadline); /* what is left is the Python here, with its own */
    loop_timer_stop(gate->reminder);
    compare(gate);
}

/*
 * What no waiting mends ends it, but not at once: the GCS of a Ray that is being stopped answers
 * until it is gone. A token that only the start command knows is not missed here: the head's Ray is
 * there, and `ray start` compares versions by itself.
 */
static void hear_trouble(struct gate *gate, const struct gcs_answer *answer)
{
    int64_t now = loop_now_ms(gate->loop);
    gate->last = answer->err;
    if (answer->trouble == GCS_TOKEN_REFUSED && !gate->has_token) {
        take_there(gate, STR(""), STR(""));
        return;
    }
    if (answer->trouble == GCS_AWAY || answer->trouble == GCS_OTHER_CLUSTER) {
        gate->refused_ms = 0;
        gate->answered_ms = 0;
    } else if (gate->refused_ms == 0) {
        gate->refused_ms = now;
    } else if (now - gate->refused_ms > REFUSALS_MS) {
        fprintf(stderr, "error: the head's Ray at %s refuses this node: %s\n", gate->address,
                answer->err.text);
        finish(gate, 1);
        return;
    }
    again(gate);
}

static void hear_versions(void *context, const struct gcs_answer *answer,
                          const struct gcs_versions *versions)
{
    struct gate *gate = context;
    if (answer->trouble != GCS_FINE) {
        hear_trouble(gate, answer);
        return;
    }
    if (versions) {
        take_there(gate, versions->ray, versions->python);
        return;
    }
    if (loop_now_ms(gate->loop) - gate->answered_ms > VERSIONS_MS) {
        take_there(gate, STR(""), STR("")); /* `ray start` will compare by itself */
        return;
    }
    err_set(&gate->last, ERR_UNAVAILABLE, "the GCS answers, but Ray on the head is not ready");
    loop_timer_start(gate->retry, RETRY_LEAST_MS);
}

static void hear_alive(void *context, const struct gcs_answer *answer, struct str ray_version)
{
    struct gate *gate = context;
    (void)ray_version; /* the head's own words have both versions */
    if (answer->trouble != GCS_FINE) {
        hear_trouble(gate, answer);
        return;
    }
    gate->answered_ms = loop_now_ms(gate->loop);
    gcs_read_versions(gate->gcs, hear_versions, gate);
}

static void ask(void *context)
{
    struct gate *gate = context;
    if (gate->answered_ms == 0) {
        gcs_check_alive(gate->gcs, hear_alive, gate);
    } else {
        gcs_read_versions(gate->gcs, hear_versions, gate);
    }
}

/* ---- the Python here ---- */

static void hear_here(void *context, const struct child_result *result)
{
    struct gate *gate = context;
    if (!child_was_fine(result) ||
        !ray_find_read(result->output[CHILD_STDOUT], &gate->arena, &gate->here)) {
        printf("warning: the versions here are not known: %s\n", result->err.text);
        gate->here = (struct ray_found){0};
    }
    gate->has_here = true;
    compare(gate);
}

static void ask_here(struct gate *gate)
{
    struct str path;
    if (!ray_find(&gate->arena, &path)) {
        gate->has_here = true; /* the start command says what is wrong */
        return;
    }
    child_start(gate->children, &(struct child_spec){
                                    .argv = ray_find_words(&gate->arena, path),
                                    .env_names = tools_environment(&gate->arena),
                                    .output = {{.bytes_max = 4096}, {0}},
                                    .deadline_ms = LOCAL_MS,
                                    .done = hear_here,
                                    .context = gate,
                                });
}

/* ---- the whole ---- */

static bool open_gcs(struct gate *gate, const struct node_gate_setup *setup, struct err *err)
{
    AUTO_BUF struct buf token;
    buf_init(&token, TOKEN_BYTES);
    if (setup->token_file &&
        !file_read_secret(tools_home(&gate->arena, setup->token_file), &token, err)) {
        return false;
    }
    struct gcs_access access = gcs_access_find(setup->gcs, &gate->arena);
    struct gcs_setup client = {
        .http = gate->http,
        .token = str_trim(buf_str(&token)),
        .deadline_ms = CALL_MS,
    };
    if (!gcs_access_apply(&access, setup->gcs, &gate->arena, &client, err)) {
        return false;
    }
    gate->has_token = client.token.len > 0;
    gate->gcs = gcs_open(&client);
    return true;
}

static void run(struct gate *gate, const struct node_gate_setup *setup)
{
    gate->children = child_pool_new(gate->loop, 1);
    gate->retry = loop_timer_new(gate->loop, ask, gate);
    gate->deadline = loop_timer_new(gate->loop, give_up, gate);
    gate->reminder = loop_timer_new(gate->loop, remind, gate);
    gate->began_ms = loop_now_ms(gate->loop);
    loop_timer_start(gate->deadline, setup->deadline_ms > 0 ? setup->deadline_ms : DEADLINE_MS);
    loop_timer_start(gate->reminder, TELL_MS);
    ask_here(gate);
    ask(gate);
    loop_run(gate->loop);
    loop_timer_free(gate->retry);
    loop_timer_free(gate->deadline);
    loop_timer_free(gate->reminder);
    child_pool_free(gate->children);
    gcs_close(gate->gcs);
}

int node_gate(const struct node_gate_setup *setup)
{
    struct gate gate = {.address = setup->gcs, .status = 1};
    struct err err;
    arena_init_secret(&gate.arena);
    bool is_open = loop_open(&clock_of_machine, &gate.loop, &err) &&
                   http_open(gate.loop, &(struct http_limits){0}, &gate.http, &err) &&
                   open_gcs(&gate, setup, &err);
    if (is_open) {
        run(&gate, setup);
    } else {
        fprintf(stderr, "error: %s\n", err.text);
    }
    if (gate.http) {
        http_close(gate.http);
    }
    if (gate.loop) {
        loop_close(gate.loop);
    }
    fflush(stdout);
    arena_clear(&gate.arena);
    return gate.status;
}
