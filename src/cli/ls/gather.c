/* gather.c: lists clusters and their prices with a progress line. */
#include "cli/ls/gather.h"

#include "cli/cloud.h"
#include "cli/input.h"
#include "cli/output.h"

enum { DEADLINE_MS = 120 * 1000, PROGRESS_MS = 500, REGIONS_MAX = 100 };

/* Rewrites one terminal line, which is cleared when the reply comes. */
static void show_progress(void *context)
{
    struct gathering *gathering = context;
    FILE *err = gathering->cli->err;
    fputs("\r\033[K", err);
    if (gathering->account_call) {
        struct aws_account_progress now = aws_account_progress(gathering->account_call);
        fprintf(err, "listing AWS: %zu of %zu", now.answered_count, now.asked_count);
        if (now.region.len > 0) {
            fprintf(err, ", waiting for %.*s", STR_ARG(now.region));
        }
    } else {
        fputs("reading prices from AWS", err);
    }
    fflush(err);
    loop_timer_start(gathering->progress, PROGRESS_MS);
}

static void start_progress(struct gathering *gathering)
{
    if (output_wants_colour(gathering->cli->err, NULL)) {
        gathering->progress = loop_timer_new(gathering->session.loop, show_progress, gathering);
        loop_timer_start(gathering->progress, PROGRESS_MS);
    }
}

static void end_progress(struct gathering *gathering)
{
    if (gathering->progress) {
        loop_timer_free(gathering->progress);
        gathering->progress = NULL;
        fputs("\r\033[K", gathering->cli->err);
        fflush(gathering->cli->err);
    }
}

static void ls_gather_on_prices(void *context, const struct price_lookup_answer *answer)
{
    struct gathering *gathering = context;
    gathering->price_call = NULL;
    for (size_t i = 0; i < answer->count; i++) {
        gathering->prices[i] = answer->prices[i];
    }
    gathering->trouble = answer->trouble;
    gathering->unkept = answer->unkept;
    cloud_session_stop(&gathering->session);
}

/* Endpoint overrides in the environment: prices from another endpoint are cached separately. */
static struct str endpoint_of(const struct gathering *gathering, aws_environ env)
{
    AUTO_BUF struct buf text;
    buf_init(&text, 1024);
    cloud_session_overrides(env, gathering->session.redact, &text);
    return arena_str(gathering->arena, buf_str(&text));
}

static void start_prices(struct gathering *gathering)
{
    aws_environ env = cloud_session_aws(&gathering->session).environ;
    struct price_lookup_setup setup = {
        .client = gathering->client,
        .loop = gathering->session.loop,
        .account = gathering->account->id,
        .cache_folder = price_cache_folder(env, gathering->arena),
        .endpoint = endpoint_of(gathering, env),
    };
    gathering->prices = ARENA_ARRAY(gathering->arena, gathering->query_count, struct price_known);
    gathering->price_call = price_lookup_start(&setup, gathering->queries, gathering->query_count,
                                               ls_gather_on_prices, gathering);
}

static void ls_gather_on_account(void *context, const struct account *account,
                                 const struct err *err)
{
    struct gathering *gathering = context;
    gathering->account_call = NULL;
    if (!account) {
        gathering->err = *err;
        cloud_session_stop(&gathering->session);
        return;
    }
    struct account *kept = ARENA_NEW(gathering->arena, struct account);
    *kept = *account;
    gathering->account = kept;
    if (gathering->wants_prices) {
        account_cost_queries(account, gathering->arena, &gathering->queries,
                             &gathering->query_count);
    }
    if (gathering->query_count > 0) {
        start_prices(gathering);
    } else {
        cloud_session_stop(&gathering->session);
    }
}

void gathering_close(struct gathering *gathering)
{
    if (gathering->account_call) {
        aws_account_cancel(gathering->account_call);
    }
    if (gathering->price_call) {
        price_lookup_cancel(gathering->price_call);
    }
    if (gathering->client) {
        aws_client_close(gathering->client);
    }
    if (gathering->session.loop) {
        cloud_session_close(&gathering->session);
    }
}

/* ---- the command line ---- */

/* Parses "us-west-2,eu-west-1"; NULL: none. At most REGIONS_MAX, without duplicates. */
static bool read_regions(const char *given, struct str *regions, size_t *ret_count, struct err *err)
{
    struct str rest = str_from(given);
    size_t count = 0;
    while (given && (rest.len > 0 || count == 0)) {
        struct str name = str_trim(str_cut(&rest, ','));
        if (!input_is_region(name) || count == REGIONS_MAX) {
            return err_set(err, ERR_USAGE,
                           "--region must be names such as us-west-2,eu-west-1, not \"%.100s\"",
                           given);
        }
        bool is_new = true;
        for (size_t i = 0; i < count; i++) {
            is_new = is_new && !str_eq(regions[i], name);
        }
        if (is_new) {
            regions[count++] = name;
        }
    }
    *ret_count = count;
    return true;
}

/* ---- start and end ---- */

/* Without credentials, prints where they were looked for. */
static int ls_gather_fail(const struct cli *cli, const struct gathering *gathering,
                          const struct err *err)
{
    int status = output_error(cli, err);
    if (gathering->client && err->kind == ERR_AUTH &&
        aws_client_source(gathering->client).len == 0) {
        cloud_print_sources(cli, aws_client_sources_report(gathering->client, cli->arena));
    }
    return gathering->session.loop ? cloud_session_exit_status(&gathering->session, err) : status;
}

int gathering_run(struct gathering *gathering, const struct gathering_fields *given)
{
    struct err err;
    const struct cli *cli = gathering->cli;
    struct str *regions = ARENA_ARRAY(cli->arena, REGIONS_MAX, struct str);
    size_t region_count = 0;
    struct cloud_session_setup session_setup = {.deadline_ms = DEADLINE_MS,
                                                .least = LOG_LEVEL_WARNING};
    if (!read_regions(given->regions, regions, &region_count, &err) ||
        !cloud_session_open(&gathering->session, &session_setup, &err) ||
        !cloud_session_open_http(&gathering->session, &err)) {
        return ls_gather_fail(cli, gathering, &err);
    }
    cloud_announce(cli, &gathering->session);
    struct aws_client_setup client_setup = cloud_session_aws(&gathering->session);
    client_setup.profile = str_from(given->profile);
    if (!aws_client_open(&client_setup, &gathering->client, &err)) {
        return ls_gather_fail(cli, gathering, &err);
    }
    struct aws_account_setup setup = {
        .client = gathering->client,
        .loop = gathering->session.loop,
        .regions = regions,
        .region_count = region_count,
        .arena = cli->arena,
    };
    gathering->account_call = aws_account_start(&setup, ls_gather_on_account, gathering);
    start_progress(gathering);
    bool is_answered = cloud_session_run(&gathering->session, &err);
    end_progress(gathering);
    if (!is_answered) {
        return ls_gather_fail(cli, gathering, &err);
    }
    return gathering->account ? 0 : ls_gather_fail(cli, gathering, &gathering->err);
}
