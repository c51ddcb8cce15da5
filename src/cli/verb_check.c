/* verb_check.c: checks a cluster file against the cloud before anything is created. */
#include "app/cloud_provider.h"
#include "app/node_params.h"
#include "app/preflight.h"
#include "app/preflight_text.h"
#include "base/utf8.h"
#include "cli/cloud.h"
#include "cli/cluster_choice.h"
#include "cli/input.h"
#include "cli/json_object.h"
#include "cli/output.h"
#include "config/document/json_write.h"

#include <string.h>
#include <unistd.h>

enum { SECONDS = 60, SECONDS_MAX = 3600, SLOW_MS = 2000 };

struct check_fields {
    const char *file;
    const char *output;
    const char *profile;
    int64_t timeout;
};

static const struct operand operands[] = {
    {"FILE", offsetof(struct check_fields, file), false, COMPLETE_FILE, NULL,
     "The cluster file; - reads standard input.", false, cluster_choice},
};

static const struct option options[] = {
    {"output", 'o', OPTION_CHOICE, offsetof(struct check_fields, output), "FORMAT", text_or_json,
     "Output format: text (the default) or json."},
    {"profile", 0, OPTION_TEXT, offsetof(struct check_fields, profile), "NAME", NULL,
     "AWS profile to use instead of the one in the file or the environment."},
    {"timeout", 0, OPTION_NUMBER, offsetof(struct check_fields, timeout), "SECONDS", NULL,
     "Give up after this many seconds. The default is 60."},
};

static const struct example examples[] = {
    {"shoal check cluster.yaml", "Show what a launch would use and what would fail."},
    {"shoal check --profile work cluster.yaml", "Check with other credentials."},
    {"shoal check -o json cluster.yaml | jq .errors", "Print the number of errors, for use in "
                                                      "scripts."},
};

/* Limits of the check: only a launch would show these, or they are not implemented. */
static const char *const not_checked[] = {
    "free capacity",
    "the contents of the image",
    "setup commands",
    "whether ssh can reach the instances",
};

static const char *const not_checked_gcp[] = {"free capacity", "the contents of the image",
                                              "setup commands",
                                              "whether ssh can reach the instances"};

static const char *const not_checked_plugin[] = {"free capacity", "node_config", "setup commands",
                                                 "whether ssh can reach the instances"};

static const char *const not_checked_own[] = {
    "setup commands",
    "whether Ray's ports are open between the machines",
};

struct verb_check_state {
    const struct cli *cli;
    const struct check_fields *given;
    struct input input;
    struct cloud_session session;
    struct buf out;
    struct preflight_counts counts;
    bool is_json;
    struct err err; /* error of the provider, if the preflight failed */
    bool is_done;
};

static struct str verb_check_region_of(const struct verb_check_state *check)
{
    return value_text(value_get_c(check->input.config->provider, "region"));
}

struct unchecked {
    const char *const *items;
    size_t count;
};

static struct unchecked unchecked_of(const struct config *config)
{
    if (config && (config_plugin(config) || config_is_ray_class(config))) {
        return (struct unchecked){not_checked_plugin, ARRAY_LEN(not_checked_plugin)};
    }
    if (config && str_is(config->provider_type, "gcp")) {
        return (struct unchecked){not_checked_gcp, ARRAY_LEN(not_checked_gcp)};
    }
    return config && config_is_local(config)
               ? (struct unchecked){not_checked_own, ARRAY_LEN(not_checked_own)}
               : (struct unchecked){not_checked, ARRAY_LEN(not_checked)};
}

/* ---- text ---- */

static void add_unchecked(struct buf *out, const struct unchecked *rest,
                          const struct finding *findings, size_t count)
{
    const char *before = "Not checked: ";
    for (size_t i = 0; i < count; i++) {
        if (findings[i].unchecked.len > 0) {
            buf_addf(out, "%s%.*s", before, STR_ARG(findings[i].unchecked));
            before = ", ";
        }
    }
    for (size_t i = 0; i < rest->count; i++) {
        buf_addf(out, "%s%s", before, rest->items[i]);
        before = ", ";
    }
    buf_add_c(out, ".\n");
}

static void print_end(struct verb_check_state *check, const struct finding *findings, size_t count)
{
    struct buf *out = &check->out;
    const struct config *config = check->input.config;
    struct preflight_counts counts = check->counts;
    if (counts.errors == 0) {
        struct unchecked rest = unchecked_of(config);
        struct str region = verb_check_region_of(check);
        add_unchecked(out, &rest, findings, count);
        utf8_add_visible(out, check->input.source.name, false);
        buf_addf(out, "%s %.*s%s%.*s. Nothing was created.\n",
                 counts.unchecked > 0 ? " has no errors, but see the warnings: a launch may fail on"
                                      : " is ready for",
                 STR_ARG(config->provider_type), region.len > 0 ? " " : "", STR_ARG(region));
        return;
    }
    buf_addf(out, "%zu error%s", counts.errors, counts.errors == 1 ? "" : "s");
    if (counts.warnings > 0) {
        buf_addf(out, ", %zu warning%s", counts.warnings, counts.warnings == 1 ? "" : "s");
    }
    buf_add_c(out, ". Nothing was created.\n");
}

static void verb_check_print_text(struct verb_check_state *check, const struct finding *findings,
                                  size_t count)
{
    struct diag_style style = output_style(check->cli->colour_out);
    struct buf *out = &check->out;
    preflight_text_fine(out, findings, count);
    if (check->counts.fine > 0) {
        buf_add_char(out, '\n');
    }
    preflight_text_problems(out, findings, count, check->input.config->tree, &style);
    print_end(check, findings, count);
}

/* ---- JSON ---- */

static void verb_check_set_place(struct arena *arena, struct value *map, const struct value *tree,
                                 struct str path)
{
    struct place place = node_params_place(tree, path);
    record_text(arena, map, "path", path);
    record_int(arena, map, "line", place.line);
    record_int(arena, map, "column", place.column);
}

static struct value *rows_of(struct arena *arena, const struct finding *finding,
                             const struct value *tree)
{
    struct value *rows = record_list(arena);
    for (size_t i = 0; i < finding->row_count; i++) {
        const struct finding_row *row = &finding->rows[i];
        struct value *map = record_new(arena);
        record_text(arena, map, "name", row->name);
        record_text(arena, map, "where", row->where);
        record_text(arena, map, "why", row->why);
        record_text(arena, map, "remedy", row->remedy);
        verb_check_set_place(arena, map, tree, row->path);
        value_list_add(arena, rows, map);
    }
    return rows;
}

static struct value *verb_check_record_of(struct arena *arena, const struct finding *finding,
                                          const struct value *tree)
{
    static const char *const levels[] = {
        [FINDING_FINE] = "fine", [FINDING_WARNING] = "warning", [FINDING_ERROR] = "error"};
    struct value *map = record_new(arena);
    record_text(arena, map, "level", str_from(levels[finding->level]));
    record_text(arena, map, "subject", finding->subject);
    record_text(arena, map, "text", finding->text);
    record_text(arena, map, "remedy", finding->remedy);
    verb_check_set_place(arena, map, tree, finding->path);
    value_map_set_c(arena, map, "rows", rows_of(arena, finding, tree));
    return map;
}

/* Findings about the file itself come first, in the same form. */
static void add_diags(struct arena *arena, struct value *list, const struct diag_list *diags)
{
    for (size_t i = 0; i < diags->count; i++) {
        const struct diag *diag = &diags->items[i];
        struct value *map = record_new(arena);
        record_text(arena, map, "level", diag->level == DIAG_ERROR ? STR("error") : STR("warning"));
        record_text(arena, map, "subject", STR("file"));
        record_text(arena, map, "text", diag->text);
        record_text(arena, map, "remedy", diag->hint);
        record_text(arena, map, "path", STR(""));
        record_int(arena, map, "line", diag->place.line);
        record_int(arena, map, "column", diag->place.column);
        value_map_set_c(arena, map, "rows", record_list(arena));
        value_list_add(arena, list, map);
    }
}

static bool verb_check_print_json(struct verb_check_state *check, const struct finding *findings,
                                  size_t count, struct err *err)
{
    struct arena *arena = check->cli->arena;
    const struct config *config = check->input.config;
    const struct diag_list *diags = &check->input.diags;
    struct value *result = record_new(arena);
    struct value *list = record_list(arena);
    struct value *rest = record_list(arena);
    add_diags(arena, list, diags);
    for (size_t i = 0; i < count; i++) {
        value_list_add(arena, list, verb_check_record_of(arena, &findings[i], config->tree));
    }
    for (size_t i = 0; i < count; i++) {
        if (findings[i].unchecked.len > 0) {
            value_list_add(arena, rest,
                           value_string(arena, findings[i].unchecked, (struct place){0}));
        }
    }
    struct unchecked unchecked = unchecked_of(config);
    for (size_t i = 0; i < unchecked.count; i++) {
        value_list_add(arena, rest,
                       value_string(arena, str_from(unchecked.items[i]), (struct place){0}));
    }
    record_text(arena, result, "file", check->input.source.name);
    record_text(arena, result, "provider", config ? config->provider_type : STR(""));
    record_text(arena, result, "region", config ? verb_check_region_of(check) : STR(""));
    record_flag(arena, result, "asked", check->is_done);
    record_int(arena, result, "errors", (int64_t)(check->counts.errors + diags->error_count));
    record_int(arena, result, "warnings", (int64_t)(check->counts.warnings + diags->warning_count));
    value_map_set_c(arena, result, "findings", list);
    value_map_set_c(arena, result, "not_checked", rest);
    bool ok = json_write(&check->out, result, JSON_PRETTY, err);
    buf_add_char(&check->out, '\n');
    return ok;
}

/* ---- the cloud ---- */

static void verb_check_on_preflight(void *context, const struct provider_answer *answer,
                                    const struct finding *findings, size_t count)
{
    struct verb_check_state *check = context;
    check->is_done = answer->outcome == OUTCOME_DONE;
    check->err = answer->err;
    check->counts = preflight_text_count(findings, count);
    if (check->is_done && !check->is_json) {
        verb_check_print_text(check, findings, count);
    } else if (check->is_done) {
        check->is_done = verb_check_print_json(check, findings, count, &check->err);
    }
    cloud_session_stop(&check->session);
}

/* Shows that the program is working. */
static void verb_check_send_pending(void *context)
{
    const struct verb_check_state *check = context;
    AUTO_BUF struct buf line;
    buf_init(&line, OUTPUT_BYTES_MAX);
    utf8_add_visible(&line, verb_check_region_of(check), false);
    fprintf(check->cli->err, "shoal: still waiting for %.*s %s (Ctrl-C to stop)\n",
            STR_ARG(check->input.config->provider_type), line.ptr ? line.ptr : "");
}

/* Runs until the preflight has finished. */
static bool verb_check_wait_for_answer(struct verb_check_state *check, struct err *err)
{
    struct loop_timer *slow = loop_timer_new(check->session.loop, verb_check_send_pending, check);
    if (isatty(fileno(check->cli->err)) == 1) {
        loop_timer_start(slow, SLOW_MS);
    }
    bool is_answered = cloud_session_run(&check->session, err);
    loop_timer_free(slow);
    return is_answered;
}

static bool verb_check_request(struct verb_check_state *check, struct err *err)
{
    struct provider *provider;
    struct str profile = str_from(check->given->profile);
    if (!config_is_local(check->input.config)) {
        cloud_announce(check->cli, &check->session);
    }
    if (!cloud_provider_open(&check->session, check->input.config, profile, check->cli->arena,
                             &provider, err)) {
        return false;
    }
    preflight_run(provider, check->input.config, PREFLIGHT_FOR_PEOPLE, check->cli->arena,
                  verb_check_on_preflight, check);
    bool is_answered = verb_check_wait_for_answer(check, err);
    provider->ops->close(provider);
    if (!is_answered) {
        struct err why = *err;
        const char *what = why.kind == ERR_TIMEOUT ? "querying the cloud: " : "";
        return err_set(err, why.kind, "%s%s; nothing was created", what, why.text);
    }
    if (!check->is_done) {
        *err = check->err;
    }
    return check->is_done;
}

static int ask_cloud(struct verb_check_state *check)
{
    struct err err;
    int64_t seconds = check->given->timeout > 0 ? check->given->timeout : SECONDS;
    struct cloud_session_setup setup = {.deadline_ms = seconds * 1000, .least = LOG_LEVEL_WARNING};
    if (!cloud_session_open(&check->session, &setup, &err)) {
        return output_error(check->cli, &err);
    }
    bool ok = verb_check_request(check, &err);
    int status = 0;
    if (!ok) {
        output_error(check->cli, &err);
        status = cloud_session_exit_status(&check->session, &err);
    }
    cloud_session_close(&check->session);
    if (status == 0) {
        status = output_write(check->cli, check->cli->out, &check->out);
    }
    return status != 0 ? status : check->counts.errors > 0;
}

/* ---- the verb ---- */

/* The summary without a cloud query: the file is wrong, or its cloud is not supported. */
static int end_early(struct verb_check_state *check)
{
    struct err err;
    const struct config *config = check->input.config;
    if (check->is_json) {
        if (!verb_check_print_json(check, NULL, 0, &err)) {
            return output_error(check->cli, &err);
        }
    } else if (!config) {
        diag_print_summary(&check->out, &check->input.diags);
        buf_add_c(&check->out, ". The cloud was not queried.\n");
    } else {
        struct err why = {0};
        bool is_known = cloud_provider_supports(config, &why);
        buf_addf(&check->out, "The file is valid%s%s.\n", is_known ? "" : ", but ", why.text);
    }
    int status = output_write(check->cli, check->cli->out, &check->out);
    return status ? status : !config;
}

static void print_diags(struct verb_check_state *check)
{
    struct diag_style style = output_style(check->cli->colour_out);
    for (size_t i = 0; !check->is_json && i < check->input.diags.count; i++) {
        diag_print(&check->out, &check->input.diags.items[i], &style);
    }
    if (!check->is_json && check->input.diags.count > 0 && check->input.config) {
        buf_add_char(&check->out, '\n');
    }
}

static int verb_check_run(const struct cli *cli, const void *fields)
{
    const struct check_fields *given = fields;
    struct verb_check_state check = {.cli = cli, .given = given};
    struct err err;
    check.is_json = given->output && strcmp(given->output, "json") == 0;
    if (given->timeout < 0 || given->timeout > SECONDS_MAX) {
        err_set(&err, ERR_USAGE, "--timeout must be between 1 and %d seconds", SECONDS_MAX);
        return output_error(cli, &err);
    }
    if (!input_read(cli, given->file, INPUT_CHECKED, &check.input, &err)) {
        return output_error(cli, &err);
    }
    buf_init(&check.out, OUTPUT_BYTES_MAX);
    print_diags(&check);
    const struct config *config = check.input.config;
    bool can_ask = config && config->node_type_count > 0 && cloud_provider_supports(config, &err);
    int status = can_ask ? ask_cloud(&check) : end_early(&check);
    buf_clear(&check.out);
    return status;
}

const struct verb verb_check = {
    .name = "check",
    .summary = "check with the cloud whether a file can be launched",
    .description =
        "Runs shoal validate, then queries the cloud for everything that a launch depends on and "
        "prints what it would use: identity, instance types, images, subnets, security groups, "
        "key pair and instance profile. Errors point to their place in the file and say what to "
        "write instead. Nothing is created or changed.\n\n"
        "For AWS it checks: credentials (with the result of every source that was tried), "
        "instance types and the zones that offer them, images (the one in the file, otherwise "
        "the newest Ubuntu for the architecture), root "
        "volumes, subnets (with the reason why each was rejected), security groups and their "
        "VPC, the key pair and whether the private key matches it, instance profiles, vCPU "
        "quotas, the encryption of volumes, the account's service-linked role for spot instances, "
        "the permission to create the head's role and, with dry runs, to launch each node type. "
        "The Shoal program for the architecture of the instances must be "
        "on this machine.\n\n"
        "For own machines (provider type local) it connects to each of them by ssh: whether it "
        "answers, its architecture, and whether another cluster uses it.\n\n"
        "For a plug-in (provider type external) it starts the plug-in, lists its instances, and "
        "says which guarantees are weaker because of what the plug-in cannot do.\n\n"
        "Credentials come from --profile, from provider.aws_credentials or provider.aws_profile "
        "in the file, or from the same places as in other AWS tools. If AWS_ENDPOINT_URL is set, "
        "it is used, and a note on standard error says so.",
    VERB_ROWS(operand),
    VERB_ROWS(option),
    VERB_ROWS(example),
    .exit_status = "0 if a launch could start (warnings do not count), 1 if not, 2 for a usage "
                   "error, 130 after Ctrl-C.",
    .fields_size = sizeof(struct check_fields),
    .run = verb_check_run,
};
