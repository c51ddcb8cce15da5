/* launch_prices.c: starts a price_lookup and limits the time that it may take. */
#include "app/launch/launch_prices.h"

#include "app/cloud_provider.h"
#include "app/price_lookup.h"

enum {
    PATIENCE_MS = 5000, /* after the preflight */
    TEXT_BYTES_MAX = 1 << 20,
    ENDPOINT_BYTES_MAX = 1024,
};

struct launch_prices {
    struct cluster_session *launch;
    struct price_table questions;
    struct price_lookup *lookup; /* NULL: answered */
    struct loop_timer *patience;
    void (*done)(void *context); /* NULL: not waited for yet */
    void *context;
};

static void launch_prices_give(struct launch_prices *prices)
{
    void (*done)(void *context) = prices->done;
    prices->done = NULL;
    if (done) {
        loop_timer_stop(prices->patience);
        done(prices->context);
    }
}

static void launch_prices_on_answer(void *context, const struct price_lookup_answer *answer)
{
    struct launch_prices *prices = context;
    struct cluster_session *launch = prices->launch;
    prices->lookup = NULL;
    for (size_t i = 0; i < answer->count; i++) {
        if (answer->prices[i].price != PRICE_UNKNOWN) {
            price_table_put(&launch->core.book.table, &prices->questions.queries[i],
                            answer->prices[i], launch->arena);
        }
    }
    launch_prices_give(prices);
}

static void launch_prices_on_late(void *context)
{
    struct launch_prices *prices = context;
    if (prices->lookup) {
        price_lookup_cancel(prices->lookup);
        prices->lookup = NULL;
    }
    launch_prices_give(prices);
}

void launch_prices_start(struct cluster_session *launch)
{
    struct aws_client *client = cloud_provider_aws(launch->provider);
    struct arena *arena = launch->arena;
    if (!client) {
        return;
    }
    struct launch_prices *prices = ARENA_NEW(arena, struct launch_prices);
    aws_environ env = cloud_session_aws(launch->session).environ;
    AUTO_BUF struct buf endpoint;
    buf_init(&endpoint, ENDPOINT_BYTES_MAX);
    cloud_session_overrides(env, launch->session->redact, &endpoint);
    prices->launch = launch;
    prices->patience = loop_timer_new(launch->session->loop, launch_prices_on_late, prices);
    price_queries_of(launch->config, launch->core.region, arena, &prices->questions);
    prices->lookup = price_lookup_start(
        &(struct price_lookup_setup){.client = client,
                                     .loop = launch->session->loop,
                                     .cache_folder = price_cache_folder(env, arena),
                                     .endpoint = buf_str(&endpoint)},
        prices->questions.queries, prices->questions.count, launch_prices_on_answer, prices);
    launch->prices = prices;
}

void launch_prices_wait(struct cluster_session *launch, void (*done)(void *context), void *context)
{
    struct launch_prices *prices = launch->prices;
    if (!prices || !prices->lookup) {
        done(context);
        return;
    }
    prices->done = done;
    prices->context = context;
    loop_timer_start(prices->patience, PATIENCE_MS);
}

void launch_prices_end(struct cluster_session *launch)
{
    if (launch->prices) {
        if (launch->prices->lookup) {
            price_lookup_cancel(launch->prices->lookup);
        }
        loop_timer_free(launch->prices->patience);
        launch->prices = NULL;
    }
}

struct str launch_prices_text(const struct cluster_session *launch)
{
    AUTO_BUF struct buf text;
    buf_init(&text, TEXT_BYTES_MAX);
    price_table_write(&launch->core.book.table, &text);
    return arena_str(launch->arena, buf_str(&text));
}
