/* verb_ls.c: every cluster of an account, in every region, and what it costs. */
#include "app/account_cost.h"
#include "app/cloud_session.h"
#include "app/price_lookup.h"
#include "base/utf8.h"
#include "cli/cloud.h"
#include "cli/ls/print.h"
#include "cli/output.h"
#include "provider/aws/account/account.h"

#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
    DEADLINE_MS = 120 * 1000,
    PROGRESS_MS = 500,
    REGIONS_MAX = 100,
    WARNINGS_BYTES_MAX = 64 * 1024,
};

struct ls_fields {
    const char *regions;
    const char *profile;
    const char *output;
};

static const struct option options[] = {
    {"region", 0, OPTION_TEXT, offsetof(struct ls_fields, regions), "REGION,...", NULL,
     "Look at these regions only, with commas between them. The default is every region that is "
     "enabled for the account."},
    {"profile", 0, OPTION_TEXT, offsetof(struct ls_fields, profile), "NAME", NULL,
     "The profile of ~/.aws/config and ~/.aws/credentials to use, as AWS_PROFILE would."},
    {"output", 'o', OPTION_CHOICE, offsetof(struct ls_fields, output), "FORMAT", text_or_json,
     "text for people (the default) or json for programs."},
};

static const struct example examples[] = {
    {"shoal ls", "Everything that is running, stopped or left over, in every region."},
    {"shoal ls --region us-west-2,eu-west-1", "Two regions only; quicker."},
    {"shoal ls -o json | jq .dollars_per_hour", "What all of it costs an hour."},
};

/* ---- gathering ---- */

struct gathering {
    const struct cli *cli;
    struct cloud_session session;
    struct loop_timer *progress; /* NULL: nobody watches */
    struct aws_client *client;
    struct arena *arena;
    struct aws_account *account_call; /* under way */
    struct price_lookup *price_call;
    const struct account *account; /* the answer; NULL: `err` says why not */
    struct price_wish *wishes;
    struct price_known *prices;
    size_t wish_count;
    struct err err;
    struct err trouble; /* with prices */
    struct err unkept;
};

/* Rewrites one line of a terminal; it is gone when the answer comes. */
static void show_progress(void *context)
{
    struct gathering *gathering = context;
    FILE *err = gathering->cli->err;
    fputs("\r\033[K", err);
    if (gathering->account_call) {
        struct aws_account_progress now = aws_account_progress(gathering->account_call);
        fprintf(err, "asking AWS: %zu of %zu listings", now.answered_count, now.asked_count);
        if (now.region.len > 0) {
            fprintf(err, ", waiting for %.*s", STR_ARG(now.region));
        }
    } else {
        fputs("asking AWS for prices", err);
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

static void on_prices(void *context, const struct price_lookup_answer *answer)
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

/* The environment's redirections: prices from elsewhere are other prices. */
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
    gathering->prices = ARENA_ARRAY(gathering->arena, gathering->wish_count, struct price_known);
    gathering->price_call = price_lookup_start(&setup, gathering->wishes, gathering->wish_count,
                                               on_prices, gathering);
}

static void on_account(void *context, const struct account *account, const struct err *err)
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
    account_cost_wishes(account, gathering->arena, &gathering->wishes, &gathering->wish_count);
    if (gathering->wish_count > 0) {
        start_prices(gathering);
    } else {
        cloud_session_stop(&gathering->session);
    }
}

static void end_gathering(struct gathering *gathering)
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
    cloud_session_close(&gathering->session);
}

/* ---- the command line ---- */

static bool is_region(struct str name)
{
    bool is_fine = name.len > 0 && name.len < 64;
    for (size_t i = 0; is_fine && i < name.len; i++) {
        char c = name.ptr[i];
        is_fine = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
    }
    return is_fine;
}

static bool read_regions(const char *given, struct str *regions, size_t *ret_count, struct err *err)
{
    struct str rest = str_from(given);
    size_t count = 0;
    while (given && (rest.len > 0 || count == 0)) {
        struct str name = str_trim(str_cut(&rest, ','));
        if (!is_region(name) || count == REGIONS_MAX) {
            return err_set(err, ERR_USAGE,
                           "--region wants names such as us-west-2,eu-west-1, "
                           "not \"%.100s\"",
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

/* ---- telling ---- */

static size_t columns_of(FILE *stream)
{
    struct winsize size;
    bool is_known = isatty(fileno(stream)) == 1 && ioctl(fileno(stream), TIOCGWINSZ, &size) == 0;
    return is_known ? size.ws_col : 0;
}

static void warn(const struct cli *cli, const struct gathering *gathering)
{
    AUTO_BUF struct buf out;
    buf_init(&out, WARNINGS_BYTES_MAX);
    ls_print_gaps(&out, cli->arena, gathering->account);
    if (gathering->trouble.kind != ERR_NONE) {
        buf_add_c(&out, "some prices could not be asked for (");
        utf8_add_visible(&out, str_from(gathering->trouble.text), false);
        buf_add_c(&out, ")\n");
    }
    if (gathering->unkept.kind != ERR_NONE) {
        buf_add_c(&out, "prices could not be kept for the next time (");
        utf8_add_visible(&out, str_from(gathering->unkept.text), false);
        buf_add_c(&out, ")\n");
    }
    cloud_print_lines(cli, "warning", buf_str(&out));
}

static int tell(const struct cli *cli, const struct gathering *gathering, bool as_json)
{
    AUTO_BUF struct buf out;
    AUTO_BUF struct buf summary;
    struct err err;
    struct ls_view view = {
        .account = gathering->account,
        .prices = {gathering->wishes, gathering->prices, gathering->wish_count},
        .now = aws_client_now(gathering->client),
    };
    buf_init(&out, OUTPUT_BYTES_MAX);
    buf_init(&summary, WARNINGS_BYTES_MAX);
    if (as_json && !ls_print_json(&out, cli->arena, &view, &err)) {
        return output_error(cli, &err);
    }
    if (!as_json && view.account->cluster_count > 0) {
        ls_print_table(&out, cli->arena, &view, columns_of(cli->out), cli->colour_out);
    }
    int status = output_write(cli, cli->out, &out);
    if (!as_json) {
        ls_print_summary(&summary, cli->arena, &view);
        fwrite(summary.ptr, 1, summary.len, cli->err);
    }
    warn(cli, gathering);
    return status ? status : gathering->account->gap_count > 0;
}

/* Without credentials the question is where they were looked for. */
static int fail(const struct cli *cli, const struct gathering *gathering, const struct err *err)
{
    int status = output_error(cli, err);
    if (gathering->client && err->kind == ERR_AUTH &&
        aws_client_source(gathering->client).len == 0) {
        cloud_print_sources(cli, aws_client_sources_report(gathering->client, cli->arena));
    }
    return gathering->session.loop ? cloud_session_exit_status(&gathering->session, err) : status;
}

static int run_with(const struct cli *cli, const struct ls_fields *given,
                    struct gathering *gathering, const struct str *regions, size_t region_count)
{
    struct err err;
    struct cloud_session_setup session_setup = {.deadline_ms = DEADLINE_MS,
                                                .least = LOG_LEVEL_WARNING};
    if (!cloud_session_open(&gathering->session, &session_setup, &err)) {
        return fail(cli, gathering, &err);
    }
    cloud_announce(cli, &gathering->session);
    struct aws_client_setup client_setup = cloud_session_aws(&gathering->session);
    client_setup.profile = str_from(given->profile);
    if (!aws_client_open(&client_setup, &gathering->client, &err)) {
        return fail(cli, gathering, &err);
    }
    struct aws_account_setup setup = {
        .client = gathering->client,
        .loop = gathering->session.loop,
        .regions = regions,
        .region_count = region_count,
        .arena = cli->arena,
    };
    gathering->account_call = aws_account_start(&setup, on_account, gathering);
    start_progress(gathering);
    bool is_answered = cloud_session_run(&gathering->session, &err);
    end_progress(gathering);
    if (!is_answered) {
        return fail(cli, gathering, &err);
    }
    return gathering->account
               ? tell(cli, gathering, given->output && strcmp(given->output, "json") == 0)
               : fail(cli, gathering, &gathering->err);
}

static int run(const struct cli *cli, const void *fields)
{
    const struct ls_fields *given = fields;
    struct gathering gathering = {.cli = cli, .arena = cli->arena};
    struct str regions[REGIONS_MAX];
    size_t region_count = 0;
    struct err err;
    if (!read_regions(given->regions, regions, &region_count, &err)) {
        return output_error(cli, &err);
    }
    int status = run_with(cli, given, &gathering, regions, region_count);
    end_gathering(&gathering);
    return status;
}

const struct verb verb_ls = {
    .name = "ls",
    .summary = "list every cluster of an account, with its cost",
    .description =
        "Looks at all regions of an AWS account at once and lists every cluster in them: those of "
        "shoal, and those that Ray's own launcher made. Nothing is changed.\n\n"
        "The state is up (the head runs), starting, partly (some machines run, but the head does "
        "not, or others are stopped), stopped (volumes are still paid for), ending, or leftover: "
        "no machine, but a security group, a key pair, a launch template, a role or a volume that "
        "was made for a cluster. The age is that of the oldest machine since its last start.\n\n"
        "$/H is what the machines that run, and all volumes, cost an hour: on demand as in AWS's "
        "price list, spot as the market is now. A + behind it says that a part has no known price "
        "and is not in the sum; a ? that nothing of it is known. Prices are kept in "
        "~/.cache/shoal, a week for the list and an hour for spot. What was spent so far is not "
        "shown: machines that are gone cannot be seen any more, so that the sum would be wrong.\n\n"
        "A region that cannot be looked at is named on standard error, and the others are shown.",
    .options = options,
    .option_count = ARRAY_LEN(options),
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
    .exit_status = "0 when everything could be looked at, 1 when a part or all could not, 2 for a "
                   "wrong command line, 130 after Ctrl-C.",
    .fields_size = sizeof(struct ls_fields),
    .run = run,
};
