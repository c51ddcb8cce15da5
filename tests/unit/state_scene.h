/* state_scene.h: hand-made replies of GetClusterResourceState, with Ray's tags. */
#pragma once

#include "base/buf.h"
#include "ray/wire.h"

/* A message that is being written; it is finished when it is put into another one. */
struct piece {
    struct buf bytes;
};

static inline struct piece piece_new(void)
{
    struct piece piece;
    buf_init(&piece.bytes, 64 << 20);
    return piece;
}

static inline void piece_into(struct piece *piece, struct piece *parent, uint32_t tag)
{
    wire_add_bytes(&parent->bytes, tag, buf_str(&piece->bytes));
    buf_clear(&piece->bytes);
}

static inline void put_number(struct piece *piece, uint32_t tag, int64_t number)
{
    wire_add_number(&piece->bytes, tag, number);
}

static inline void put_text(struct piece *piece, uint32_t tag, const char *text)
{
    wire_add_bytes(&piece->bytes, tag, str_from(text));
}

/* An entry of a map. */
static inline void put_amount(struct piece *piece, uint32_t tag, const char *name, double amount)
{
    struct piece entry = piece_new();
    put_text(&entry, 1, name);
    wire_add_double(&entry.bytes, 2, amount);
    piece_into(&entry, piece, tag);
}

static inline void put_label(struct piece *piece, uint32_t tag, const char *key, const char *value)
{
    struct piece entry = piece_new();
    put_text(&entry, 1, key);
    put_text(&entry, 2, value);
    piece_into(&entry, piece, tag);
}

/* A node's id: 28 bytes of one letter. */
static inline void put_id(struct piece *node, char letter)
{
    char id[28];
    for (size_t i = 0; i < sizeof(id); i++) {
        id[i] = letter;
    }
    wire_add_bytes(&node->bytes, 1, (struct str){id, sizeof(id)});
}

/* A rule of a selector with up to two values; NULL: none. */
static inline void put_rule(struct piece *selector, const char *key, int op, const char *value,
                            const char *other)
{
    struct piece rule = piece_new();
    put_text(&rule, 1, key);
    put_number(&rule, 2, op);
    if (value) {
        put_text(&rule, 3, value);
    }
    if (other) {
        put_text(&rule, 3, other);
    }
    piece_into(&rule, selector, 1);
}

/* Adds a request of one amount to `parent`, with one empty selector, as Ray does. */
static inline void put_request(struct piece *parent, uint32_t tag, const char *name, double amount)
{
    struct piece request = piece_new();
    put_amount(&request, 1, name, amount);
    put_text(&request, 3, "");
    piece_into(&request, parent, tag);
}

static inline void put_demand(struct piece *parent, uint32_t tag, const char *name, double amount,
                              int64_t count)
{
    struct piece demand = piece_new();
    put_request(&demand, 1, name, amount);
    put_number(&demand, 2, count);
    piece_into(&demand, parent, tag);
}
