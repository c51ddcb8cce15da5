/* timing.h: intervals and timeouts of a controller, in milliseconds. */
#pragma once

enum {
    /* Long enough to survive an outage of the cloud API. Its expiry is rarely waited for: a lease
     * is handed over, released, or broken by a process that knows its holder is dead. */
    LEASE_MS = 90 * 1000,
    LEASE_MARGIN_MS = 2000, /* clouds count whole seconds */
    RENEW_MS = LEASE_MS / 3,
    CONFIRM_MS = 5000,    /* a lease not confirmed for this long is renewed before a launch */
    CLOCK_JUMP_MS = 2000, /* the wall clock is adjusted by less */
    RETRY_FIRST_MS = 500, /* first delay after a failed call */
    RETRY_MOST_MS = 10 * 1000,
    HANDOVER_MS = 60 * 1000, /* a new holder is expected to release it soon: poll fast */
    HANDOVER_TRY_MS = 400,
    WAITING_TRY_MS = 3000,
    LISTING_MS = 15 * 1000,
    LISTING_FIRST_MS = 200, /* while machines start or terminate */
    LISTING_MOST_MS = 2000,
    LISTING_EXPECTS_MS = 20 * 1000, /* an announced change is expected within this time */
    LEFT_AGAIN_MS = 10 * 1000,      /* pause between two terminations of leftovers */
    TAGS_MS = 3000,                 /* batches nodes that finish setup at about the same time */
    PASSING_TAGS_MS = 15 * 1000,    /* shorter phases are not worth a call */
    NOTES_MS = 500,                 /* delay until events without actions are journaled */
};
