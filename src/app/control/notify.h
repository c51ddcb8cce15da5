/* notify.h: notifications to the owner of the controller, one per loop turn. */
#pragma once

#include "app/control/controller.h"
#include "app/control/machine_table.h"

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
    uint64_t launch; /* the launch that failed, or 0 */
    struct str text;
    struct arena memory; /* owns the texts of `lease` and `text` */
};

struct notifier {
    /* Set by the owner. */
    struct controller *controller; /* for controller_find() and controller_lease() */
    struct loop *loop;
    const struct controller_hooks *hooks;
    const struct machine_table *machines;
    /* Its own: a queue. */
    struct loop_task task;
    struct news *first, *last;
};

void notify_changed(struct notifier *notifier, uint64_t instance);
void notify_set_up(struct notifier *notifier, uint64_t instance);
void notify_started(struct notifier *notifier);
void notify_emptied(struct notifier *notifier);
void notify_lease_lost(struct notifier *notifier, const struct cluster_lease *lease,
                       const struct err *why);
void notify_warning(struct notifier *notifier, const struct provider_answer *answer,
                    const char *fmt, ...) PRINTF_LIKE(3, 4);
/* The text says why. */
void notify_launch_failed(struct notifier *notifier, uint64_t launch,
                          const struct provider_answer *answer, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
void notify_init(struct notifier *notifier);
void notify_clear(struct notifier *notifier);
