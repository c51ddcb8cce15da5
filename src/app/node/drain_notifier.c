/* drain_notifier.c: finds this machine's Ray node and drains it. */
#include "app/node/drain_notifier.h"

#include "base/arena.h"
#include "io/xalloc.h"
#include "ray/gcs.h"
#include "ray/gcs_access.h"

#include <string.h>

enum {
    CALL_MS = 3000,
    RETRY_FIRST_MS = 100,
    RETRY_MOST_MS = 1000,
    TEXT_BYTES = 200,
    ERROR_BYTES = sizeof(((struct err *)0)->text),
};

struct drain_notifier {
    struct drain_notifier_setup setup;
    struct gcs *gcs; /* NULL: to be opened, with the current token */
    struct loop_timer *retry;
    struct notice notice; /* notice to report; NOTICE_NONE if none */
    struct notice sent;   /* the notice in the drain request in flight */
    int64_t delay_ms;
    int64_t since_ms;       /* monotonic: when reporting started */
    char said[ERROR_BYTES]; /* last error, so that it is not logged twice */
    bool is_asking;         /* a call is in flight */
    bool needs_gcs;         /* reopen after a refusal: the token may have changed */
};

#define LOG(notifier, level, ...) log_write((notifier)->setup.log, LOG_LEVEL_##level, __VA_ARGS__)

static void drain_notifier_try_again(struct drain_notifier *notifier, const char *why)
{
    notifier->is_asking = false;
    if (strncmp(notifier->said, why, sizeof(notifier->said) - 1) != 0) {
        snprintf(notifier->said, sizeof(notifier->said), "%s", why);
        LOG(notifier, WARNING, "Ray is not notified yet: %s", notifier->said);
    }
    loop_timer_start(notifier->retry, notifier->delay_ms);
    notifier->delay_ms = 2 * notifier->delay_ms < RETRY_MOST_MS ? 2 * notifier->delay_ms
                                                                : RETRY_MOST_MS;
}

/* True if the call has failed; a retry is then scheduled. */
static bool drain_notifier_has_failed(struct drain_notifier *notifier,
                                      const struct gcs_answer *answer)
{
    if (answer->trouble == GCS_FINE) {
        return false;
    }
    notifier->needs_gcs = notifier->needs_gcs || answer->trouble == GCS_TOKEN_REFUSED;
    drain_notifier_try_again(notifier, answer->err.text);
    return true;
}

/* ---- the drain ---- */

static void drain_notifier_handle_drain(void *context, const struct gcs_answer *answer,
                                        bool is_accepted, struct str why_not)
{
    struct drain_notifier *notifier = context;
    char why[TEXT_BYTES];
    if (drain_notifier_has_failed(notifier, answer)) {
        return;
    }
    if (!is_accepted) {
        snprintf(why, sizeof(why), "the drain was refused: %.*s", STR_ARG(why_not));
        drain_notifier_try_again(notifier, why);
        return;
    }
    LOG(notifier, INFO, "Ray drains this node after_ms=%lld",
        (long long)(loop_now_ms(notifier->setup.loop) - notifier->since_ms));
    notifier->is_asking = false;
    if (notice_is_news(&notifier->notice, &notifier->sent)) {
        loop_timer_start(notifier->retry, 0); /* a notice followed the advice */
    } else {
        notifier->notice = (struct notice){NOTICE_NONE, 0};
    }
}

static void drain_notifier_drain(struct drain_notifier *notifier, struct str id)
{
    AUTO_BUF struct buf message;
    buf_init(&message, TEXT_BYTES);
    buf_add_c(&message, notifier->notice.kind == NOTICE_FINAL
                            ? "the cloud will reclaim this instance at "
                            : "the cloud recommends replacing this instance before ");
    clock_add_utc(&message, notifier->notice.until_ms);
    notifier->sent = notifier->notice;
    gcs_drain(notifier->gcs,
              &(struct gcs_drain){
                  .node = id,
                  .message = buf_str(&message),
                  .deadline_ms = notifier->notice.until_ms,
              },
              drain_notifier_handle_drain, notifier);
}

/* ---- which node ---- */

struct drain_notifier_search {
    struct str instance_id;
    char id[RAY_ID_BYTES];
    struct str bytes;
    bool is_found;
};

/* A machine may have several nodes; only one is alive, the others are from earlier starts. */
static void drain_notifier_inspect(void *context, const struct ray_node_summary *glance)
{
    struct drain_notifier_search *search = context;
    if (str_eq(glance->instance_id, search->instance_id) && glance->status != RAY_NODE_DEAD) {
        memcpy(search->id, glance->id.ptr, sizeof(search->id));
        search->bytes = glance->bytes;
        search->is_found = true;
    }
}

/* Ray would also drain its head, and with it the cluster. */
static bool drain_notifier_is_head(const struct drain_notifier_search *search, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct ray_node_detail detail = {0};
    bool ok = ray_node_read(search->bytes, &arena, &detail, err);
    return !ok || detail.is_head;
}

static void drain_notifier_handle_state(void *context, const struct gcs_answer *answer,
                                        struct str bytes)
{
    struct drain_notifier *notifier = context;
    struct drain_notifier_search search = {.instance_id = str_from(notifier->setup.instance_id)};
    struct ray_state state;
    struct err err;
    if (drain_notifier_has_failed(notifier, answer)) {
        return;
    }
    if (notifier->notice.kind == NOTICE_NONE) { /* withdrawn in the meantime */
        notifier->is_asking = false;
        return;
    }
    if (!ray_state_pass(bytes, drain_notifier_inspect, &search, &state, &err)) {
        drain_notifier_try_again(notifier, err.text);
    } else if (!search.is_found) {
        drain_notifier_try_again(notifier, "Ray does not know this machine");
    } else if (drain_notifier_is_head(&search, &err)) {
        drain_notifier_try_again(notifier, "this is the head, which is never drained");
    } else {
        drain_notifier_drain(notifier, (struct str){search.id, sizeof(search.id)});
    }
}

/* ---- trying ---- */

static bool drain_notifier_open_gcs(struct drain_notifier *notifier, struct err *err)
{
    bool has_token;
    if (notifier->gcs && !notifier->needs_gcs) {
        return true;
    }
    struct gcs_place place = {.http = notifier->setup.http,
                              .address = notifier->setup.gcs,
                              .token_path = notifier->setup.token_file,
                              .is_token_private = true,
                              .deadline_ms = CALL_MS};
    struct gcs *gcs = gcs_open_at(&place, &has_token, err);
    if (!gcs) {
        return false;
    }
    if (notifier->gcs) {
        gcs_close(notifier->gcs);
    }
    notifier->gcs = gcs;
    notifier->needs_gcs = false;
    return true;
}

static void drain_notifier_try_now(void *context)
{
    struct drain_notifier *notifier = context;
    struct err err;
    if (notifier->notice.kind == NOTICE_NONE || notifier->is_asking) {
        return;
    }
    notifier->is_asking = true;
    if (drain_notifier_open_gcs(notifier, &err)) {
        gcs_read_state(notifier->gcs, drain_notifier_handle_state, notifier);
    } else {
        drain_notifier_try_again(notifier, err.text);
    }
}

void drain_notifier_tell(struct drain_notifier *notifier, const struct notice *notice)
{
    notifier->notice = *notice;
    notifier->delay_ms = RETRY_FIRST_MS;
    notifier->since_ms = loop_now_ms(notifier->setup.loop);
    notifier->said[0] = '\0';
    loop_timer_start(notifier->retry, 0);
}

void drain_notifier_stop(struct drain_notifier *notifier)
{
    notifier->notice = (struct notice){NOTICE_NONE, 0};
    loop_timer_stop(notifier->retry);
}

/* ---- opening and closing ---- */

struct drain_notifier *drain_notifier_open(const struct drain_notifier_setup *setup)
{
    struct drain_notifier *notifier = HEAP_NEW(struct drain_notifier);
    notifier->setup = *setup;
    notifier->retry = loop_timer_new(setup->loop, drain_notifier_try_now, notifier);
    return notifier;
}

void drain_notifier_close(struct drain_notifier *notifier)
{
    if (notifier) {
        loop_timer_free(notifier->retry);
        if (notifier->gcs) {
            gcs_close(notifier->gcs);
        }
        free(notifier);
    }
}
