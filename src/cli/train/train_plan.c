/* train_plan.c: reads the options of `shoal train`. */
#include "cli/train/train_plan.h"

#include "app/program.h"
#include "app/train/script_kind.h"
#include "app/train/store_place.h"
#include "base/suggest.h"
#include "io/clock.h"
#include "io/file.h"
#include "io/json_line.h"
#include "provider/aws_time.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { SCRIPT_BYTES_MAX = 4 * 1024 * 1024, NAME_BYTES_MAX = 63 };
enum { KEEP = 3, ARGS_BYTES_MAX = 256 * 1024, COUNT_MAX = 1000 * 1000 * 1000 };

extern const struct verb verb_train;

static bool plan_amount(const char *text, const char *option, double *amount, struct err *err)
{
    char *end;
    if (!text) {
        return true;
    }
    errno = 0;
    *amount = strtod(text, &end);
    if (errno != 0 || *end != '\0' || end == text || !(*amount >= 0 && *amount < 10000)) {
        return err_set(err, ERR_USAGE, "%s needs a number such as 1 or 0.5, not \"%.100s\"", option,
                       text);
    }
    return true;
}

static bool plan_replicas(const char *text, const char *option, int64_t *replicas, struct err *err)
{
    const int64_t most = TRAIN_SLOTS_MAX / 2 - 1;
    if (text && (!str_to_i64(str_from(text), replicas) || *replicas < 1 || *replicas > most)) {
        return err_set(err, ERR_USAGE,
                       "%s needs a number of replicas from 1 to %" PRId64 ", not \"%.100s\"",
                       option, most, text);
    }
    return true;
}

/* A whole number from `least` on. */
static bool plan_count(const char *text, const char *option, int64_t least, int64_t *count,
                       struct err *err)
{
    int64_t value;
    if (!text) {
        return true;
    }
    if (!str_to_i64(str_from(text), &value) || value < least || value > COUNT_MAX) {
        return err_set(err, ERR_USAGE,
                       "%s needs a whole number from %" PRId64 " to %d, not \"%.100s\"", option,
                       least, COUNT_MAX, text);
    }
    *count = value;
    return true;
}

static bool plan_seconds(const char *text, const char *option, int64_t least, int64_t *ret_ms,
                         struct err *err)
{
    int64_t seconds = *ret_ms / 1000;
    bool is_read = plan_count(text, option, least, &seconds, err);
    *ret_ms = seconds * 1000;
    return is_read;
}

static bool plan_sizes(struct train_plan *plan, const struct train_fields *given, struct err *err)
{
    struct train_settings *settings = &plan->setup.settings;
    train_settings_default(settings);
    if (!plan_replicas(given->max, "-m", &settings->max_replicas, err) ||
        !plan_replicas(given->min, "--min", &settings->min_replicas, err) ||
        !plan_seconds(given->checkpoint_timeout, "--checkpoint-timeout", 1,
                      &settings->checkpoint_timeout, err) ||
        !plan_seconds(given->rescale_timeout, "--cluster-rescale-timeout", 0,
                      &settings->rescale_timeout, err) ||
        !plan_seconds(given->checkpoint_every, "--checkpoint-every", 1, &settings->checkpoint_every,
                      err)) {
        return false;
    }
    if (settings->min_replicas > settings->max_replicas) {
        return err_set(err, ERR_USAGE,
                       "--min is %" PRId64 ", but the largest number of replicas is %" PRId64
                       "; increase it with -m",
                       settings->min_replicas, settings->max_replicas);
    }
    plan->setup.cpus = 1;
    return plan_amount(given->cpus, "--cpus", &plan->setup.cpus, err) &&
           plan_amount(given->gpus, "--gpus", &plan->setup.gpus, err);
}

/* "90m" and "8h" are from now, in seconds; otherwise a time in UTC. 0: not understood. The time
 * of a job that is continued may be over. */
static int64_t plan_finish(const char *text, int64_t now, bool is_continued)
{
    struct str span = str_from(text);
    int64_t count;
    char unit = span.len > 0 ? span.ptr[span.len - 1] : '\0';
    int64_t at;
    if ((unit == 'h' || unit == 'm') && str_to_i64(str_sub(span, 0, span.len - 1), &count)) {
        return count > 0 && count < 1000000 ? now + count * (unit == 'h' ? 3600 : 60) : 0;
    }
    if (!aws_time_parse(span, &at)) {
        return 0;
    }
    return at > now || is_continued ? at : 0;
}

static bool plan_goal(struct train_plan *plan, const struct train_fields *given, struct err *err)
{
    struct size_goal *goal = &plan->setup.goal;
    int64_t total = 0;
    if (!plan_amount(given->price, "--price", &goal->price, err) ||
        !plan_amount(given->head_price, "--head-price", &goal->fixed_price, err) ||
        !plan_amount(given->max_cost, "--max-hourly-cost", &goal->max_cost, err) ||
        !plan_count(given->total_steps, "--total-steps", 1, &total, err) ||
        !plan_count(given->batch, "--batch-size", 1, &plan->setup.batch, err)) {
        return false;
    }
    if (given->objective) {
        goal->objective = strcmp(given->objective, "cheapest") == 0 ? SIZE_CHEAPEST : SIZE_FASTEST;
    }
    goal->total = (double)total;
    goal->is_scaled = given->is_scaled;
    if ((given->max_cost && goal->max_cost <= 0) || (given->price && goal->price <= 0)) {
        return err_set(err, ERR_USAGE, "%s must be more than 0",
                       given->max_cost && goal->max_cost <= 0 ? "--max-hourly-cost" : "--price");
    }
    if (goal->max_cost > 0 && goal->price <= 0) {
        return err_set(err, ERR_USAGE,
                       "--max-hourly-cost needs --price, the price of one replica per hour");
    }
    if (given->finish_by) {
        goal->objective = SIZE_CHEAPEST;
        int64_t now = clock_wall_ms(&clock_of_machine) / 1000;
        goal->finish_by = plan_finish(given->finish_by, now, given->is_continued);
        if (given->is_simulated && goal->finish_by > 0) {
            goal->finish_by -= now; /* a simulated day begins at 0 */
        }
    }
    if (given->finish_by && goal->finish_by == 0) {
        return err_set(
            err, ERR_USAGE,
            "--finish-by needs a duration such as 8h or 90m, or a future time in UTC such "
            "as 2026-11-18T07:00:00Z, not \"%.100s\"",
            given->finish_by);
    }
    if (given->finish_by && total == 0) {
        return err_set(
            err, ERR_USAGE,
            "--finish-by needs --total-steps, the number of optimizer steps of the whole "
            "job");
    }
    return true;
}

/* Without -f, the first word is a mistyped sub-command, or the script. */
static bool plan_no_script(const struct train_fields *given, struct err *err)
{
    const char *word = given->args.count > 0 ? given->args.words[0] : "-";
    struct suggest suggest;
    if (word[0] == '-') {
        return err_set(err, ERR_USAGE,
                       "the training script is missing; for example: shoal train -f train.py -m 4");
    }
    if (verb_find_part(&verb_train, word)) {
        return err_set(err, ERR_USAGE, "the command \"%s\" must directly follow \"train\"", word);
    }
    suggest_start(&suggest, str_from(word));
    for (size_t i = 0; i < verb_train.part_count; i++) {
        suggest_offer(&suggest, str_from(verb_part_word(verb_train.parts[i])));
    }
    struct str best = suggest_best(&suggest);
    if (best.len > 0) {
        return err_set(err, ERR_USAGE,
                       "\"%.100s\" is not a command of shoal train; did you mean \"train %.*s\"?",
                       word, STR_ARG(best));
    }
    return err_set(
        err, ERR_USAGE,
        "\"%.100s\" is neither a cluster file (.yaml) nor a command of shoal train; name "
        "the training script with -f",
        word);
}

/* The whole directory is copied to every node. A home directory has keys and credentials, and
 * the records of this job. */
static bool plan_check_folder(const struct train_plan *plan, struct err *err)
{
    char folder[PATH_MAX];
    char home[PATH_MAX];
    struct str path = file_expand_home(plan->arena, STR("~/"));
    if (!realpath(plan->setup.working_folder, folder) || !realpath(path.ptr, home)) {
        return true;
    }
    size_t len = strcmp(folder, "/") == 0 ? 0 : strlen(folder);
    bool is_home = strncmp(home, folder, len) == 0 && (home[len] == '/' || home[len] == '\0');
    return !is_home ||
           err_set(err, ERR_USAGE,
                   "the working directory %.300s contains your home directory, and all of it would "
                   "be copied to the nodes. Move the script to a directory of its own, or name one "
                   "with -d",
                   folder);
}

/* Splits "-f PATH" into a directory and a file in it, unless -d names the directory. */
static bool plan_script(struct train_plan *plan, const struct train_fields *given, struct err *err)
{
    struct trainer_setup *setup = &plan->setup;
    AUTO_BUF struct buf text;
    buf_init(&text, SCRIPT_BYTES_MAX);
    if (!given->script) {
        return plan_no_script(given, err);
    }
    const char *slash = strrchr(given->script, '/');
    setup->working_folder = given->working_folder;
    setup->script = given->script;
    if (!given->working_folder) {
        size_t len = slash ? (size_t)(slash - given->script) : 0;
        struct str folder = {slash ? given->script : ".", slash ? (len > 0 ? len : 1) : 1};
        setup->working_folder = arena_str(plan->arena, folder).ptr;
        setup->script = slash ? slash + 1 : given->script;
    } else if (str_starts(str_from(given->script), given->working_folder) &&
               given->script[strlen(given->working_folder)] == '/') {
        setup->script = given->script + strlen(given->working_folder) + 1;
    }
    struct str path = arena_printf(plan->arena, "%s/%s", setup->working_folder, setup->script);
    if (!file_read(path.ptr, &text, err)) {
        return err_wrap(err, "cannot read the training script");
    }
    if (!plan_check_folder(plan, err)) {
        return false;
    }
    setup->kind = script_kind_detect(buf_str(&text));
    if (given->kind && !script_kind_read(str_from(given->kind), &setup->kind)) {
        return err_set(err, ERR_USAGE, "unknown kind \"%.50s\"", given->kind);
    }
    return true;
}

static bool plan_name(struct train_plan *plan, const struct train_fields *given, struct err *err)
{
    AUTO_BUF struct buf name;
    const char *source = given->job ? given->job : strrchr(plan->setup.script, '/');
    source = source && !given->job ? source + 1 : source ? source : plan->setup.script;
    buf_init(&name, NAME_BYTES_MAX);
    for (const char *c = source; *c && !(*c == '.' && !given->job); c++) {
        bool is_plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
                        (*c >= '0' && *c <= '9') || *c == '-';
        if (!is_plain && given->job) {
            return err_set(err, ERR_USAGE, "--name can contain only letters, digits and dashes");
        }
        buf_add_char(&name, is_plain ? *c : '-');
    }
    if (name.len == 0 || name.is_full) {
        return err_set(err, ERR_USAGE, "the job's name must have 1 to %d characters; set --name",
                       NAME_BYTES_MAX);
    }
    plan->setup.job = arena_str(plan->arena, buf_str(&name)).ptr;
    return true;
}

/* The host of "http://HOST:8265", "HOST:8265" or "ray://HOST:10001". */
static struct str plan_host(struct str address)
{
    size_t scheme = str_find(address, "://");
    address = str_sub(address, scheme == SIZE_MAX ? 0 : scheme + 3, address.len);
    size_t colon = str_find_char(address, ':');
    return str_sub(address, 0, colon == SIZE_MAX ? address.len : colon);
}

bool train_plan_places(struct train_plan *plan, const struct train_fields *given, struct err *err)
{
    struct trainer_setup *setup = &plan->setup;
    struct str program;
    setup->ray = given->uri ? given->uri : "127.0.0.1:8265";
    struct str host = plan_host(str_from(setup->ray));
    setup->gcs = given->gcs ? given->gcs
                            : arena_printf(plan->arena, "%.*s:6379", STR_ARG(host)).ptr;
    setup->python = given->python ? given->python : "python3";
    setup->output = given->output;
    setup->is_adopting = given->is_adopting;
    setup->prepare = given->prepare;
    setup->is_cuda_warm = given->is_cuda_warm;
    struct str folder = file_expand_home(plan->arena, STR("~/.shoal/train"));
    setup->folder = arena_printf(plan->arena, "%.*s/%s", STR_ARG(folder), setup->job).ptr;
    if (!program_path(plan->arena, &program, err)) {
        return false;
    }
    setup->program = program.ptr;
    return true;
}

/* They are sent to each node in one message, as JSON. */
static bool plan_check_args(const struct train_fields *given, struct err *err)
{
    AUTO_BUF struct buf text;
    json_t *words = json_array();
    bool is_utf8 = true;
    buf_init(&text, ARGS_BYTES_MAX);
    for (size_t i = 0; i < given->args.count; i++) {
        is_utf8 = json_array_append_new(words, json_string(given->args.words[i])) == 0 && is_utf8;
    }
    bool is_short = json_add(words, &text);
    json_decref(words);
    if (!is_utf8) {
        return err_set(err, ERR_USAGE,
                       "the arguments of the script are not UTF-8; write them to a file in the "
                       "working directory");
    }
    if (!is_short) {
        return err_set(err, ERR_USAGE,
                       "the arguments of the script have more than %d KB; write them to a file in "
                       "the working directory",
                       ARGS_BYTES_MAX / 1024);
    }
    if (given->is_adopting && !given->output) {
        return err_set(err, ERR_USAGE, "--adopt needs --output, which has the checkpoints");
    }
    return !given->output || store_where_check(given->output, err);
}

bool train_plan_goal(struct train_plan *plan, const struct train_fields *given, struct err *err)
{
    return plan_sizes(plan, given, err) && plan_goal(plan, given, err);
}

bool train_plan_read(struct train_plan *plan, const struct train_fields *given, struct err *err)
{
    plan->setup.keep = KEEP;
    return train_plan_goal(plan, given, err) && plan_script(plan, given, err) &&
           plan_name(plan, given, err) && plan_check_args(given, err) &&
           plan_count(given->keep, "--keep", 1, &plan->setup.keep, err) &&
           command_check(&given->command, err);
}
