/* verb_simulate.c: simulates a cluster file with a workload. */
#include "app/cluster_file.h"
#include "base/suggest.h"
#include "cli/input.h"
#include "cli/output.h"
#include "cli/simulate/figures.h"
#include "cli/simulate/print.h"
#include "cli/simulate/report.h"
#include "config/embedded.h"
#include "config/workload/quantity.h"
#include "io/file.h"

#include <string.h>

struct simulate_fields {
    const char *file;
    const char *workload;
    const char *planners;
    const char *faults;
    const char *output;
    const char *report;
    const char *explain;
    int64_t hours;
    int64_t seed;
};

static const struct operand operands[] = {
    {"FILE", offsetof(struct simulate_fields, file), true, COMPLETE_FILE, NULL,
     "The cluster file; - reads standard input."},
};

static const struct option options[] = {
    {"workload", 'w', OPTION_FILE, offsetof(struct simulate_fields, workload), "WORKLOAD", NULL,
     "The load of the cluster: a workload file, or the name of an example. \"list\" lists the "
     "examples, \"show=NAME\" prints one of them."},
    {"planner", 'p', OPTION_TEXT, offsetof(struct simulate_fields, planners), "PLANNER", NULL,
     "How to choose node types: ray (as Ray's own autoscaler does) or price (the cheapest that "
     "fit). A comma-separated list compares several. The default is metadata.shoal.planner in "
     "the file, or ray."},
    {"faults", 0, OPTION_CHOICE, offsetof(struct simulate_fields, faults), "FAULTS", run_faults,
     "Faults to inject: none, mild (occasional faults; the default) or nasty (many faults)."},
    {"seed", 0, OPTION_NUMBER, offsetof(struct simulate_fields, seed), "N", NULL,
     "The seed of all random choices. The default is 0. The same seed gives the same result on "
     "every machine."},
    {"hours", 0, OPTION_NUMBER, offsetof(struct simulate_fields, hours), "H", NULL,
     "The number of hours to simulate, instead of that in the workload."},
    {"output", 'o', OPTION_CHOICE, offsetof(struct simulate_fields, output), "FORMAT", text_or_json,
     "Output format: text (the default) or json."},
    {"report", 0, OPTION_FILE, offsetof(struct simulate_fields, report), "PAGE", NULL,
     "Also write a self-contained HTML page with charts."},
    {"explain", 0, OPTION_TEXT, offsetof(struct simulate_fields, explain), "TIME", NULL,
     "Print the events and decisions around a time such as 12m30s, with reasons."},
};

static const struct example examples[] = {
    {"shoal simulate cluster.yaml --workload nightly-batch", "Simulate a nightly batch and its "
                                                             "cost."},
    {"shoal simulate cluster.yaml -w work.yaml --report out.html",
     "Simulate your own workload and write a page with charts."},
    {"shoal simulate cluster.yaml -w mixed --faults nasty --explain 2h",
     "Show what happens two hours into a run with many faults, and why."},
    {"shoal simulate --workload list", "List the example workloads."},
};

/* ---- the examples ---- */

/* The text after "about: ", for the list. */
static struct str about_of(struct str yaml)
{
    while (yaml.len > 0) {
        struct str line = str_cut(&yaml, '\n');
        if (str_starts(line, "about: ")) {
            return str_sub(line, 7, line.len);
        }
    }
    return STR("");
}

static int list_workloads(const struct cli *cli)
{
    AUTO_BUF struct buf out;
    buf_init(&out, OUTPUT_BYTES_MAX);
    for (size_t i = 0;; i++) {
        struct str name = embedded_workload_name(i);
        if (name.len == 0) {
            break;
        }
        buf_addf(&out, "%-20.*s%.*s\n", STR_ARG(name), STR_ARG(about_of(embedded_workload(name))));
    }
    buf_add_c(&out, "\n--workload show=NAME prints one; man 5 shoal-workload explains the keys.\n");
    return output_write(cli, cli->out, &out);
}

static bool unknown_workload(struct str name, struct err *err)
{
    struct suggest suggest;
    suggest_start(&suggest, name);
    for (size_t i = 0; embedded_workload_name(i).len > 0; i++) {
        suggest_offer(&suggest, embedded_workload_name(i));
    }
    struct str best = suggest_best(&suggest);
    if (best.len > 0) {
        return err_set(err, ERR_USAGE, "unknown workload \"%.*s\"; did you mean \"%.*s\"?",
                       STR_ARG(str_sub(name, 0, 100)), STR_ARG(best));
    }
    return err_set(err, ERR_NOT_FOUND,
                   "unknown workload \"%.*s\": neither a file nor an example\n"
                   "  `shoal simulate --workload list` lists the examples",
                   STR_ARG(str_sub(name, 0, 100)));
}

static int show_workload(const struct cli *cli, struct str name)
{
    AUTO_BUF struct buf out;
    struct err err;
    struct str text = embedded_workload(name);
    buf_init(&out, OUTPUT_BYTES_MAX);
    if (text.len == 0) {
        unknown_workload(name, &err);
        return output_error(cli, &err);
    }
    buf_add(&out, text);
    return output_write(cli, cli->out, &out);
}

/* ---- options ---- */

/* An example by name, otherwise a file; a file with the name of an example needs a path. */
static bool read_workload(const struct cli *cli, const char *word, struct source *ret_source,
                          struct err *err)
{
    struct str name = str_from(word);
    struct str text = embedded_workload(name);
    if (text.len > 0) {
        *ret_source = (struct source){name, text, false};
        return true;
    }
    bool looks_like_path = str_find_char(name, '/') != SIZE_MAX ||
                           str_find_char(name, '.') != SIZE_MAX || str_is(name, "-");
    if (!looks_like_path && file_stat(word).kind == FILE_MISSING) {
        return unknown_workload(name, err);
    }
    return cluster_file_read(cli->arena, word, ret_source, err);
}

static bool read_planners(const struct cli *cli, const char *text, struct sim_options *chosen,
                          struct err *err)
{
    struct str rest = str_from(text);
    while (rest.len > 0) {
        struct str name = str_trim(str_cut(&rest, ','));
        if (!run_has_planner(name)) {
            AUTO_BUF struct buf list;
            buf_init(&list, 256);
            for (size_t i = 0; run_planners[i]; i++) {
                buf_addf(&list, "%s%s", i > 0 ? ", " : "", run_planners[i]);
            }
            return err_set(err, ERR_USAGE, "--planner cannot be \"%.*s\"; valid values: %s",
                           STR_ARG(str_sub(name, 0, 100)), list.ptr);
        }
        for (size_t i = 0; i < chosen->planner_count; i++) {
            if (str_is(name, chosen->planners[i])) {
                return err_set(err, ERR_USAGE, "--planner names \"%.*s\" twice", STR_ARG(name));
            }
        }
        chosen->planners[chosen->planner_count++] = arena_str(cli->arena, name).ptr;
    }
    return chosen->planner_count > 0 ||
           err_set(err, ERR_USAGE, "--planner needs the name of a planner");
}

static bool read_request(const struct cli *cli, const struct simulate_fields *given,
                         const struct config *config, struct sim_options *chosen, struct err *err)
{
    struct str in_file = value_text(value_get_c(config->shoal, "planner"));
    const char *fallback = in_file.len > 0 ? arena_str(cli->arena, in_file).ptr : "ray";
    if (given->hours < 0 || given->hours > WORKLOAD_HOURS_MAX || given->seed < 0) {
        return err_set(err, ERR_USAGE, "--%s must be between 0 and %lld",
                       given->seed < 0 ? "seed" : "hours",
                       given->seed < 0 ? (long long)INT64_MAX : (long long)WORKLOAD_HOURS_MAX);
    }
    chosen->seed = (uint64_t)given->seed;
    chosen->config = config;
    chosen->faults = given->faults ? given->faults : "mild";
    chosen->explain_at = -1;
    if (given->explain && !quantity_duration(str_from(given->explain), &chosen->explain_at)) {
        return err_set(err, ERR_USAGE, "--explain needs a time such as 12m30s, not \"%.100s\"",
                       given->explain);
    }
    return read_planners(cli, given->planners ? given->planners : fallback, chosen, err);
}

/* ---- the verb ---- */

static int print_result(const struct cli *cli, const struct simulate_fields *given,
                        const struct result *result)
{
    AUTO_BUF struct buf out;
    struct err err;
    struct figures figures[PLANNERS_MAX];
    bool is_json = given->output && strcmp(given->output, "json") == 0;
    buf_init(&out, OUTPUT_BYTES_MAX);
    for (size_t i = 0; i < result->run_count; i++) {
        figures[i] = figures_of(cli->arena, result, &result->runs[i]);
    }
    bool wants_spread = !given->explain || given->report || is_json;
    const struct spread *spreads = wants_spread ? spread_make(cli->arena, result, figures) : NULL;
    if (given->report && !report_write(given->report, cli->arena, result, figures, spreads, &err)) {
        return output_error(cli, &err);
    }
    if (is_json) {
        if (!print_json(&out, cli->arena, result, figures, spreads, &err)) {
            return output_error(cli, &err);
        }
    } else if (given->explain) {
        print_explain_text(&out, cli->arena, result);
    } else {
        print_figures_text(&out, cli->arena, result, figures, spreads);
    }
    return output_write(cli, cli->out, &out);
}

static int simulate(const struct cli *cli, const struct simulate_fields *given,
                    const struct config *config)
{
    struct err err;
    struct source source;
    struct diag_list diags;
    struct result result;
    struct sim_options chosen = {0};
    diag_list_init(&diags, cli->arena);
    if (!read_request(cli, given, config, &chosen, &err) ||
        !read_workload(cli, given->workload, &source, &err)) {
        return output_error(cli, &err);
    }
    chosen.workload_name = source.name;
    chosen.workload = workload_file_read(cli->arena, &source, given->hours, &diags);
    bool ok = chosen.workload && run_all(cli->arena, &chosen, &diags, &result, &err);
    input_settle(&diags);
    input_print_findings(cli, &diags);
    if (!chosen.workload) {
        return 1;
    }
    return ok ? print_result(cli, given, &result) : output_error(cli, &err);
}

static int verb_simulate_run(const struct cli *cli, const void *fields)
{
    const struct simulate_fields *given = fields;
    struct str workload = str_from(given->workload);
    struct err err;
    struct input input;
    if (str_is(workload, "list")) {
        return list_workloads(cli);
    }
    if (str_starts(workload, "show=")) {
        return show_workload(cli, str_sub(workload, 5, workload.len));
    }
    if (!given->file || !given->workload) {
        err_set(&err, ERR_USAGE,
                "%s is missing: shoal simulate FILE --workload WORKLOAD\n"
                "  `shoal simulate --workload list` lists examples",
                given->file ? "--workload" : "the argument FILE");
        return output_error(cli, &err);
    }
    if (strcmp(given->file, "-") == 0 && str_is(workload, "-")) {
        err_set(&err, ERR_USAGE, "only one of FILE and --workload can be standard input");
        return output_error(cli, &err);
    }
    if (!input_read(cli, given->file, INPUT_AS_RAY, &input, &err)) {
        return output_error(cli, &err);
    }
    if (!input.config) {
        input_print_findings(cli, &input.diags);
        return 1;
    }
    return simulate(cli, given, input.config);
}

const struct verb verb_simulate = {
    .name = "simulate",
    .summary = "simulate a workload on a cluster, and its cost",
    .description =
        "Runs a workload against a cluster file in virtual time: a model of the cloud with boot "
        "times, refused launches and spot interruptions, a model of Ray with tasks and placement "
        "groups, and Shoal's real autoscaler between them. Simulating a day takes about a "
        "second. It makes no network calls and costs nothing.\n\n"
        "Prints how long work waited, which instances ran for how long, what they cost and how "
        "busy they were. With several planners, it prints the same for each, side by side, and "
        "the difference in cost and waiting time. The workload is a small file, described in "
        "shoal-workload(5); some examples are built in.\n\n"
        "Prices are EC2 on-demand prices of one region and date, which the output names; spot "
        "prices are assumed to be a share of these. Prices in the workload file, or in the "
        "cluster file under metadata.shoal, take precedence. The head is not included.",
    VERB_ROWS(operand),
    VERB_ROWS(option),
    VERB_ROWS(example),
    .exit_status = "0 if the simulation ran, 1 if a file is invalid, 2 for a usage error.",
    .fields_size = sizeof(struct simulate_fields),
    .run = verb_simulate_run,
};
