/*
 * notify.c: calls the owner's hooks from the loop, one at a time.
 *
 * A hook may call anything, including controller_close().
 */
#include "app/control/notify.h"

#include "base/require.h"
#include "io/xalloc.h"

#include <stdarg.h>

enum { TEXT_BYTES_MAX = 2048 };

static void notification_free(struct news *news)
{
    arena_clear(&news->memory);
    free(news);
}

static struct news *notify_push(struct notifier *notifier, enum notification_kind kind)
{
    require(!notifier->first == !notifier->last, "a queue has both ends or none");
    struct news *news = HEAP_NEW(struct news);
    news->kind = kind;
    arena_init(&news->memory);
    if (notifier->last) {
        notifier->last->next = news;
    } else {
        notifier->first = news;
    }
    notifier->last = news;
    loop_defer(notifier->loop, &notifier->task);
    return news;
}

static struct news *pop(struct notifier *notifier)
{
    struct news *news = notifier->first;
    notifier->first = news->next;
    if (!notifier->first) {
        require(notifier->last == news, "the only notification is also the last");
        notifier->last = NULL;
    }
    return news;
}

static void notify_keep_lease(struct news *news, const struct cluster_lease *lease)
{
    if (lease) {
        news->has_lease = true;
        news->lease = *lease;
        news->lease.uid = arena_str(&news->memory, lease->uid);
        news->lease.holder = arena_str(&news->memory, lease->holder);
    }
}

/* ---- delivery ---- */

static void tell_of(struct notifier *notifier, const struct news *news)
{
    struct known *known = machine_table_find(notifier->machines, news->instance);
    require(news->instance != INSTANCE_NONE, "the notification is about an instance");
    struct managed_node managed_node = {.instance = news->instance};
    if (!controller_find(notifier->controller, news->instance, &managed_node)) {
        managed_node.is_head = news->instance == HEAD_INSTANCE;
    }
    if (news->kind == NOTIFY_CHANGED && known) {
        require(known->instance == news->instance, "the table finds the machine by its number");
        known->has_change = false;
    }
    if (news->kind == NOTIFY_CHANGED && notifier->hooks->changed) {
        notifier->hooks->changed(notifier->hooks->context, &managed_node);
    } else if (news->kind == NOTIFY_SET_UP && notifier->hooks->set_up) {
        notifier->hooks->set_up(notifier->hooks->context, &managed_node);
    }
}

static void notify_report_warning(const struct controller_hooks *hooks, struct news *news)
{
    if (news->launch != 0 && hooks->launch_failed) {
        hooks->launch_failed(hooks->context, news->launch, &news->answer, news->text);
    } else if (news->launch != 0 && hooks->trouble) {
        hooks->trouble(hooks->context, &news->answer,
                       arena_printf(&news->memory, "launch %u.%u: %.*s", LAUNCH_ARG(news->launch),
                                    STR_ARG(news->text)));
    } else if (hooks->trouble) {
        hooks->trouble(hooks->context, &news->answer, news->text);
    }
}

static void notify_report(struct notifier *notifier, struct news *news)
{
    const struct controller_hooks *hooks = notifier->hooks;
    switch (news->kind) {
    case NOTIFY_STARTED:
        if (hooks->started) {
            hooks->started(hooks->context, controller_lease(notifier->controller));
        }
        break;
    case NOTIFY_SET_UP:
    case NOTIFY_CHANGED:
        tell_of(notifier, news);
        break;
    case NOTIFY_WARNING:
        notify_report_warning(hooks, news);
        break;
    case NOTIFY_LEASE_LOST:
        if (hooks->lease_lost) {
            const struct err *why = &news->answer.err;
            hooks->lease_lost(hooks->context, news->has_lease ? &news->lease : NULL,
                              why->kind != ERR_NONE ? why : NULL);
        }
        break;
    case NOTIFY_EMPTIED:
        if (hooks->emptied) {
            hooks->emptied(hooks->context);
        }
        break;
    }
}

/* Delivers one notification per loop turn. Must not touch the controller after the hook. */
static void notify_report_next(void *context)
{
    struct notifier *notifier = context;
    struct news *news = pop(notifier);
    if (notifier->first) {
        loop_defer(notifier->loop, &notifier->task);
    }
    notify_report(notifier, news);
    notification_free(news);
}

/* ---- queueing ---- */

void notify_changed(struct notifier *notifier, uint64_t instance)
{
    struct known *known = machine_table_find(notifier->machines, instance);
    if (instance == INSTANCE_NONE || (known && known->has_change)) {
        return;
    }
    if (known) {
        known->has_change = true;
    }
    notify_push(notifier, NOTIFY_CHANGED)->instance = instance;
}

void notify_set_up(struct notifier *notifier, uint64_t instance)
{
    require(instance != INSTANCE_NONE, "only an instance is set up");
    notify_push(notifier, NOTIFY_SET_UP)->instance = instance;
}

void notify_started(struct notifier *notifier)
{
    (void)notify_push(notifier, NOTIFY_STARTED);
}

void notify_emptied(struct notifier *notifier)
{
    (void)notify_push(notifier, NOTIFY_EMPTIED);
}

void notify_lease_lost(struct notifier *notifier, const struct cluster_lease *lease,
                       const struct err *why)
{
    struct news *news = notify_push(notifier, NOTIFY_LEASE_LOST);
    notify_keep_lease(news, lease);
    if (why) {
        news->answer.err = *why;
    }
}

PRINTF_LIKE(4, 0)
static void notify_push_warning(struct notifier *notifier, uint64_t launch,
                                const struct provider_answer *answer, const char *fmt, va_list args)
{
    struct news *news = notify_push(notifier, NOTIFY_WARNING);
    AUTO_BUF struct buf text;
    buf_init(&text, TEXT_BYTES_MAX);
    buf_add_args(&text, fmt, args);
    news->launch = launch;
    news->answer = *answer;
    news->text = arena_str(&news->memory, buf_str(&text));
}

void notify_warning(struct notifier *notifier, const struct provider_answer *answer,
                    const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    notify_push_warning(notifier, 0, answer, fmt, args);
    va_end(args);
}

void notify_launch_failed(struct notifier *notifier, uint64_t launch,
                          const struct provider_answer *answer, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    notify_push_warning(notifier, launch, answer, fmt, args);
    va_end(args);
}

void notify_clear(struct notifier *notifier)
{
    while (notifier->first) {
        notification_free(pop(notifier));
    }
    loop_later_cancel(notifier->loop, &notifier->task);
}

void notify_init(struct notifier *notifier)
{
    notifier->task = (struct loop_task){.run = notify_report_next, .context = notifier};
}
