/* worker_past.c: what was done, told apart from what is wanted. */
#include "app/head/workers/worker_past.h"

#include "base/panic.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEPT "kept"
#define STARTED "started"
#define DONE "done"
#define BEGUN "begun"

/* ---- written down ---- */

struct str worker_past_text(const struct worker_past *past, struct arena *arena)
{
    return arena_printf(arena, "%llu %s %s %s %s %s", (unsigned long long)past->launch, past->key,
                        past->run, past->kept_ray ? KEPT : STARTED, past->is_done ? DONE : BEGUN,
                        past->head);
}

static bool copy_word(struct str *rest, char *ret_word, size_t size)
{
    struct str word = str_cut(rest, ' ');
    if (word.len >= size) {
        return false;
    }
    snprintf(ret_word, size, "%.*s", STR_ARG(word));
    return true;
}

void worker_past_read(struct str text, struct worker_past *past)
{
    struct worker_past read = {0};
    int64_t launch;
    char how[sizeof(STARTED)];
    char end[sizeof(BEGUN)];
    if (!str_to_i64(str_cut(&text, ' '), &launch) || (uint64_t)launch != past->launch) {
        return;
    }
    if (text.len > 0 && copy_word(&text, read.key, sizeof(read.key)) &&
        copy_word(&text, read.run, sizeof(read.run)) && copy_word(&text, how, sizeof(how)) &&
        copy_word(&text, end, sizeof(end)) && copy_word(&text, read.head, sizeof(read.head))) {
        memcpy(past->key, read.key, sizeof(read.key));
        memcpy(past->run, read.run, sizeof(read.run));
        memcpy(past->head, read.head, sizeof(read.head));
        past->kept_ray = strcmp(how, KEPT) == 0;
        past->is_done = strcmp(end, DONE) == 0;
    }
}

/* ---- the life of a set-up ---- */

void worker_past_begin(struct worker_past *past)
{
    memcpy(past->key, past->wanted, sizeof(past->key));
    memcpy(past->run, past->next_run, sizeof(past->run));
    past->kept_ray = past->keeps_ray;
    past->is_done = false;
}

/* After a failure the same is tried under another name: the node would only tell of the failure. */
void worker_past_end(struct worker_past *past, bool is_fine)
{
    past->is_updating = false;
    past->is_done = is_fine;
    if (!is_fine) {
        past->run[0] = '\0';
    }
}

/* ---- the rule ---- */

bool worker_past_is_outdated(const struct worker_past *past, const struct worker_present *now)
{
    if (past->key[0] == '\0' || past->wanted[0] == '\0') {
        return false;
    }
    if (!past->is_done || strcmp(past->key, past->wanted) != 0 ||
        (past->kept_ray && !now->keeps_ray)) {
        return true;
    }
    /* One that has found the new Ray by itself, as with a GCS that kept its memory, is fine. */
    return past->head[0] != '\0' && now->head.len > 0 && !str_is(now->head, past->head) &&
           !now->is_in_ray;
}

void worker_past_name(struct worker_past *past, struct str id, int64_t serial, struct str head)
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
        snprintf(why, sizeof(why), "%llu %s %lld %.*s", (unsigned long long)past->launch,
                 past->wanted, (long long)serial,
                 (int)(head.len < RAY_NODE_SIZE ? head.len : RAY_NODE_SIZE),
                 head.ptr ? head.ptr : "");
    }
    snprintf(past->next_run, sizeof(past->next_run), "%016llx%016llx",
             (unsigned long long)str_hash(id), (unsigned long long)str_hash(str_from(why)));
}

/* ---- all of them ---- */

void worker_pasts_clear(struct worker_pasts *pasts)
{
    free(pasts->items);
    *pasts = (struct worker_pasts){0};
}

struct worker_past *worker_pasts_find(const struct worker_pasts *pasts, uint64_t instance)
{
    for (size_t i = 0; i < pasts->count; i++) {
        if (pasts->items[i].instance == instance) {
            return &pasts->items[i];
        }
    }
    return NULL;
}

struct worker_past *worker_pasts_add(struct worker_pasts *pasts, uint64_t instance, uint64_t launch)
{
    struct worker_past *past = worker_pasts_find(pasts, instance);
    if (!past && pasts->count == pasts->capacity) {
        pasts->capacity = pasts->capacity > 0 ? 2 * pasts->capacity : 16;
        pasts->items = realloc(pasts->items, pasts->capacity * sizeof(*pasts->items));
        if (!pasts->items) {
            panic("out of memory (%zu workers)", pasts->capacity);
        }
    }
    past = past ? past : &pasts->items[pasts->count++];
    *past = (struct worker_past){.instance = instance, .launch = launch};
    return past;
}
