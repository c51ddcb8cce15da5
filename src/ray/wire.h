/*
 * wire.h: parses protobuf messages in place, and writes them field by field.
 *
 * Only what Ray's messages need: varints, fixed numbers, strings and messages. Never reads past the
 * end; malformed bytes end the iteration with `is_broken`.
 */
#pragma once

#include "base/attr.h"
#include "base/buf.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* protobuf's wire types. */
enum wire_kind {
    WIRE_VARINT = 0,
    WIRE_FIXED64 = 1,
    WIRE_BYTES = 2, /* a string or a message */
    WIRE_FIXED32 = 5,
};

/* One number, so that a known tag with an unexpected wire type is treated as an unknown field. */
#define WIRE_KEY(tag, kind) ((uint32_t)(tag) << 3 | (uint32_t)(kind))

/* ---- parsing ---- */

struct wire {
    const unsigned char *at, *end;
    bool is_broken;
};

struct wire_field {
    uint32_t key;     /* WIRE_KEY() */
    uint64_t number;  /* for all kinds but bytes; the raw bits of a fixed one */
    struct str bytes; /* a view */
};

struct wire wire_open(struct str bytes);

/* False at the end, or if the message is malformed. */
bool wire_next(struct wire *wire, struct wire_field *ret_field);

/* The number of fields with this key, up to the first malformed one. */
size_t wire_count(struct str bytes, uint32_t key);

/* Converts a WIRE_FIXED64 field. */
double wire_double(uint64_t number);

/* ---- writing ---- */

/* Default values are omitted, as protobuf does. */
void wire_add_number(struct buf *out, uint32_t tag, int64_t number);
void wire_add_double(struct buf *out, uint32_t tag, double number);

/* Replaces invalid UTF-8 by '?': Ray would reject the whole message. */
void wire_add_text(struct buf *out, uint32_t tag, struct str text);

/* Written even if empty: an empty message differs from a missing one. */
void wire_add_bytes(struct buf *out, uint32_t tag, struct str bytes);
