/*
 * wait_for_head.c: on a worker, waits until the head's GCS answers, then compares versions.
 *
 * Ray would wait too, but without saying for what; and it would detect a version mismatch only
 * several seconds into `ray start`, with a message far from the cause. The local Python is queried
 * while the worker waits for the head.
 */
#include "app/setup/node_jobs.h"

#include "app/setup/node_tools.h"
#include "app/setup/ray_find.h"
#include "app/setup/version_check.h"
#include "io/child.h"
#include "io/clock.h"
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
    RETRY_SHARE = 40, /* fraction of the time waited so far */
    DEADLINE_MS = 15 * 60 * 1000,
    VERSIONS_MS = 30 * 1000, /* wait for the head to publish its versions, after the GCS answers */
    REFUSALS_MS = 10 * 1000, /* the answers may come from an old GCS that is about to exit */
    TELL_MS = 10 * 1000,
    LOCAL_MS = 60 * 1000,
};

struct gate {
    struct arena arena;
    const char *address;
    struct loop *loop;
    struct http *http;
    struct child_pool *children;
    struct gcs *gcs;
    struct loop_timer *retry, *deadline, *reminder;
    int64_t began_ms, answered_ms, refused_ms; /* 0 if not yet */
    struct ray_found here;
    struct version_pair there;
    bool has_here, has_there;
    bool has_token;
    struct err last;
    int status;
};

static void wait_for_head_request(void *context);

/* ---- the result ---- */

static void wait_for_head_finish(struct gate *gate, int status)
{
    gate->status = status;
    loop_stop(gate->loop);
}

static void wait_for_head_compare(struct gate *gate)
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
    wait_for_head_finish(gate, is_fine ? 0 : 1);
}

static void wait_for_head_give_up(void *context)
{
    struct gate *gate = context;
    fprintf(stderr,
            "error: the head's Ray did not answer at %s within %lld s: %s\n"
            "check the head's own setup; if Ray is running there, the security group must let the "
            "nodes reach each other on all ports\n",
            gate->address, (long long)(loop_now_ms(gate->loop) - gate->began_ms) / 1000,
            gate->last.kind != ERR_NONE ? gate->last.text : "no answer");
    wait_for_head_finish(gate, 1);
}

static void wait_for_head_remind(void *context)
{
    struct gate *gate = context;
    printf("still waiting for the head's Ray at %s: %s\n", gate->address,
           gate->last.kind != ERR_NONE ? gate->last.text : "no answer yet");
    fflush(stdout);
    loop_timer_start(gate->reminder, TELL_MS);
}

/* ---- the head ---- */

/* Retries faster at the beginning, when a quarter of a second matters. */
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
    /* Only the local Python is pending, which has its own deadline. */
    loop_timer_stop(gate->deadline);
    loop_timer_stop(gate->reminder);
    wait_for_head_compare(gate);
}

/*
 * Fails on permanent errors, but only after REFUSALS_MS: the GCS of a Ray that is being stopped
 * answers until it exits. If only the start command knows the token, the gate passes: the head's
 * Ray is running, and `ray start` compares versions itself.
 */
static void on_trouble(struct gate *gate, const struct gcs_answer *answer)
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
        wait_for_head_finish(gate, 1);
        return;
    }
    again(gate);
}

static void wait_for_head_handle_versions(void *context, const struct gcs_answer *answer,
                                          const struct gcs_versions *versions)
{
    struct gate *gate = context;
    if (answer->trouble != GCS_FINE) {
        on_trouble(gate, answer);
        return;
    }
    if (versions) {
        take_there(gate, versions->ray, versions->python);
        return;
    }
    if (loop_now_ms(gate->loop) - gate->answered_ms > VERSIONS_MS) {
        take_there(gate, STR(""), STR("")); /* `ray start` compares versions itself */
        return;
    }
    err_set(&gate->last, ERR_UNAVAILABLE, "the GCS answers, but Ray on the head is not ready");
    loop_timer_start(gate->retry, RETRY_LEAST_MS);
}

static void wait_for_head_handle_alive(void *context, const struct gcs_answer *answer,
                                       struct str ray_version)
{
    struct gate *gate = context;
    (void)ray_version; /* gcs_read_versions() returns both versions */
    if (answer->trouble != GCS_FINE) {
        on_trouble(gate, answer);
        return;
    }
    gate->answered_ms = loop_now_ms(gate->loop);
    gcs_read_versions(gate->gcs, wait_for_head_handle_versions, gate);
}

static void wait_for_head_request(void *context)
{
    struct gate *gate = context;
    if (gate->answered_ms == 0) {
        gcs_check_alive(gate->gcs, wait_for_head_handle_alive, gate);
    } else {
        gcs_read_versions(gate->gcs, wait_for_head_handle_versions, gate);
    }
}

/* ---- the local Python ---- */

static void on_here(void *context, const struct child_result *result)
{
    struct gate *gate = context;
    if (!child_was_fine(result) ||
        !ray_find_read(result->output[CHILD_STDOUT], &gate->arena, &gate->here)) {
        printf("warning: cannot read the versions on this machine: %s\n", result->err.text);
        gate->here = (struct ray_found){0};
    }
    gate->has_here = true;
    wait_for_head_compare(gate);
}

static void wait_for_head_request_here(struct gate *gate)
{
    struct str path;
    if (!ray_find(&gate->arena, &path)) {
        gate->has_here = true; /* the start command reports what is wrong */
        return;
    }
    child_start(gate->children, &(struct child_spec){
                                    .argv = ray_find_argv(&gate->arena, path),
                                    .env_names = tools_environment(&gate->arena),
                                    .output = {{.bytes_max = 4096}, {0}},
                                    .deadline_ms = LOCAL_MS,
                                    .done = on_here,
                                    .context = gate,
                                });
}

/* ---- entry points ---- */

static bool wait_for_head_open_gcs(struct gate *gate, const struct node_gate_setup *setup,
                                   struct err *err)
{
    const char *token = setup->token_file ? tools_home(&gate->arena, setup->token_file) : NULL;
    struct gcs_place place = {.http = gate->http,
                              .address = setup->gcs,
                              .token_path = token,
                              .is_token_private = true,
                              .deadline_ms = CALL_MS};
    gate->gcs = gcs_open_at(&place, &gate->has_token, err);
    return gate->gcs;
}

static void wait_for_head_run(struct gate *gate, const struct node_gate_setup *setup)
{
    gate->children = child_pool_new(gate->loop, 1);
    gate->retry = loop_timer_new(gate->loop, wait_for_head_request, gate);
    gate->deadline = loop_timer_new(gate->loop, wait_for_head_give_up, gate);
    gate->reminder = loop_timer_new(gate->loop, wait_for_head_remind, gate);
    gate->began_ms = loop_now_ms(gate->loop);
    loop_timer_start(gate->deadline, setup->deadline_ms > 0 ? setup->deadline_ms : DEADLINE_MS);
    loop_timer_start(gate->reminder, TELL_MS);
    wait_for_head_request_here(gate);
    wait_for_head_request(gate);
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
                   wait_for_head_open_gcs(&gate, setup, &err);
    if (is_open) {
        wait_for_head_run(&gate, setup);
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
