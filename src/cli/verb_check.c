/* verb_check.c: a cluster file against the cloud, before anything is made. */
#include "app/cloud_provider.h"
#include "app/node_params.h"
#include "app/survey_text.h"
#include "base/utf8.h"
#include "cli/cloud.h"
#include "cli/input.h"
#include "cli/output.h"
#include "cli/record.h"
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
     "The cluster file; - reads standard input."},
};

static const struct option options[] = {
    {"output", 'o', OPTION_CHOICE, offsetof(struct check_fields, output), "FORMAT", text_or_json,
     "text for people (the default) or json for programs."},
    {"profile", 0, OPTION_TEXT, offsetof(struct check_fields, profile), "NAME", NULL,
     "The AWS profile to use, instead of what the file and the environment say."},
    {"timeout", 0, OPTION_NUMBER, offsetof(struct check_fields, timeout), "SECONDS", NULL,
     "Give up after so many seconds; 60 if it is not given."},
};

static const struct example examples[] = {
    {"shoal check cluster.yaml", "See what a launch would use, and what would fail."},
    {"shoal check --profile work cluster.yaml", "The same as somebody else."},
    {"shoal check -o json cluster.yaml | jq .errors", "Count the errors in a script."},
};

/* What nobody can know without making a machine, and what is not looked at yet. */
static const char *const not_checked[] = {
    "quotas and free capacity",
    "permission to launch",
    "what is on the image",
    "set-up commands",
    "whether ssh will get through to the machines",
};

struct check {
    const struct cli *cli;
    const struct check_fields *given;
    struct input input;
    struct cloud_session session;
    struct buf out;
    struct survey_counts counts;
    bool is_json;
    struct err err; /* of the provider, when the survey could not be made */
    bool is_done;
};

static struct str region_of(const struct check *check)
{
    return value_text(value_get_c(check->input.config->provider, "region"));
}

/* ---- for people ---- */

static void print_end(struct check *check)
{
    struct buf *out = &check->out;
    const struct config *config = check->input.config;
    struct survey_counts counts = check->counts;
    if (counts.errors == 0) {
        buf_add_c(out, "Not checked: ");
        for (size_t i = 0; i < ARRAY_LEN(not_checked); i++) {
            buf_addf(out, "%s%s", i > 0 ? ", " : "", not_checked[i]);
        }
        buf_add_c(out, ".\n");
        utf8_add_visible(out, check->input.source.name, false);
        buf_addf(out, " is ready for %.*s %.*s. Nothing was created.\n",
                 STR_ARG(config->provider_type), STR_ARG(region_of(check)));
        return;
    }
    buf_addf(out, "%zu error%s", counts.errors, counts.errors == 1 ? "" : "s");
    if (counts.warnings > 0) {
        buf_addf(out, ", %zu warning%s", counts.warnings, counts.warnings == 1 ? "" : "s");
    }
    buf_add_c(out, ". Nothing was created.\n");
}

static void print_text(struct check *check, const struct finding *findings, size_t count)
{
    struct diag_style style = output_style(check->cli->colour_out);
    struct buf *out = &check->out;
    survey_text_fine(out, findings, count);
    if (check->counts.fine > 0) {
        buf_add_char(out, '\n');
    }
    survey_text_problems(out, findings, count, check->input.config->tree, &style);
    print_end(check);
}

/* ---- for programs ---- */

static void set_place(struct arena *arena, struct value *map, const struct value *tree,
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
        set_place(arena, map, tree, row->path);
        value_list_add(arena, rows, map);
    }
    return rows;
}

static struct value *record_of(struct arena *arena, const struct finding *finding,
                               const struct value *tree)
{
    static const char *const levels[] = {
        [FINDING_FINE] = "fine", [FINDING_WARNING] = "warning", [FINDING_ERROR] = "error"};
    struct value *map = record_new(arena);
    record_text(arena, map, "level", str_from(levels[finding->level]));
    record_text(arena, map, "subject", finding->subject);
    record_text(arena, map, "text", finding->text);
    record_text(arena, map, "remedy", finding->remedy);
    set_place(arena, map, tree, finding->path);
    value_map_set_c(arena, map, "rows", rows_of(arena, finding, tree));
    return map;
}

/* Findings of the file itself come first, in the same form. */
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

static bool print_json(struct check *check, const struct finding *findings, size_t count,
                       struct err *err)
{
    struct arena *arena = check->cli->arena;
    const struct config *config = check->input.config;
    const struct diag_list *diags = &check->input.diags;
    struct value *result = record_new(arena);
    struct value *list = record_list(arena);
    struct value *rest = record_list(arena);
    add_diags(arena, list, diags);
    for (size_t i = 0; i < count; i++) {
        value_list_add(arena, list, record_of(arena, &findings[i], config->tree));
    }
    for (size_t i = 0; i < ARRAY_LEN(not_checked); i++) {
        value_list_add(arena, rest,
                       value_string(arena, str_from(not_checked[i]), (struct place){0}));
    }
    record_text(arena, result, "file", check->input.source.name);
    record_text(arena, result, "provider", config ? config->provider_type : STR(""));
    record_text(arena, result, "region", config ? region_of(check) : STR(""));
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

static void on_survey(void *context, const struct provider_answer *answer,
                      const struct finding *findings, size_t count)
{
    struct check *check = context;
    check->is_done = answer->outcome == OUTCOME_DONE;
    check->err = answer->err;
    check->counts = survey_text_count(findings, count);
    if (check->is_done && !check->is_json) {
        print_text(check, findings, count);
    } else if (check->is_done) {
        check->is_done = print_json(check, findings, count, &check->err);
    }
    cloud_session_stop(&check->session);
}

/* A terminal that stays empty looks like a program that hangs. */
static void say_waiting(void *context)
{
    const struct check *check = context;
    AUTO_BUF struct buf line;
    buf_init(&line, OUTPUT_BYTES_MAX);
    utf8_add_visible(&line, region_of(check), false);
    fprintf(check->cli->err, "shoal: still asking %.*s %s (Ctrl-C stops it)\n",
            STR_ARG(check->input.config->provider_type), line.ptr ? line.ptr : "");
}

/* Runs until the survey has said something. */
static bool wait_for_answer(struct check *check, struct err *err)
{
    struct loop_timer *slow = loop_timer_new(check->session.loop, say_waiting, check);
    if (isatty(fileno(check->cli->err)) == 1) {
        loop_timer_start(slow, SLOW_MS);
    }
    bool is_answered = cloud_session_run(&check->session, err);
    loop_timer_free(slow);
    return is_answered;
}

static bool ask(struct check *check, struct err *err)
{
    struct provider *provider;
    struct str profile = str_from(check->given->profile);
    cloud_announce(check->cli, &check->session);
    if (!cloud_provider_open(&check->session, check->input.config, profile, check->cli->arena,
                             &provider, err)) {
        return false;
    }
    provider->ops->survey(provider, SURVEY_FOR_PEOPLE, on_survey, check);
    bool is_answered = wait_for_answer(check, err);
    provider->ops->close(provider);
    if (!is_answered) {
        struct err why = *err;
        const char *what = why.kind == ERR_TIMEOUT ? "asking the cloud: " : "";
        return err_set(err, why.kind, "%s%s; nothing was created", what, why.text);
    }
    if (!check->is_done) {
        *err = check->err;
    }
    return check->is_done;
}

static int ask_cloud(struct check *check)
{
    struct err err;
    int64_t seconds = check->given->timeout > 0 ? check->given->timeout : SECONDS;
    struct cloud_session_setup setup = {.deadline_ms = seconds * 1000, .least = LOG_LEVEL_WARNING};
    if (!cloud_session_open(&check->session, &setup, &err)) {
        return output_error(check->cli, &err);
    }
    bool ok = ask(check, &err);
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

/* What is left to say when no cloud is asked: the file is wrong, or its cloud is not known. */
static int end_early(struct check *check)
{
    struct err err;
    const struct config *config = check->input.config;
    if (check->is_json) {
        if (!print_json(check, NULL, 0, &err)) {
            return output_error(check->cli, &err);
        }
    } else if (!config) {
        diag_print_summary(&check->out, &check->input.diags);
        buf_add_c(&check->out, ". The cloud was not asked.\n");
    } else {
        buf_addf(&check->out,
                 "The file is fine. What %.*s would say to it is not checked: that exists for aws "
                 "only yet.\n",
                 STR_ARG(str_sub(config->provider_type, 0, 100)));
    }
    int status = output_write(check->cli, check->cli->out, &check->out);
    return status ? status : !config;
}

static void print_diags(struct check *check)
{
    struct diag_style style = output_style(check->cli->colour_out);
    for (size_t i = 0; !check->is_json && i < check->input.diags.count; i++) {
        diag_print(&check->out, &check->input.diags.items[i], &style);
    }
    if (!check->is_json && check->input.diags.count > 0 && check->input.config) {
        buf_add_char(&check->out, '\n');
    }
}

static int run(const struct cli *cli, const void *fields)
{
    const struct check_fields *given = fields;
    struct check check = {.cli = cli, .given = given};
    struct err err;
    check.is_json = given->output && strcmp(given->output, "json") == 0;
    if (given->timeout < 0 || given->timeout > SECONDS_MAX) {
        err_set(&err, ERR_USAGE, "--timeout is between 1 and %d seconds", SECONDS_MAX);
        return output_error(cli, &err);
    }
    if (!input_read(cli, given->file, INPUT_CHECKED, &check.input, &err)) {
        return output_error(cli, &err);
    }
    buf_init(&check.out, OUTPUT_BYTES_MAX);
    print_diags(&check);
    const struct config *config = check.input.config;
    bool can_ask = config && config->node_type_count > 0 &&
                   cloud_provider_knows(config->provider_type);
    int status = can_ask ? ask_cloud(&check) : end_early(&check);
    buf_clear(&check.out);
    return status;
}

const struct verb verb_check = {
    .name = "check",
    .summary = "ask the cloud whether a file can be launched",
    .description =
        "Does what shoal validate does, then asks the cloud everything that a launch depends on, "
        "and says what it would use: who is asking, machines, images, subnets, security groups, "
        "key pair, instance profile. What cannot work is told at its place in the file, with what "
        "to write instead. Nothing is created and nothing is changed.\n\n"
        "For AWS that is: credentials (every source that was tried and what it said), machine "
        "types and the zones that offer them, images (that of the file, else Ray's default for the "
        "region, else the newest Ubuntu that is announced for the machine's architecture), root "
        "volumes, subnets and why each was refused, security groups and their VPC, the key pair "
        "and whether the private key belongs to it, instance profiles, and the permissions to ask "
        "all that.\n\n"
        "Credentials come from --profile, from provider.aws_credentials or provider.aws_profile "
        "of the file, or from where every AWS tool takes them. AWS_ENDPOINT_URL is honoured, and "
        "announced on standard error.",
    .operands = operands,
    .operand_count = ARRAY_LEN(operands),
    .options = options,
    .option_count = ARRAY_LEN(options),
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
    .exit_status = "0 when a launch could begin (warnings do not count), 1 when it could not, 2 "
                   "for a wrong command line, 130 after Ctrl-C.",
    .fields_size = sizeof(struct check_fields),
    .run = run,
};
