/* service_prices.c: one price_lookup at a time. */
#include "app/head/service_prices.h"

#include "app/cloud_provider.h"
#include "app/price_lookup.h"
#include "app/test_times.h"
#include "io/xalloc.h"

enum { FIRST_MS = 5 * 1000, EVERY_MS = 3600 * 1000 };

struct price_task {
    struct head_context *head;
    struct price_table questions; /* about spot instances only */
    struct price_lookup *lookup;  /* NULL: none in progress */
    struct loop_timer *timer;
    int64_t every_ms;
};

static void service_prices_on_answer(void *context, const struct price_lookup_answer *answer)
{
    struct price_task *task = context;
    struct head_context *head = task->head;
    size_t known = 0;
    task->lookup = NULL;
    loop_timer_start(task->timer, task->every_ms);
    for (size_t i = 0; i < answer->count; i++) {
        if (answer->prices[i].price != PRICE_UNKNOWN) {
            price_table_put(&head->core.book.table, &task->questions.queries[i], answer->prices[i],
                            &head->arena);
            known++;
        }
    }
    if (answer->trouble.kind != ERR_NONE) {
        LOG(head, WARNING, "cannot ask for spot prices: %s", answer->trouble.text);
    }
    if (known > 0) {
        core_setup_reprice(head->config, &head->core);
        if (head->controller) {
            controller_reprice(head->controller);
        }
    }
}

static void service_prices_ask(void *context)
{
    struct price_task *task = context;
    struct price_lookup_setup setup = {.client = cloud_provider_aws(task->head->provider),
                                       .loop = task->head->session.loop};
    task->lookup = price_lookup_start(&setup, task->questions.queries, task->questions.count,
                                      service_prices_on_answer, task);
}

struct price_task *price_task_open(struct head_context *head)
{
    struct price_table all;
    bool is_known = false;
    if (!cloud_provider_aws(head->provider)) {
        return NULL;
    }
    struct price_task *task = HEAP_NEW(struct price_task);
    *task = (struct price_task){.head = head, .every_ms = EVERY_MS};
    price_queries_of(head->config, head->core.region, &head->arena, &all);
    for (size_t i = 0; i < all.count; i++) {
        if (all.queries[i].kind == PRICE_SPOT) {
            struct price_known known = price_table_find(&head->core.book.table, &all.queries[i]);
            is_known = is_known || known.price != PRICE_UNKNOWN;
            price_table_put(&task->questions, &all.queries[i], all.prices[i], &head->arena);
        }
    }
    if (task->questions.count == 0) {
        free(task);
        return NULL;
    }
    const struct test_time times[] = {{"spot_prices", &task->every_ms}};
    test_times_read(times, ARRAY_LEN(times));
    task->timer = loop_timer_new(head->session.loop, service_prices_ask, task);
    loop_timer_start(task->timer, is_known ? task->every_ms : FIRST_MS);
    return task;
}

void price_task_close(struct price_task *task)
{
    if (task) {
        if (task->lookup) {
            price_lookup_cancel(task->lookup);
        }
        loop_timer_free(task->timer);
        free(task);
    }
}
