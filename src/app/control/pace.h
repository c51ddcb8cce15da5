/* pace.h: how often and how long a controller waits; all in milliseconds. */
#pragma once

enum {
    /* Most of it is there for a cloud that does not answer for a while. Hardly anybody waits for
     * its end: it is handed over, given back, or broken by who knows that its holder is gone. */
    LEASE_MS = 90 * 1000,
    LEASE_MARGIN_MS = 2000, /* clouds count it in whole seconds */
    RENEW_MS = LEASE_MS / 3,
    CONFIRM_MS = 5000, /* a lease that was not heard of for so long is looked at before a launch */
    RETRY_FIRST_MS = 500, /* after a call that did not go well */
    RETRY_MOST_MS = 10 * 1000,
    HANDOVER_MS = 60 * 1000, /* who has it will give it back soon, or is gone */
    HANDOVER_TRY_MS = 400,
    WAITING_TRY_MS = 3000,
    LISTING_MS = 15 * 1000,
    LISTING_FIRST_MS = 200, /* while machines come or go */
    LISTING_MOST_MS = 2000,
    LISTING_EXPECTS_MS = 20 * 1000, /* what was announced shows up within */
    TAGS_MS = 3000, /* nodes that are set up together are done at about the same time */
    PASSING_TAGS_MS = 15 * 1000, /* what is shorter is not worth a call */
    NOTES_MS = 500,              /* until what was only heard is written down */
};
