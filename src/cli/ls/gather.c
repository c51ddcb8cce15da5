/* gather.c: lists clusters and their prices with a progress line. */
#include "cli/ls/gather.h"

#include "cli/cloud.h"
#include "cli/input.h"
#include "cli/output.h"
#include "io/os.h"

enum { DEADLINE_MS = 120 * 1000, PROGRESS_MS = 500 };

/* Rewrites one terminal line, which is cleared when the reply comes. */
static void show_progress(void *context)
{
    struct gathering *gathering = context;
    FILE *err = gathering->cli->err;
    size_t asked = 0;
    size_t answered = 0;
    fputs("\r\033[K", err);
    for (size_t i = 0; i < gathering->part_count; i++) {
        if (gathering->parts[i].google) {
            struct gcp_account_progress part = gcp_account_progress(gathering->parts[i].google);
            asked += part.asked_count;
            answered += part.answered_count;
        }
    }
    if (gathering->account_call) {
        struct aws_account_progress now = aws_account_progress(gathering->account_call);
        fprintf(err, "listing AWS: %zu of %zu", now.answered_count, now.asked_count);
        if (now.region.len > 0) {
            fprintf(err, ", waiting for %.*s", STR_ARG(now.region));
        }
    } else if (answered < asked) {
        fprintf(err, "listing Google Cloud: %zu of %zu", answered, asked);
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

/* ---- the result ---- */

static struct account_gap gathering_gap(const struct gathering_part *part)
{
    struct str project = STR("");
    if (part->google) { /* copied, because gc prints it when the client is closed */
        project = arena_str(part->gathering->arena, gcp_account_project(part->google));
    }
    return (struct account_gap){.region = STR(""),
                                .what = part->is_google ? STR("Google Cloud") : STR("AWS"),
                                .code = STR(""),
                                .err = part->err,
                                .project = project};
}

/* The user has not asked for this cloud, and has no access to it. */
static bool gathering_may_skip(const struct gathering *gathering, const struct gathering_part *part)
{
    bool has_none = part->is_google ? part->err.kind == ERR_AUTH || part->err.kind == ERR_NOT_FOUND
                                    : part->err.kind == ERR_AUTH && gathering->client &&
                                          aws_client_source(gathering->client).len == 0;
    return !part->is_named && has_none;
}

/* The credentials name no project, but clusters do. */
static bool gathering_is_nowhere(const struct gathering *gathering,
                                 const struct gathering_part *part)
{
    return part->google && part->err.kind == ERR_NOT_FOUND && gathering->google.count > 0 &&
           gcp_account_project(part->google).len == 0;
}

/* Puts the parts together. A part that failed is a gap, if another one succeeded. */
static void gathering_join(struct gathering *gathering)
{
    struct arena *arena = gathering->arena;
    struct account accounts[GATHERING_PARTS_MAX];
    bool is_any_listed = false;
    for (size_t i = 0; i < gathering->part_count; i++) {
        struct gathering_part *part = &gathering->parts[i];
        struct account_gap *gap = ARENA_NEW(arena, struct account_gap);
        is_any_listed = is_any_listed || part->is_listed;
        accounts[i] = part->account;
        if (part->is_listed) {
            continue;
        }
        *gap = gathering_gap(part);
        if (gathering_is_nowhere(gathering, part)) {
            accounts[i] = (struct account){0};
        } else if (gathering_may_skip(gathering, part)) {
            accounts[i] = (struct account){.skipped = gap, .skipped_count = 1};
        } else {
            accounts[i] = (struct account){.gaps = gap, .gap_count = 1};
        }
    }
    if (is_any_listed) {
        struct account *joined = ARENA_NEW(arena, struct account);
        account_join(accounts, gathering->part_count, arena, joined);
        gathering->account = joined;
    }
}

static void gathering_finish(struct gathering *gathering)
{
    gathering_join(gathering);
    if (gathering->account && gathering->wants_prices) {
        account_cost_queries(gathering->account, gathering->arena, &gathering->queries,
                             &gathering->query_count);
    }
    if (gathering->query_count > 0) {
        start_prices(gathering);
    } else {
        cloud_session_stop(&gathering->session);
    }
}

static void gathering_settle(struct gathering_part *part, const struct account *account,
                             const struct err *err)
{
    struct gathering *gathering = part->gathering;
    part->is_listed = account != NULL;
    if (account) {
        part->account = *account;
    } else {
        part->err = *err;
    }
    if (--gathering->pending == 0) {
        gathering_finish(gathering);
    }
}

static struct gathering_part *gathering_add(struct gathering *gathering, bool is_named)
{
    struct gathering_part *part = &gathering->parts[gathering->part_count++];
    *part = (struct gathering_part){.gathering = gathering, .is_named = is_named};
    gathering->pending++;
    return part;
}

/* ---- Google Cloud ---- */

static void gathering_on_google(void *context, const struct account *account, const struct err *err)
{
    gathering_settle(context, account, err);
}

/* An empty project is that of the credentials. */
static void gathering_start_google(struct gathering *gathering, struct str project, bool is_named,
                                   gcp_account_fn *done)
{
    struct gathering_part *part = gathering_add(gathering, is_named);
    struct gcp_account_setup setup = {
        .base = cloud_session_gcp(&gathering->session),
        .project = project,
        .seed = os_seed(),
        .regions = gathering->google_regions,
        .region_count = gathering->google_region_count,
        .arena = gathering->arena,
    };
    part->is_google = true;
    part->google = gcp_account_start(&setup, done, part);
}

/* Now the project of the credentials is known: the others follow. Those of clusters that were
 * started from this machine are the user's. */
static void gathering_on_default(void *context, const struct account *account,
                                 const struct err *err)
{
    struct gathering_part *part = context;
    struct gathering *gathering = part->gathering;
    const struct google_projects *google = &gathering->google;
    struct str own = gcp_account_project(part->google);
    for (size_t i = 0; i < google->count; i++) {
        if (str_eq(google->of_clusters[i], own)) {
            part->is_named = true;
        } else {
            gathering_start_google(gathering, google->of_clusters[i], true, gathering_on_google);
        }
    }
    gathering_settle(part, account, err);
}

static void gathering_ask_google(struct gathering *gathering, bool is_named)
{
    struct gcp_setup setup = cloud_session_gcp(&gathering->session);
    struct google_projects *google = &gathering->google;
    for (size_t i = 0; i < gathering->named_count; i++) {
        gathering_start_google(gathering, gathering->named[i], true, gathering_on_google);
    }
    if (gathering->named_count > 0) {
        return;
    }
    google_projects_find(&setup, gathering->arena, google);
    if (google->has_credentials || is_named) {
        gathering_start_google(gathering, STR(""), is_named, gathering_on_default);
    } else if (google->is_configured || google->count > 0) {
        struct gathering_part *part = gathering_add(gathering, false);
        part->is_google = true;
        gathering->pending--;
        err_set(&part->err, ERR_AUTH,
                "no Google credentials found; run `gcloud auth application-default login`");
    }
}

/* ---- AWS ---- */

static void ls_gather_on_account(void *context, const struct account *account,
                                 const struct err *err)
{
    struct gathering_part *part = context;
    part->gathering->account_call = NULL;
    gathering_settle(part, account, err);
}

static void gathering_ask_aws(struct gathering *gathering, const char *profile, bool is_named)
{
    struct gathering_part *part = gathering_add(gathering, is_named);
    struct aws_client_setup client_setup = cloud_session_aws(&gathering->session);
    cloud_announce(gathering->cli, &gathering->session);
    client_setup.profile = str_from(profile);
    if (!aws_client_open(&client_setup, &gathering->client, &part->err)) {
        gathering->pending--;
        return;
    }
    struct aws_account_setup setup = {
        .client = gathering->client,
        .loop = gathering->session.loop,
        .regions = gathering->regions,
        .region_count = gathering->region_count,
        .arena = gathering->arena,
    };
    gathering->account_call = aws_account_start(&setup, ls_gather_on_account, part);
}

void gathering_close(struct gathering *gathering)
{
    if (gathering->account_call) {
        aws_account_cancel(gathering->account_call);
    }
    if (gathering->price_call) {
        price_lookup_cancel(gathering->price_call);
    }
    for (size_t i = 0; i < gathering->part_count; i++) {
        if (gathering->parts[i].google) {
            gcp_account_free(gathering->parts[i].google);
        }
    }
    if (gathering->client) {
        aws_client_close(gathering->client);
    }
    if (gathering->session.loop) {
        cloud_session_close(&gathering->session);
    }
}

/* ---- the command line ---- */

/* Cuts the next word of "a,b"; false if there is none. */
static bool gathering_word(struct str *rest, size_t count, struct str *ret_word)
{
    bool has_more = rest->len > 0 || count == 0;
    *ret_word = str_trim(str_cut(rest, ','));
    return has_more;
}

static void gathering_add_word(struct str *words, size_t *count, struct str word)
{
    for (size_t i = 0; i < *count; i++) {
        if (str_eq(words[i], word)) {
            return;
        }
    }
    words[(*count)++] = word;
}

/* Parses "us-west-2,eu-west1": of AWS and of Google Cloud. At most GATHERING_REGIONS_MAX, without
 * duplicates. */
static bool read_regions(struct gathering *gathering, const char *given, struct err *err)
{
    struct str rest = str_from(given);
    struct str name;
    for (size_t count = 0; given && gathering_word(&rest, count, &name); count++) {
        if (!input_is_region(name) || count == GATHERING_REGIONS_MAX) {
            return err_set(err, ERR_USAGE,
                           "--region must be names such as us-west-2,eu-west-1, not \"%.100s\"",
                           given);
        }
        if (google_region_is_name(name)) {
            gathering_add_word(gathering->google_regions, &gathering->google_region_count, name);
        } else {
            gathering_add_word(gathering->regions, &gathering->region_count, name);
        }
    }
    return true;
}

static bool read_projects(struct gathering *gathering, const char *given, struct err *err)
{
    struct str rest = str_from(given);
    struct str id;
    for (size_t count = 0; given && gathering_word(&rest, count, &id); count++) {
        if (!google_project_is_id(id) || count == GOOGLE_PROJECTS_MAX) {
            return err_set(err, ERR_USAGE,
                           "--project must be IDs of Google Cloud projects such as my-project-1, "
                           "not \"%.100s\"",
                           given);
        }
        gathering_add_word(gathering->named, &gathering->named_count, id);
    }
    return true;
}

/* ---- start and end ---- */

/* Without credentials, prints where they were looked for. */
static void ls_gather_print(const struct gathering *gathering, const struct gathering_part *part)
{
    const struct cli *cli = gathering->cli;
    struct err err = part->err;
    struct str project = part->google ? gcp_account_project(part->google) : STR("");
    if (project.len > 0) {
        err_prepend(&err, "Google Cloud project %.*s", STR_ARG(str_sub(project, 0, 100)));
    }
    (void)output_error(cli, &err);
    if (!part->is_google && gathering->client && err.kind == ERR_AUTH &&
        aws_client_source(gathering->client).len == 0) {
        cloud_print_sources(cli, aws_client_sources_report(gathering->client, cli->arena));
    }
}

static int ls_gather_fail(const struct gathering *gathering, const struct err *err)
{
    int status = output_error(gathering->cli, err);
    return gathering->session.loop ? cloud_session_exit_status(&gathering->session, err) : status;
}

static int ls_gather_fail_all(const struct gathering *gathering)
{
    for (size_t i = 0; i < gathering->part_count; i++) {
        ls_gather_print(gathering, &gathering->parts[i]);
    }
    return err_exit_status(gathering->parts[0].err.kind);
}

static void gathering_ask(struct gathering *gathering, const struct gathering_fields *given)
{
    bool names_aws = given->profile || gathering->region_count > 0;
    bool names_google = gathering->named_count > 0 || gathering->google_region_count > 0;
    if (names_aws || !names_google) {
        gathering_ask_aws(gathering, given->profile, names_aws);
    }
    if (names_google || !names_aws) {
        gathering_ask_google(gathering, names_google);
    }
}

int gathering_run(struct gathering *gathering, const struct gathering_fields *given)
{
    struct err err;
    struct cloud_session_setup session_setup = {.deadline_ms = DEADLINE_MS,
                                                .least = LOG_LEVEL_WARNING};
    if (!read_regions(gathering, given->regions, &err) ||
        !read_projects(gathering, given->projects, &err) ||
        !cloud_session_open(&gathering->session, &session_setup, &err) ||
        !cloud_session_open_http(&gathering->session, &err)) {
        return ls_gather_fail(gathering, &err);
    }
    gathering_ask(gathering, given);
    if (gathering->pending > 0) {
        start_progress(gathering);
        bool is_answered = cloud_session_run(&gathering->session, &err);
        end_progress(gathering);
        if (!is_answered) {
            return ls_gather_fail(gathering, &err);
        }
    }
    return gathering->account ? 0 : ls_gather_fail_all(gathering);
}
