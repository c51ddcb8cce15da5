/* notify.h: notifications to the owner of the controller, one per loop turn. */
#pragma once

#include "app/control/controller.h"

enum notification_kind {
    NOTIFY_STARTED,
    NOTIFY_SET_UP,
    NOTIFY_CHANGED,
    NOTIFY_WARNING,
    NOTIFY_LEASE_LOST,
    NOTIFY_EMPTIED
};

/* A queued notification. */
struct news {
    struct news *next;
    enum notification_kind kind;
    uint64_t instance;
    struct provider_answer answer;
    bool has_lease;
    struct cluster_lease lease;
    uint64_t launch; /* that failed, or 0 */
    struct str text;
    struct arena memory; /* owns the texts of `lease` and `text` */
};

void notify_changed(struct controller *controller, uint64_t instance);
void notify_set_up(struct controller *controller, uint64_t instance);
void notify_started(struct controller *controller);
void notify_emptied(struct controller *controller);
void notify_lease_lost(struct controller *controller, const struct cluster_lease *lease,
                       const struct err *why);
void notify_warning(struct controller *controller, const struct provider_answer *answer,
                    const char *fmt, ...) PRINTF_LIKE(3, 4);
/* The text says why. */
void notify_launch_failed(struct controller *controller, uint64_t launch,
                          const struct provider_answer *answer, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
void notify_init(struct controller *controller);
void notify_clear(struct controller *controller);
