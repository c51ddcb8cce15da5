/* setup_record.c: compares a worker's last setup with the required one. */
#include "app/head/workers/setup_record.h"

#include "base/panic.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEPT "kept"
#define STARTED "started"
#define DONE "done"
#define BEGUN "begun"

/* A raylet registers a second or two after its start command, later on a loaded machine. Starting
 * it again is harmless: nothing runs on it. */
enum { REJOIN_FIRST_MS = 30 * 1000, REJOINS_MAX = 3 };

/* A GCS that kept its tables checks every node in them. It reports one dead after 20 s if its
 * raylet has exited, and after 70 s if its machine does not answer. */
enum { RESTORED_MS = 2 * 60 * 1000 };

/* ---- journal format ---- */

struct str setup_record_text(const struct setup_record *past, struct arena *arena)
{
    return arena_printf(arena, "%llu %s %s %s %s %s %s", (unsigned long long)past->launch,
                        past->key, past->run, past->kept_ray ? KEPT : STARTED,
                        past->is_done ? DONE : BEGUN, past->head, past->target);
}

static bool setup_record_copy_word(struct str *rest, char *ret_word, size_t size)
{
    struct str word = str_cut(rest, ' ');
    if (word.len >= size) {
        return false;
    }
    snprintf(ret_word, size, "%.*s", STR_ARG(word));
    return true;
}

void setup_record_read(struct str text, struct setup_record *past)
{
    struct setup_record read = {0};
    int64_t launch;
    char how[sizeof(STARTED)];
    char end[sizeof(BEGUN)];
    if (!str_to_i64(str_cut(&text, ' '), &launch) || (uint64_t)launch != past->launch) {
        return;
    }
    if (text.len > 0 && setup_record_copy_word(&text, read.key, sizeof(read.key)) &&
        setup_record_copy_word(&text, read.run, sizeof(read.run)) &&
        setup_record_copy_word(&text, how, sizeof(how)) &&
        setup_record_copy_word(&text, end, sizeof(end)) &&
        setup_record_copy_word(&text, read.head, sizeof(read.head)) &&
        setup_record_copy_word(&text, read.target, sizeof(read.target))) {
        memcpy(past->key, read.key, sizeof(read.key));
        memcpy(past->run, read.run, sizeof(read.run));
        memcpy(past->head, read.head, sizeof(read.head));
        memcpy(past->target, read.target, sizeof(read.target));
        past->kept_ray = strcmp(how, KEPT) == 0;
        past->is_done = strcmp(end, DONE) == 0;
    }
}

/* ---- state changes ---- */

static void keep_id(char kept[RAY_NODE_SIZE], struct str id)
{
    snprintf(kept, RAY_NODE_SIZE, "%.*s", STR_ARG(id));
}

/* A node does not run a request of the same name twice, so a resumed one keeps its target. */
void setup_record_begin(struct setup_record *past, struct str head)
{
    bool is_resumed = past->run[0] != '\0' && strcmp(past->run, past->next_run) == 0;
    past->is_first = past->key[0] == '\0';
    memcpy(past->key, past->wanted, sizeof(past->key));
    memcpy(past->run, past->next_run, sizeof(past->run));
    past->kept_ray = past->keeps_ray;
    past->is_done = false;
    past->done_ms = 0;
    if (!is_resumed && !past->kept_ray) { /* the setup replaces its raylet */
        past->head[0] = '\0';
        keep_id(past->target, head);
    }
}

/* If Ray on the head did not answer at the beginning, the target is the Ray that answers now. After
 * a failure the next request needs a new name: under the old one the node would only repeat its
 * result. */
void setup_record_end(struct setup_record *past, bool is_fine, struct str head, int64_t now_ms)
{
    past->is_updating = false;
    past->is_done = is_fine;
    past->done_ms = is_fine ? now_ms : 0;
    if (past->target[0] == '\0') {
        keep_id(past->target, head);
    }
    if (!is_fine) {
        past->run[0] = '\0';
    }
}

bool setup_record_see(struct setup_record *past, struct str head, int64_t now_ms)
{
    bool is_news = past->is_done && !past->kept_ray && past->target[0] == '\0' && head.len > 0;
    if (is_news) {
        keep_id(past->target, head);
        past->done_ms = now_ms;
    }
    return is_news;
}

void setup_record_join(struct setup_record *past, struct str head, int64_t now_ms)
{
    bool is_restored = past->target[0] != '\0' && !str_is(head, past->target);
    keep_id(past->head, head);
    past->rejoins = 0;
    past->restored_ms = is_restored ? now_ms : 0;
}

bool setup_record_die(struct setup_record *past, int64_t now_ms)
{
    bool was_away = past->restored_ms > 0 && now_ms - past->restored_ms < RESTORED_MS;
    past->restored_ms = 0;
    if (was_away) {
        past->head[0] = '\0';
    }
    return was_away;
}

/* ---- rules ---- */

const char *worker_again_text(enum worker_again why)
{
    static const char *const words[WORKER_AGAIN_COUNT] = {
        [WORKER_IS_FINE] = "nothing has changed",
        [WORKER_IS_UNFINISHED] = "its last setup did not finish",
        [WORKER_HAS_CHANGED] = "the cluster file or its mounts have changed",
        [WORKER_KEPT_RAY] = "its start commands were skipped (--no-restart)",
        [WORKER_HAS_NEW_HEAD] = "Ray on the head was replaced",
        [WORKER_HAS_NOT_JOINED] = "it started Ray, but has not joined",
    };
    return words[why];
}

/* Only for a worker that the current Ray has never seen; --no-restart forbids a restart. */
int64_t setup_record_rejoin_at(const struct setup_record *past)
{
    bool may_rejoin = past->is_done && past->done_ms > 0 && !past->kept_ray &&
                      past->rejoins < REJOINS_MAX;
    return may_rejoin ? past->done_ms + ((int64_t)REJOIN_FIRST_MS << past->rejoins) : 0;
}

static bool is_of_other_head(const char *head, struct str now)
{
    return head[0] != '\0' && !str_is(now, head);
}

bool setup_record_is_outdated(const struct setup_record *past, struct str head)
{
    return !past->kept_ray && head.len > 0 && is_of_other_head(past->target, head);
}

/* A worker that the new Ray already has is fine: the GCS kept its tables. */
static enum worker_again why_not_in_ray(const struct setup_record *past,
                                        const struct setup_target *now)
{
    bool was_seen = str_is(now->head, past->head);
    int64_t rejoin_at = setup_record_rejoin_at(past);
    if (now->head.len == 0 || now->is_in_ray || was_seen) {
        return WORKER_IS_FINE;
    }
    if (is_of_other_head(past->head, now->head) || is_of_other_head(past->target, now->head)) {
        return WORKER_HAS_NEW_HEAD;
    }
    return rejoin_at > 0 && now->now_ms >= rejoin_at ? WORKER_HAS_NOT_JOINED : WORKER_IS_FINE;
}

enum worker_again setup_record_again(const struct setup_record *past,
                                     const struct setup_target *now)
{
    if (past->key[0] == '\0' || past->wanted[0] == '\0') {
        return WORKER_IS_FINE; /* the core requests the first setup */
    }
    if (!past->is_done) {
        return WORKER_IS_UNFINISHED;
    }
    if (strcmp(past->key, past->wanted) != 0) {
        return WORKER_HAS_CHANGED;
    }
    if (past->kept_ray && !now->keeps_ray) {
        return WORKER_KEPT_RAY;
    }
    return why_not_in_ray(past, now);
}

void setup_record_name(struct setup_record *past, struct str id, int64_t serial, struct str head)
{
    char why[STEP_KEY_SIZE + RAY_NODE_SIZE + 80];
    bool is_first = past->key[0] == '\0';
    bool is_begun = !is_first && !past->is_done && past->run[0] != '\0' &&
                    strcmp(past->key, past->wanted) == 0 && past->kept_ray == past->keeps_ray;
    if (is_begun) {
        memcpy(past->next_run, past->run, sizeof(past->next_run));
        return;
    }
    if (is_first) {
        snprintf(why, sizeof(why), "%llu %s", (unsigned long long)past->launch, past->wanted);
    } else {
        snprintf(why, sizeof(why), "%llu %s %lld %.*s %u", (unsigned long long)past->launch,
                 past->wanted, (long long)serial,
                 (int)(head.len < RAY_NODE_SIZE ? head.len : RAY_NODE_SIZE),
                 head.ptr ? head.ptr : "", past->rejoins);
    }
    snprintf(past->next_run, sizeof(past->next_run), "%016llx%016llx",
             (unsigned long long)str_hash(id), (unsigned long long)str_hash(str_from(why)));
}
