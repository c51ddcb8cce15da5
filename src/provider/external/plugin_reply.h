/*
 * plugin_reply.h: reads what a plug-in sends (docs/dev/plug-ins.md). No I/O.
 *
 * Unknown fields are ignored; a known field of another type is an error. A reply is read completely
 * or not at all.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"
#include "core/event.h"
#include "provider/provider.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PLUGIN_VERSION = 1,
    PLUGIN_ZONES_MAX = 16,
    PLUGIN_PARALLEL_MAX = 16,
    PLUGIN_LIST_DELAY_MAX_S = 300,
    PLUGIN_NOTES_MAX = 8,
};

/* One line. */
struct plugin_reply {
    uint64_t id;
    enum outcome outcome;
    struct err err; /* unless OUTCOME_DONE */
    json_t *body;   /* the whole object; release it with json_decref() */
};

bool plugin_reply_read(struct str line, struct plugin_reply *ret_reply, struct err *err) MUST_USE;

/* What the plug-in says about itself and its cloud. */
struct plugin_hello {
    struct str name;
    bool has_tokens;      /* the same token is the same launch */
    bool has_atomic_swap; /* of two swaps at the same time, one fails */
    bool has_tags;        /* instances keep tags */
    bool can_stop;        /* stop and start */
    struct str zones[PLUGIN_ZONES_MAX];
    size_t zone_count;
    int64_t parallel;                   /* requests at the same time */
    int64_t list_delay_s;               /* a new instance is listed after this time at the latest */
    struct str notes[PLUGIN_NOTES_MAX]; /* warnings for the user */
    size_t note_count;
};

/* The strings are copied into `arena`. */
bool plugin_hello_read(const json_t *body, struct arena *arena, struct plugin_hello *ret_hello,
                       struct err *err) MUST_USE;

/* The instances of a reply to list or launch, copied into `arena`. */
bool plugin_machines_read(const json_t *body, struct arena *arena, struct machine **ret_machines,
                          size_t *ret_count, struct err *err) MUST_USE;

/* The stored value after a swap, which points into `body`, and the time in seconds since 1970. */
bool plugin_swap_read(const json_t *body, struct str *ret_value, int64_t *ret_now,
                      struct err *err) MUST_USE;

/* Replaces control characters. */
void plugin_make_visible(char *text);
