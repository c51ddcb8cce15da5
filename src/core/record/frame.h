/*
 * frame.h: what every stored event and action looks like from outside, and how large it may be.
 *
 *   format  1 byte; other values for events than for actions, so that one is never read as the
 *           other. A change of what stands in a body is a new value.
 *   length  of the body, as a number (bytes.h)
 *   body    the kind in 1 byte, then its fields, with nothing behind them
 *
 * Enums are stored as they count, so new kinds and values go to the end of their enum; one more
 * launch_cause is a new format of actions, which have a number for each.
 *
 * The limits are far beyond any real cluster. An event that passes one has no stored form; bytes
 * that claim to are damaged.
 */
#pragma once

#include "core/record/bytes.h"

enum record_format { RECORD_EVENT = 0x01, RECORD_ACTION = 0x81 };

enum {
    RECORD_BYTES_MAX = 16 << 20, /* of a body */
    RECORD_LISTED_MAX = 1 << 20,
    RECORD_CAPACITIES_MAX = 1 << 16,
    RECORD_LABELS_MAX = 1 << 12,
    RECORD_DEMANDS_MAX = 1 << 20,
    RECORD_GANGS_MAX = 1 << 20,
    RECORD_REQUESTS_MAX = 1 << 20, /* of one gang */
    RECORD_AMOUNTS_MAX = 1 << 12,  /* the rest of one request */
    RECORD_SELECTORS_MAX = 1 << 8,
    RECORD_RULES_MAX = 1 << 8,
    RECORD_VALUES_MAX = 1 << 12,
    RECORD_PLACEMENTS_MAX = 1 << 8,
};

/* A body is written between the two. The end returns the whole record, empty when it is bad. */
void frame_begin(struct byte_writer *writer, struct arena *arena);
struct str frame_end(struct byte_writer *writer, enum record_format format);

/* Takes a whole record of this format off the front of `*bytes`; on failure takes nothing. */
bool frame_open(struct str *bytes, enum record_format format, struct str *ret_body) MUST_USE;

/* The kind of a body, before a reader is made for it; -1 when it is empty. */
int frame_kind(struct str body);
