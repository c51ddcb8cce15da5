/*
 * frame.h: the outer format of stored events and actions, and their limits.
 *
 *   format  1 byte; events and actions use different values, so that one is never decoded as the
 *           other. A changed body format needs a new value.
 *   length  of the body, as a number (bytes.h)
 *   body    the kind in 1 byte, then its fields, and nothing after them
 *
 * Enums are stored as numbers, so new kinds and values go to the end of their enum; a new
 * launch_cause requires a new format of actions, which store a number for each.
 *
 * The limits are far beyond any real cluster. An event beyond a limit has no stored form; bytes
 * that claim one are damaged.
 */
#pragma once

#include "core/record/bytes.h"

enum record_format { RECORD_EVENT = 0x02, RECORD_ACTION = 0x81 };

enum {
    RECORD_BYTES_MAX = 16 << 20, /* of a body */
    RECORD_LISTED_MAX = 1 << 20,
    RECORD_CAPACITIES_MAX = 1 << 16,
    RECORD_LABELS_MAX = 1 << 12,
    RECORD_DEMANDS_MAX = 1 << 20,
    RECORD_GANGS_MAX = 1 << 20,
    RECORD_REQUESTS_MAX = 1 << 20, /* of one gang */
    RECORD_AMOUNTS_MAX = 1 << 12,  /* other arrays of one request */
    RECORD_SELECTORS_MAX = 1 << 8,
    RECORD_RULES_MAX = 1 << 8,
    RECORD_VALUES_MAX = 1 << 12,
    RECORD_PLACEMENTS_MAX = 1 << 8,
};

/* Begin and end a body. frame_end() returns the whole record, or an empty view on failure. */
void frame_begin(struct byte_writer *writer, struct arena *arena);
struct str frame_end(struct byte_writer *writer, enum record_format format);

/* Removes a complete record of this format from the front of `*bytes`; on failure `*bytes` is
 * unchanged. */
bool frame_open(struct str *bytes, enum record_format format, struct str *ret_body) MUST_USE;

/* The kind of a body; -1 if it is empty. */
int frame_kind(struct str body);
