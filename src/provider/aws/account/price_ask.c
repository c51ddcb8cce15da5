/* price_ask.c: one GetProducts call per product, a few at a time; one spot price listing per
 * region. */
#include "provider/aws/account/price_ask.h"

#include "base/buf.h"
#include "io/clock.h"
#include "io/xalloc.h"
#include "provider/aws/account/price_reply.h"
#include "provider/aws/client/aws_pages.h"

enum {
    CALLS_MAX = 8,  /* concurrent GetProducts calls: it throttles early */
    PAGES_MAX = 20, /* limit for one product, which is on the first page */
    TIMEOUT_MS = 20 * 1000,
    MILLI = 1000,
};

/* One query: one product, or the spot prices of one region. */
struct price_ask_question {
    struct aws_price_ask *ask;
    size_t query; /* index of the first price_query it serves */
    struct aws_call *call;
    struct aws_pages *pages;
    unsigned page_count;
    struct str next_token;
    struct price_page page; /* last page that could be read */
};

struct aws_price_ask {
    struct aws_client *client;
    struct loop *loop;
    aws_price_fn *done;
    void *context;
    struct arena arena;
    struct price_query *queries;
    int64_t *prices;
    size_t count;
    struct price_ask_question *questions;
    size_t question_count, next, active;
    struct loop_task turn;
    struct err trouble;
};

static void start_some(struct aws_price_ask *ask);

static void free_ask(struct aws_price_ask *ask)
{
    loop_later_cancel(ask->loop, &ask->turn);
    arena_clear(&ask->arena);
    free(ask);
}

static void price_ask_note_error(struct aws_price_ask *ask, const struct err *err)
{
    if (ask->trouble.kind == ERR_NONE) {
        ask->trouble = *err;
    }
}

/* Called when a query is done. Continues from the loop, not from inside the callback. */
static void price_ask_settle(struct price_ask_question *question)
{
    struct aws_price_ask *ask = question->ask;
    question->call = NULL;
    question->pages = NULL;
    ask->active--;
    loop_defer(ask->loop, &ask->turn);
}

/* ---- the price list ---- */

static void start_products(struct price_ask_question *question);

/* Parses during the call, so that a broken reply is retried. */
static bool check_products(void *context, struct str body, struct err *err)
{
    struct price_ask_question *question = context;
    struct aws_price_ask *ask = question->ask;
    const struct price_query *query = &ask->queries[question->query];
    return price_products_read(body, query, &ask->arena, &question->page, err) ||
           err_wrap(err, "%.*s in %.*s", STR_ARG(query->name), STR_ARG(query->region));
}

static void on_products(void *context, const struct aws_reply *reply)
{
    struct price_ask_question *question = context;
    struct aws_price_ask *ask = question->ask;
    const struct price_page *page = &question->page;
    question->call = NULL;
    if (!reply->is_ok) {
        price_ask_note_error(ask, &reply->err);
    } else if (page->price == PRICE_UNKNOWN && page->next_token.len > 0 &&
               ++question->page_count < PAGES_MAX) {
        question->next_token = page->next_token;
        start_products(question);
        return;
    } else {
        ask->prices[question->query] = page->price;
    }
    price_ask_settle(question);
}

static void start_products(struct price_ask_question *question)
{
    struct aws_price_ask *ask = question->ask;
    struct aws_request request = {
        .service = AWS_PRICING,
        .region = STR("us-east-1"), /* one of the few regions with this API */
        .action = "GetProducts",
        .input = price_products_input(&ask->queries[question->query], question->next_token,
                                      &ask->arena),
        .care = AWS_READ,
        .deadline_ms = TIMEOUT_MS,
        .body_max = PRICE_REPLY_BYTES_MAX,
        .check = check_products,
        .done = on_products,
        .context = question,
    };
    question->call = aws_call_start(ask->client, &request);
}

/* ---- spot ---- */

static void take_spot(struct aws_price_ask *ask, struct str region, const struct spot_price *row)
{
    for (size_t i = 0; i < ask->count; i++) {
        const struct price_query *query = &ask->queries[i];
        if (query->kind == PRICE_SPOT && str_eq(query->region, region) &&
            str_eq(query->name, row->type) && str_eq(query->zone, row->zone)) {
            ask->prices[i] = row->price;
        }
    }
}

static void on_history(void *context, const struct aws_reply *reply,
                       const struct xml_element *const *roots, size_t count)
{
    struct price_ask_question *question = context;
    struct aws_price_ask *ask = question->ask;
    struct str region = ask->queries[question->query].region;
    struct spot_price *rows = NULL;
    size_t row_count = 0;
    struct err err;
    if (!reply->is_ok) {
        price_ask_note_error(ask, &reply->err);
    } else if (!price_history_read(roots, count, &ask->arena, &rows, &row_count, &err)) {
        (void)err_wrap(&err, "spot prices in %.*s", STR_ARG(region));
        price_ask_note_error(ask, &err);
    }
    for (size_t i = 0; i < row_count; i++) {
        take_spot(ask, region, &rows[i]);
    }
    price_ask_settle(question);
}

static void start_history(struct price_ask_question *question)
{
    struct aws_price_ask *ask = question->ask;
    struct str region = ask->queries[question->query].region;
    struct param *input = param_new_map(&ask->arena);
    struct param *types = param_add_list(input, "InstanceTypes", &ask->arena);
    struct param *systems = param_add_list(input, "ProductDescriptions", &ask->arena);
    AUTO_BUF struct buf now;
    buf_init(&now, 64);
    clock_add_utc(&now, aws_client_now(ask->client) * MILLI);
    for (size_t i = 0; i < ask->count; i++) {
        const struct price_query *query = &ask->queries[i];
        bool is_new = query->kind == PRICE_SPOT && str_eq(query->region, region);
        for (const struct param *have = types->first; have && is_new; have = have->next) {
            is_new = !str_eq(have->text, query->name);
        }
        if (is_new) {
            param_add_text(types, NULL, query->name, &ask->arena);
        }
    }
    param_add_text(systems, NULL, STR("Linux/UNIX"), &ask->arena);
    /* Starting now: AWS then returns the current prices. */
    param_add_text(input, "StartTime", arena_str(&ask->arena, buf_str(&now)), &ask->arena);
    struct aws_request request = {
        .service = AWS_EC2,
        .region = region,
        .action = "DescribeSpotPriceHistory",
        .input = input,
        .care = AWS_READ,
        .deadline_ms = TIMEOUT_MS,
    };
    question->pages = aws_pages_start(ask->client, &request, on_history, question);
}

/* ---- start and end ---- */

static void price_ask_finish(struct aws_price_ask *ask)
{
    struct aws_price_answers answers = {ask->prices, ask->count, aws_client_now(ask->client),
                                        ask->trouble};
    ask->done(ask->context, &answers);
    free_ask(ask);
}

static void start_some(struct aws_price_ask *ask)
{
    while (ask->next < ask->question_count && ask->active < CALLS_MAX) {
        struct price_ask_question *question = &ask->questions[ask->next++];
        ask->active++;
        if (ask->queries[question->query].kind == PRICE_SPOT) {
            start_history(question);
        } else {
            start_products(question);
        }
    }
}

static void price_ask_take_turn(void *context)
{
    struct aws_price_ask *ask = context;
    start_some(ask);
    if (ask->active == 0) {
        price_ask_finish(ask);
    }
}

/* False where prices are not in dollars or are in a separate price list. */
static bool is_listed(const struct price_query *query)
{
    return query->name.len > 0 && query->region.len > 0 && !str_starts(query->region, "cn-") &&
           !str_starts(query->region, "us-gov-") && !str_starts(query->region, "us-iso");
}

static bool is_asked_already(const struct aws_price_ask *ask, const struct price_query *query)
{
    for (size_t i = 0; i < ask->question_count; i++) {
        const struct price_query *other = &ask->queries[ask->questions[i].query];
        if (other->kind == PRICE_SPOT && str_eq(other->region, query->region)) {
            return true;
        }
    }
    return false;
}

static void price_ask_add_question(struct aws_price_ask *ask, size_t index)
{
    const struct price_query *query = &ask->queries[index];
    bool is_new = query->kind == PRICE_SPOT ? !is_asked_already(ask, query) : is_listed(query);
    if (is_new && query->name.len > 0) {
        ask->questions[ask->question_count++] = (struct price_ask_question){.ask = ask,
                                                                            .query = index};
    }
}

struct aws_price_ask *aws_price_ask_start(struct aws_client *client, struct loop *loop,
                                          const struct price_query *queries, size_t count,
                                          aws_price_fn *done, void *context)
{
    struct aws_price_ask *ask = HEAP_NEW(struct aws_price_ask);
    *ask = (struct aws_price_ask){
        .client = client, .loop = loop, .done = done, .context = context, .count = count};
    arena_init(&ask->arena);
    ask->queries = ARENA_ARRAY(&ask->arena, count, struct price_query);
    ask->prices = ARENA_ARRAY(&ask->arena, count, int64_t);
    ask->questions = ARENA_ARRAY(&ask->arena, count, struct price_ask_question);
    ask->turn = (struct loop_task){.run = price_ask_take_turn, .context = ask};
    for (size_t i = 0; i < count; i++) {
        ask->prices[i] = PRICE_UNKNOWN;
        ask->queries[i] = (struct price_query){
            queries[i].kind, arena_str(&ask->arena, queries[i].name),
            arena_str(&ask->arena, queries[i].region), arena_str(&ask->arena, queries[i].zone)};
        price_ask_add_question(ask, i);
    }
    loop_defer(loop, &ask->turn);
    return ask;
}

void aws_price_ask_cancel(struct aws_price_ask *ask)
{
    for (size_t i = 0; i < ask->next; i++) {
        if (ask->questions[i].call) {
            aws_call_cancel(ask->questions[i].call);
        }
        if (ask->questions[i].pages) {
            aws_pages_cancel(ask->questions[i].pages);
        }
    }
    free_ask(ask);
}
