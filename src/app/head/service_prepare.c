/* service_prepare.c: waits until the cluster is settled, then prepares future launches. */
#include "app/head/service_prepare.h"

enum { CHECK_MS = 1000 };

static void early_prepare_on_done(void *context, const struct provider_answer *answer,
                                  const struct provider_resource *things, size_t count)
{
    (void)context; /* errors were reported as warnings, and a launch tries again */
    (void)answer;
    (void)things;
    (void)count;
}

/* May there be more workers than the minimum? */
static bool early_prepare_is_elastic(const struct head_context *head)
{
    return head->core.settings.max_workers > (int64_t)head_context_min_workers(head);
}

static void early_prepare_check(void *context)
{
    struct early_prepare *prepare = context;
    const struct head_context *head = prepare->head;
    if (!prepare->is_settled(prepare->context)) {
        loop_timer_start(prepare->timer, CHECK_MS);
    } else if (head->is_leading && !head->is_ending && early_prepare_is_elastic(head)) {
        controller_prepare(head->controller, early_prepare_on_done, NULL);
    }
}

void early_prepare_open(struct early_prepare *prepare)
{
    prepare->timer = loop_timer_new(prepare->head->session.loop, early_prepare_check, prepare);
}

void early_prepare_begin(struct early_prepare *prepare)
{
    loop_timer_start(prepare->timer, CHECK_MS);
}
