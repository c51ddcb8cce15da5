/*
 * wire.h: protobuf's bytes, walked where they lie and written one field after the other.
 *
 * Only what Ray's messages need: varints, fixed numbers, texts and messages. No byte past the end
 * is ever looked at, and bytes that are no message end the walk with `is_broken`.
 */
#pragma once

#include "base/attr.h"
#include "base/buf.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The numbers are protobuf's. */
enum wire_kind {
    WIRE_VARINT = 0,
    WIRE_FIXED64 = 1,
    WIRE_BYTES = 2, /* a text or a message */
    WIRE_FIXED32 = 5,
};

/* As one number, so that a known tag of an unexpected kind is as unknown as any other field. */
#define WIRE_KEY(tag, kind) ((uint32_t)(tag) << 3 | (uint32_t)(kind))

/* ---- reading ---- */

struct wire {
    const unsigned char *at, *end;
    bool is_broken;
};

struct wire_field {
    uint32_t key;     /* WIRE_KEY() */
    uint64_t number;  /* of any kind but bytes; a fixed one as its bits */
    struct str bytes; /* view */
};

struct wire wire_open(struct str bytes);

/* False at the end, and for what is broken. */
bool wire_next(struct wire *wire, struct wire_field *ret_field);

/* How many fields of a message have this key, up to where it is broken. */
size_t wire_count(struct str bytes, uint32_t key);

/* Of a field of the kind WIRE_FIXED64. */
double wire_double(uint64_t number);

/* ---- writing ---- */

/* What has its default value is left out, as protobuf does. */
void wire_add_number(struct buf *out, uint32_t tag, int64_t number);
void wire_add_double(struct buf *out, uint32_t tag, double number);

/* Bytes that are not UTF-8 become '?': Ray would refuse the whole message. */
void wire_add_text(struct buf *out, uint32_t tag, struct str text);

/* Written even when it is empty: there is a difference between an empty message and none. */
void wire_add_bytes(struct buf *out, uint32_t tag, struct str bytes);
