/*
 * ray_reply.h: replies of GetClusterResourceState as Ray's GCS sends them, for tests.
 *
 * Items are appended to the state one by one; reply_end() wraps it.
 */
#pragma once

#include "base/buf.h"
#include "ray/state.h"
#include "ray/wire.h"

#include <stdio.h>
#include <string.h>

struct reply_amount {
    const char *name;
    double total, free; /* of a request: the first one is used */
};

struct reply_label {
    const char *key, *value;
};

struct reply_node {
    uint64_t number; /* its id is made of it */
    const char *instance;
    enum ray_node_status status;
    int64_t idle_ms;
    struct reply_amount amounts[12]; /* up to the first without a name */
    struct reply_label labels[8];
    const char *groups[4]; /* that have a bundle on it: "_PG_..." */
    const char *activity;
    bool is_head;
};

struct reply_rule {
    const char *key;
    enum ray_operator op;
    const char *values[4];
};

struct reply_request {
    struct reply_amount amounts[6];
    struct reply_rule selectors[3][3]; /* the first choice, then fallbacks */
    const char *apart, *together;      /* a label of a placement group */
};

enum { REPLY_CAP = 64 * 1024 * 1024, PART_CAP = 1024 * 1024 };

static inline void reply_id(uint64_t number, char id[RAY_ID_BYTES])
{
    for (size_t i = 0; i < RAY_ID_BYTES; i++) {
        number = number * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        id[i] = (char)(number >> 56);
    }
}

static inline void reply_put(struct buf *out, uint32_t tag, struct buf *part)
{
    wire_add_bytes(out, tag, buf_str(part));
    part->len = 0;
}

static inline void reply_map_amount(struct buf *out, uint32_t tag, const char *name, double amount)
{
    AUTO_BUF struct buf entry;
    buf_init(&entry, PART_CAP);
    wire_add_text(&entry, 1, str_from(name));
    wire_add_double(&entry, 2, amount);
    reply_put(out, tag, &entry);
}

static inline void reply_map_text(struct buf *out, uint32_t tag, const char *key, const char *value)
{
    AUTO_BUF struct buf entry;
    buf_init(&entry, PART_CAP);
    wire_add_text(&entry, 1, str_from(key));
    wire_add_text(&entry, 2, str_from(value));
    reply_put(out, tag, &entry);
}

static inline void reply_add_living(struct buf *part, const struct reply_node *node)
{
    for (size_t i = 0; i < 12 && node->amounts[i].name; i++) {
        reply_map_amount(part, 4, node->amounts[i].name, node->amounts[i].free);
        reply_map_amount(part, 5, node->amounts[i].name, node->amounts[i].total);
    }
    if (node->is_head) {
        reply_map_amount(part, 5, "node:__internal_head__", 1);
    }
    for (size_t i = 0; i < 8 && node->labels[i].key; i++) {
        reply_map_text(part, 13, node->labels[i].key, node->labels[i].value);
    }
    for (size_t i = 0; i < 4 && node->groups[i]; i++) {
        reply_map_text(part, 6, node->groups[i], "");
    }
    if (node->activity) {
        wire_add_text(part, 12, str_from(node->activity));
    }
}

static inline void reply_add_node(struct buf *state, const struct reply_node *node)
{
    AUTO_BUF struct buf part;
    char id[RAY_ID_BYTES];
    reply_id(node->number, id);
    buf_init(&part, PART_CAP);
    wire_add_bytes(&part, 1, (struct str){id, sizeof(id)});
    wire_add_text(&part, 2, str_from(node->instance));
    wire_add_number(&part, 8, node->status);
    wire_add_number(&part, 9, node->idle_ms);
    if (node->status != RAY_NODE_DEAD) {
        reply_add_living(&part, node);
    }
    reply_put(state, 3, &part);
}

static inline void reply_add_rule(struct buf *selector, const struct reply_rule *rule)
{
    AUTO_BUF struct buf part;
    buf_init(&part, PART_CAP);
    wire_add_text(&part, 1, str_from(rule->key));
    wire_add_number(&part, 2, rule->op);
    for (size_t i = 0; i < 4 && rule->values[i]; i++) {
        wire_add_text(&part, 3, str_from(rule->values[i]));
    }
    reply_put(selector, 1, &part);
}

static inline void reply_add_placement(struct buf *request, uint32_t tag, const char *label)
{
    AUTO_BUF struct buf part;
    AUTO_BUF struct buf placement;
    buf_init(&part, PART_CAP);
    buf_init(&placement, PART_CAP);
    wire_add_text(&part, 1, str_from(label));
    reply_put(&placement, tag, &part);
    reply_put(request, 2, &placement);
}

/* Ray writes an empty selector if there is none. */
static inline void reply_add_request(struct buf *out, uint32_t tag,
                                     const struct reply_request *request, bool has_selectors)
{
    AUTO_BUF struct buf part;
    AUTO_BUF struct buf selector;
    buf_init(&part, PART_CAP);
    buf_init(&selector, PART_CAP);
    for (size_t i = 0; i < 6 && request->amounts[i].name; i++) {
        reply_map_amount(&part, 1, request->amounts[i].name, request->amounts[i].total);
    }
    if (request->apart) {
        reply_add_placement(&part, 1, request->apart);
    }
    if (request->together) {
        reply_add_placement(&part, 2, request->together);
    }
    for (size_t i = 0; i < 3 && (i == 0 || (has_selectors && request->selectors[i][0].key)); i++) {
        for (size_t j = 0; has_selectors && j < 3 && request->selectors[i][j].key; j++) {
            reply_add_rule(&selector, &request->selectors[i][j]);
        }
        reply_put(&part, 3, &selector);
    }
    reply_put(out, tag, &part);
}

static inline void reply_add_counted(struct buf *out, uint32_t tag,
                                     const struct reply_request *request, int64_t count)
{
    AUTO_BUF struct buf part;
    buf_init(&part, PART_CAP);
    reply_add_request(&part, 1, request, true);
    wire_add_number(&part, 2, count);
    reply_put(out, tag, &part);
}

static inline void reply_add_demand(struct buf *state, const struct reply_request *request,
                                    int64_t count)
{
    reply_add_counted(state, 4, request, count);
}

static inline void reply_add_constraint(struct buf *state, const struct reply_request *request,
                                        int64_t count)
{
    AUTO_BUF struct buf part;
    buf_init(&part, PART_CAP);
    reply_add_counted(&part, 1, request, count);
    reply_put(state, 6, &part);
}

/* The requests twice, as Ray sends them: in the old field, and with their selectors. */
static inline void reply_add_gang(struct buf *state, const struct reply_request *const *requests,
                                  size_t count, const char *details)
{
    AUTO_BUF struct buf part;
    AUTO_BUF struct buf bundles;
    buf_init(&part, PART_CAP);
    buf_init(&bundles, PART_CAP);
    for (size_t i = 0; i < count; i++) {
        reply_add_request(&part, 1, requests[i], false);
        reply_add_request(&bundles, 1, requests[i], true);
    }
    wire_add_text(&part, 2, str_from(details));
    reply_put(&part, 3, &bundles);
    reply_put(state, 5, &part);
}

/* The whole reply in `out`; `state` is empty afterwards. */
static inline struct str reply_end(struct buf *state, struct buf *out, int64_t version)
{
    wire_add_number(state, 1, version);
    wire_add_text(state, 7, STR("session_2026-11-15_12-00-00_000000_1"));
    out->len = 0;
    reply_put(out, 1, state);
    return buf_str(out);
}
