/* verb_train.c: runs an elastic training job on a Ray cluster. */
#include "app/paths.h"
#include "app/program.h"
#include "app/setup/setup_plan.h"
#include "app/train/script_kind.h"
#include "app/train/slot_folder.h"
#include "app/train/store_place.h"
#include "app/train/trainer.h"
#include "base/suggest.h"
#include "cli/args.h"
#include "cli/cloud.h"
#include "cli/columns.h"
#include "cli/command.h"
#include "cli/copy.h"
#include "cli/output.h"
#include "cli/progress/progress.h"
#include "cli/train/train_command.h"
#include "cli/train/train_simulate.h"
#include "cli/train/train_text.h"
#include "io/clock.h"
#include "io/file.h"
#include "io/json_line.h"
#include "io/lock.h"
#include "provider/aws/wire/aws_time.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SCRIPT_BYTES_MAX = 4 * 1024 * 1024, NAME_BYTES_MAX = 63, RECORD_BYTES_MAX = 1 << 20 };

extern const struct verb verb_train;
enum { KEEP = 3, ARGS_BYTES_MAX = 256 * 1024 };

struct train_fields {
    struct target_fields target;
    struct command_fields command;
    struct operand_rest args;
    const char *script, *working_folder;
    const char *uri, *gcs, *job, *python, *kind;
    const char *max, *min;
    const char *cpus, *gpus;
    int64_t checkpoint_timeout, rescale_timeout, checkpoint_every;
    const char *objective, *price, *head_price, *max_cost, *finish_by;
    int64_t total_steps;
    bool is_scaled, is_simulated;
    const char *speed;
    const char *format;
    bool is_continued; /* by `train resume`: the files are copied already */
    const char *output, *prepare;
    int64_t keep;
};

static const char *const objectives[] = {"fastest", "cheapest", NULL};

static const char *const kinds[] = {"plain", "lightning", "sharded", "adaptdl", NULL};

static const struct operand operands[] = {
    {"FILE", offsetof(struct train_fields, target.file), true, COMPLETE_CLUSTER, NULL,
     "The cluster file (.yaml): run on the head of this cluster. Without it, this machine is the "
     "head.",
     false, train_part_file},
    {"ARGS", offsetof(struct train_fields, args), true, COMPLETE_FILE, NULL,
     "Arguments of the script, after --.", true},
};

static const struct option options[] = {
    {"file", 'f', OPTION_FILE, offsetof(struct train_fields, script), "FILE", NULL,
     "The training script. With -d, its path is relative to DIR."},
    {"uri", 'u', OPTION_TEXT, offsetof(struct train_fields, uri), "ADDRESS", NULL,
     "The Ray cluster: HOST:8265 or ray://HOST:10001. The default is 127.0.0.1:8265."},
    {"max-cluster-size", 'm', OPTION_TEXT, offsetof(struct train_fields, max), "MAX", NULL,
     "The largest number of replicas. The default is 1."},
    {"min", 0, OPTION_TEXT, offsetof(struct train_fields, min), "MIN", NULL,
     "The smallest number of replicas. The default is 1."},
    {"cpus", 0, OPTION_TEXT, offsetof(struct train_fields, cpus), "CPUS", NULL,
     "CPUs of one replica, as Ray counts them. The default is 1."},
    {"gpus", 0, OPTION_TEXT, offsetof(struct train_fields, gpus), "GPUS", NULL,
     "GPUs of one replica. The default is 0."},
    {"working-dir", 'd', OPTION_FILE, offsetof(struct train_fields, working_folder), "DIR", NULL,
     "The directory that is copied to every node. The default is the script's directory."},
    {"name", 'n', OPTION_TEXT, offsetof(struct train_fields, job), "NAME", NULL,
     "The name of the job. If a job with this name was interrupted, it continues. The default is "
     "the name of the script."},
    {"kind", 0, OPTION_CHOICE, offsetof(struct train_fields, kind), "KIND", kinds,
     "How the script saves: plain (it handles SIGTERM), lightning, sharded "
     "(torch.distributed.checkpoint) or adaptdl. The default depends on what the script imports."},
    {"python", 0, OPTION_TEXT, offsetof(struct train_fields, python), "PATH", NULL,
     "The Python interpreter on the nodes. The default is python3."},
    {"checkpoint-timeout", 0, OPTION_NUMBER, offsetof(struct train_fields, checkpoint_timeout),
     "SECONDS", NULL, "How long the replicas may take to save. The default is 120."},
    {"cluster-rescale-timeout", 0, OPTION_NUMBER, offsetof(struct train_fields, rescale_timeout),
     "SECONDS", NULL,
     "How long replicas that are ready wait for others that are starting, so that one restart adds "
     "all of them. The default is 60."},
    {"checkpoint-every", 0, OPTION_NUMBER, offsetof(struct train_fields, checkpoint_every),
     "SECONDS", NULL,
     "Save and restart at least this often, with a short pause each time. By default, Shoal asks "
     "the replicas to save only when the job must restart."},
    {"objective", 0, OPTION_CHOICE, offsetof(struct train_fields, objective), "OBJECTIVE",
     objectives,
     "Choose the number of replicas by their measured speed: fastest, or cheapest (the lowest cost "
     "per step). By default, there are as many as there is room for, up to MAX."},
    {"price", 0, OPTION_TEXT, offsetof(struct train_fields, price), "DOLLARS", NULL,
     "The price of one replica per hour."},
    {"head-price", 0, OPTION_TEXT, offsetof(struct train_fields, head_price), "DOLLARS", NULL,
     "The price per hour of the nodes that run in any case, such as the head. The default is 0."},
    {"max-hourly-cost", 0, OPTION_TEXT, offsetof(struct train_fields, max_cost), "DOLLARS", NULL,
     "Use at most as many replicas as this pays for. Needs --price."},
    {"finish-by", 0, OPTION_TEXT, offsetof(struct train_fields, finish_by), "TIME", NULL,
     "Choose the cheapest number of replicas that finishes in time: 8h, 90m, or a time such as "
     "2026-11-18T07:00:00Z. Needs --total-steps."},
    {"total-steps", 0, OPTION_NUMBER, offsetof(struct train_fields, total_steps), "STEPS", NULL,
     "The number of optimizer steps of the whole job. For AdaptDL: steps with the initial batch "
     "size."},
    {"scaled-batch", 0, OPTION_FLAG, offsetof(struct train_fields, is_scaled), NULL, NULL,
     "Each replica has a batch of fixed size, so a step with more replicas makes more progress. By "
     "default, the replicas divide a batch of fixed size."},
    {"simulate", 0, OPTION_FLAG, offsetof(struct train_fields, is_simulated), NULL, NULL,
     "Start nothing; print the time, cost and restarts to expect on spot instances. Needs "
     "--speed."},
    {"speed", 0, OPTION_TEXT, offsetof(struct train_fields, speed), "SPEED", NULL,
     "For --simulate: steps per second by number of replicas, such as 1:2.0,4:7.1."},
    {"gcs", 0, OPTION_TEXT, offsetof(struct train_fields, gcs), "ADDRESS", NULL,
     "The address of Ray's GCS. The default is port 6379 of the same host."},
    COMMAND_SCREEN_OPTION(struct train_fields),
    COMMAND_TMUX_OPTION(struct train_fields),
    TARGET_PROFILE_OPTION(struct train_fields),
    TARGET_VERBOSE_OPTION(struct train_fields),
    {"output", 0, OPTION_TEXT, offsetof(struct train_fields, output), "WHERE", NULL,
     "Store each checkpoint durably: the absolute path of a directory that all nodes share, or "
     "s3://BUCKET/PREFIX. A job with the same name continues from it."},
    {"keep", 0, OPTION_NUMBER, offsetof(struct train_fields, keep), "COUNT", NULL,
     "How many checkpoints to keep in --output. The default is 3."},
    {"prepare", 0, OPTION_TEXT, offsetof(struct train_fields, prepare), "COMMAND", NULL,
     "A shell command that runs once on each new node before its replicas join, for example to "
     "download data."},
    {"format", 'o', OPTION_CHOICE, offsetof(struct train_fields, format), "FORMAT", text_or_json,
     "Output format: text (the default) or json. The long form is --format, because --output is "
     "the place for checkpoints."},
};

static const struct example examples[] = {
    {"shoal train cluster.yaml --tmux -f train.py -m 4 -- --epochs 10",
     "Copy this directory to the head, and train there with up to four replicas."},
    {"shoal train -f train.py -m 4 -- --epochs 10", "The same, on the head itself."},
    {"shoal train -f train.py --min 2 -m 8 --gpus 1",
     "Train with two to eight replicas, each with one GPU."},
};

/* ---- what was given ---- */

struct train_plan {
    struct trainer_setup setup;
    struct arena *arena;
};

static bool read_amount(const char *text, const char *option, double *amount, struct err *err)
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

static bool read_replicas(const char *text, const char *option, int64_t *replicas, struct err *err)
{
    const int64_t most = TRAIN_SLOTS_MAX / 2 - 1;
    if (text && (!str_to_i64(str_from(text), replicas) || *replicas < 1 || *replicas > most)) {
        return err_set(err, ERR_USAGE,
                       "%s needs a number of replicas from 1 to %" PRId64 ", not \"%.100s\"",
                       option, most, text);
    }
    return true;
}

static bool check_times(const struct train_fields *given, struct err *err)
{
    const char *option = given->checkpoint_timeout < 0 ? "--checkpoint-timeout"
                         : given->rescale_timeout < 0  ? "--cluster-rescale-timeout"
                         : given->checkpoint_every < 0 ? "--checkpoint-every"
                                                       : NULL;
    return !option || err_set(err, ERR_USAGE, "%s cannot be negative", option);
}

static bool plan_sizes(struct train_plan *plan, const struct train_fields *given, struct err *err)
{
    struct train_settings *settings = &plan->setup.settings;
    train_settings_default(settings);
    if (!read_replicas(given->max, "-m", &settings->max_replicas, err) ||
        !read_replicas(given->min, "--min", &settings->min_replicas, err) ||
        !check_times(given, err)) {
        return false;
    }
    if (settings->min_replicas > settings->max_replicas) {
        return err_set(err, ERR_USAGE,
                       "--min is %" PRId64 ", but the largest number of replicas is %" PRId64
                       "; increase it with -m",
                       settings->min_replicas, settings->max_replicas);
    }
    if (given->checkpoint_timeout > 0) {
        settings->checkpoint_timeout = given->checkpoint_timeout * 1000;
    }
    if (given->rescale_timeout > 0) {
        settings->rescale_timeout = given->rescale_timeout * 1000;
    }
    settings->checkpoint_every = given->checkpoint_every * 1000;
    plan->setup.cpus = 1;
    return read_amount(given->cpus, "--cpus", &plan->setup.cpus, err) &&
           read_amount(given->gpus, "--gpus", &plan->setup.gpus, err);
}

/* "90m" and "8h" are from now, in seconds; otherwise a time in UTC. 0: not understood. The time
 * of a job that is continued may be over. */
static int64_t read_finish(const char *text, int64_t now, bool is_continued)
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
    if (!read_amount(given->price, "--price", &goal->price, err) ||
        !read_amount(given->head_price, "--head-price", &goal->fixed_price, err) ||
        !read_amount(given->max_cost, "--max-hourly-cost", &goal->max_cost, err)) {
        return false;
    }
    if (given->objective) {
        goal->objective = strcmp(given->objective, "cheapest") == 0 ? SIZE_CHEAPEST : SIZE_FASTEST;
    }
    goal->total = (double)given->total_steps;
    goal->is_scaled = given->is_scaled;
    if (given->max_cost && goal->max_cost <= 0) {
        return err_set(err, ERR_USAGE, "--max-hourly-cost must be more than 0");
    }
    if (goal->max_cost > 0 && goal->price <= 0) {
        return err_set(err, ERR_USAGE,
                       "--max-hourly-cost needs --price, the price of one replica per hour");
    }
    if (given->finish_by) {
        goal->objective = SIZE_CHEAPEST;
        int64_t now = clock_wall_ms(&clock_of_machine) / 1000;
        goal->finish_by = read_finish(given->finish_by, now, given->is_continued);
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
    if (given->finish_by && given->total_steps <= 0) {
        return err_set(
            err, ERR_USAGE,
            "--finish-by needs --total-steps, the number of optimizer steps of the whole "
            "job");
    }
    return true;
}

/* Without -f, the first word is a mistyped sub-command, or the script. */
static bool no_script(const struct train_fields *given, struct err *err)
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
static bool check_folder(const struct train_plan *plan, struct err *err)
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
        return no_script(given, err);
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
    if (!check_folder(plan, err)) {
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
static struct str address_host(struct str address)
{
    size_t scheme = str_find(address, "://");
    address = str_sub(address, scheme == SIZE_MAX ? 0 : scheme + 3, address.len);
    size_t colon = str_find_char(address, ':');
    return str_sub(address, 0, colon == SIZE_MAX ? address.len : colon);
}

static bool plan_places(struct train_plan *plan, const struct train_fields *given, struct err *err)
{
    struct trainer_setup *setup = &plan->setup;
    struct str program;
    setup->ray = given->uri ? given->uri : "127.0.0.1:8265";
    struct str host = address_host(str_from(setup->ray));
    setup->gcs = given->gcs ? given->gcs
                            : arena_printf(plan->arena, "%.*s:6379", STR_ARG(host)).ptr;
    setup->python = given->python ? given->python : "python3";
    setup->output = given->output;
    setup->prepare = given->prepare;
    setup->keep = given->keep > 0 ? given->keep : KEEP;
    struct str folder = file_expand_home(plan->arena, STR("~/.shoal/train"));
    setup->folder = arena_printf(plan->arena, "%.*s/%s", STR_ARG(folder), setup->job).ptr;
    if (!program_path(plan->arena, &program, err)) {
        return false;
    }
    setup->program = program.ptr;
    return true;
}

/* The nodes fetch this copy, so that all replicas run the same version of the files. */
static bool copy_code(const struct train_plan *plan, struct err *err)
{
    struct str kept = arena_printf(plan->arena, "%s/kept", plan->setup.folder);
    struct str code = arena_printf(plan->arena, "%s/code", kept.ptr);
    return file_make_private_folder(kept.ptr, err) &&
           slot_folder_copy(plan->setup.working_folder, code.ptr, false, err);
}

/* They are sent to each node in one message, as JSON. */
static bool check_args(const struct train_fields *given, struct err *err)
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
    return !given->output || store_where_check(given->output, err);
}

/* ---- running ---- */

/* A line that is redrawn in place, below what is printed. */
struct train_screen {
    const struct cli *cli;
    bool is_live, has_line;
};

static void screen_clear(struct train_screen *screen)
{
    if (screen->has_line) {
        fputs("\r\033[K", screen->cli->out);
        screen->has_line = false;
    }
}

static void print_line(void *context, struct str line)
{
    struct train_screen *screen = context;
    screen_clear(screen);
    fprintf(screen->cli->out, "%.*s\n", STR_ARG(line));
    fflush(screen->cli->out);
}

static void print_live(void *context, const struct train_view *view)
{
    struct train_screen *screen = context;
    AUTO_BUF struct buf line;
    size_t columns = columns_of_screen(STDOUT_FILENO).columns;
    buf_init(&line, 4096);
    screen_clear(screen);
    train_text_live(&line, view, columns > 1 ? columns - 1 : 1);
    fprintf(screen->cli->out, "%.*s", STR_ARG(buf_str(&line)));
    fflush(screen->cli->out);
    screen->has_line = true;
}

static int finish(const struct cli *cli, enum train_phase phase)
{
    struct err err;
    if (phase == TRAIN_SUCCEEDED) {
        return 0;
    }
    if (phase == TRAIN_FAILED) {
        err_set(&err, ERR_IO,
                "the script failed several times without a new checkpoint; its last output "
                "is above. Fix the script and run the same command again");
    } else if (phase == TRAIN_STOPPED) {
        err_set(&err, ERR_CANCELLED,
                "the job was stopped; shoal train resume continues it from its last checkpoint");
    } else {
        err_set(&err, ERR_CANCELLED,
                "the replicas continue for ten minutes without this command; run it again to "
                "reconnect to them");
    }
    return output_error(cli, &err);
}

/* ---- from another machine ---- */

#define UPLOADS "~/.shoal/train-uploads/"

/* The same command for the head, whose working directory is the copy of ours. */
static struct str head_command(const struct train_plan *plan, const struct train_fields *given)
{
    static const char *const skipped[] = {"file", "working-dir", "name",    "screen",
                                          "tmux", "profile",     "verbose", NULL};
    AUTO_BUF struct buf out;
    struct args_words words;
    buf_init(&out, (size_t)REMOTE_LINE_BYTES_MAX * 8);
    buf_addf(&out, SETUP_PROGRAM " train -d " UPLOADS "%s -n %s -f ", plan->setup.job,
             plan->setup.job);
    remote_line_quote(&out, str_from(plan->setup.script));
    args_list(&verb_train, given, skipped, plan->arena, &words);
    for (size_t i = 0; i < words.count; i++) {
        buf_add_char(&out, ' ');
        remote_line_quote(&out, str_from(words.items[i]));
    }
    buf_add_c(&out, " --");
    for (size_t i = 0; i < given->args.count; i++) {
        buf_add_char(&out, ' ');
        remote_line_quote(&out, str_from(given->args.words[i]));
    }
    return arena_str(plan->arena, buf_str(&out));
}

struct train_remote {
    const struct train_plan *plan;
    const struct train_fields *given;
};

static int train_on_head(struct target *target, const void *fields)
{
    const struct train_remote *remote = fields;
    const struct train_plan *plan = remote->plan;
    struct launcher_head head;
    struct ssh_target place;
    struct remote_line line = {.command = head_command(plan, remote->given)};
    int status = command_find(target, &remote->given->command, &head, &place);
    if (status != 0) {
        return status;
    }
    target_close(target);
    struct str here = arena_printf(plan->arena, "%s/", plan->setup.working_folder);
    struct str there = arena_printf(plan->arena, UPLOADS "%s/", plan->setup.job);
    status = copy_run(target, &place, here, there, false);
    return status != 0 ? status : command_run(target, &remote->given->command, &place, &line);
}

/* What `train resume` needs, in addition to the copy of the files. */
static void plan_command(struct train_plan *plan, const struct train_fields *given)
{
    static const char *const skipped[] = {"file",    "working-dir", "name",      "screen", "tmux",
                                          "profile", "verbose",     "finish-by", NULL};
    struct args_words words;
    args_list(&verb_train, given, skipped, plan->arena, &words);
    size_t most = words.count + given->args.count + 2;
    const char **command = ARENA_ARRAY(plan->arena, most, const char *);
    size_t count = 0;
    if (plan->setup.goal.finish_by > 0) { /* "8h" is from the first run on */
        char text[AWS_TIME_ISO_SIZE];
        aws_time_iso(plan->setup.goal.finish_by, text);
        command[count++] = arena_printf(plan->arena, "--finish-by=%s", text).ptr;
    }
    for (size_t i = 0; i < words.count; i++) {
        command[count++] = words.items[i];
    }
    command[count++] = "--";
    for (size_t i = 0; i < given->args.count; i++) {
        command[count++] = given->args.words[i];
    }
    char directory[PATH_MAX];
    const char *here = getcwd(directory, sizeof(directory));
    plan->setup.command = command;
    plan->setup.command_count = count;
    plan->setup.directory = arena_str(plan->arena, str_from(here ? here : "/")).ptr;
}

static int train_here(const struct cli *cli, struct train_plan *plan,
                      const struct train_fields *given)
{
    struct trainer_setup *setup = &plan->setup;
    struct train_screen screen = {.cli = cli};
    enum train_phase phase;
    struct lock *lock;
    struct err err;
    if (!plan_places(plan, given, &err) || !trainer_lock(setup->folder, setup->job, &lock, &err)) {
        return output_error(cli, &err);
    }
    plan_command(plan, given);
    setup->settings.is_sharded = script_traits[setup->kind].is_sharded;
    setup->args = given->args.words;
    setup->arg_count = given->args.count;
    setup->is_json = given->format && strcmp(given->format, "json") == 0;
    screen.is_live = !setup->is_json && progress_can_redraw(cli->out);
    setup->line = print_line;
    setup->live = screen.is_live ? print_live : NULL;
    setup->context = &screen;
    if (!setup->is_json) {
        fprintf(cli->out, "%s: %s\n", setup->script, script_traits[setup->kind].words);
    }
    bool is_done = (given->is_continued || copy_code(plan, &err)) &&
                   trainer_run(setup, &phase, &err);
    screen_clear(&screen);
    lock_drop(lock);
    return is_done ? finish(cli, phase) : output_error(cli, &err);
}

static int verb_train_run(const struct cli *cli, const void *fields)
{
    const struct train_fields *given = fields;
    struct train_plan plan = {.arena = cli->arena};
    struct err err;
    if (given->is_simulated) {
        bool is_done = plan_sizes(&plan, given, &err) && plan_goal(&plan, given, &err) &&
                       train_simulate(cli, &plan.setup.settings, &plan.setup.goal, given->speed,
                                      &err);
        return is_done ? 0 : output_error(cli, &err);
    }
    if (!plan_sizes(&plan, given, &err) || !plan_goal(&plan, given, &err) ||
        !plan_script(&plan, given, &err) || !plan_name(&plan, given, &err) ||
        !check_args(given, &err) || !command_check(&given->command, &err)) {
        return output_error(cli, &err);
    }
    if (given->target.file && given->target.file[0] != '\0') {
        struct train_remote remote = {&plan, given};
        return target_work(cli, &given->target, train_on_head, &remote);
    }
    return train_here(cli, &plan, given);
}

/* ---- resume ---- */

struct recorded_command {
    char **words;
    int count;
    const char *script, *directory;
};

static bool read_command(const char *folder, struct arena *arena, struct recorded_command *command,
                         struct err *err)
{
    AUTO_BUF struct buf text;
    json_t *record;
    struct str path = arena_printf(arena, "%s/job.json", folder);
    buf_init(&text, RECORD_BYTES_MAX);
    if (!file_read_secret(path.ptr, &text, err) ||
        !json_line_read(buf_str(&text), "the record of the job", &record, err)) {
        return false;
    }
    const json_t *words = json_object_get(record, "command");
    size_t count = json_array_size(words);
    command->words = ARENA_ARRAY(arena, count + 1, char *);
    for (size_t i = 0; i < count; i++) {
        const char *word = json_string_value(json_array_get(words, i));
        struct str copy = arena_printf(arena, "%s", word ? word : "");
        command->words[i] = arena_alloc(arena, copy.len + 1);
        memcpy(command->words[i], copy.ptr, copy.len + 1);
    }
    command->count = (int)count;
    command->script = json_take_text(record, "script", arena).ptr;
    command->directory = json_take_text(record, "directory", arena).ptr;
    json_decref(record);
    return count > 0 || err_set(err, ERR_NOT_FOUND,
                                "%s has no command: an older release wrote it. Run the command "
                                "that started the job again",
                                path.ptr);
}

int train_continue(const struct cli *cli, const char *name, const char *folder)
{
    struct recorded_command command;
    struct train_fields *given = ARENA_NEW(cli->arena, struct train_fields);
    struct common_fields common = {0};
    struct err err;
    if (!read_command(folder, cli->arena, &command, &err) ||
        !args_parse(&verb_train, command.count, command.words, cli->arena, given, &common, &err)) {
        return output_error(cli, &err);
    }
    if (command.directory && chdir(command.directory) != 0) {
        errno = 0; /* only options with relative paths need it */
    }
    given->is_continued = true;
    given->working_folder = arena_printf(cli->arena, "%s/kept/code", folder).ptr;
    given->script = command.script;
    given->job = name;
    return verb_train_run(cli, given);
}

static const struct verb *const parts[] = {&train_ls,   &train_status, &train_logs_part,
                                           &train_stop, &train_resume, &train_fetch};

const struct verb verb_train = {
    .name = "train",
    .summary = "train with as many replicas as the cluster has room for",
    .description =
        "Runs a training script on a Ray cluster with as many replicas as there is room for, "
        "between --min and -m. When nodes join or leave, the replicas save a checkpoint, and the "
        "script restarts from it with the new number of replicas. Python and torch stay loaded, so "
        "this usually takes less than a second for a small model.\n\n"
        "The script is an ordinary torch.distributed, Lightning, Accelerate or AdaptDL script. It "
        "must save to the directory in the variable SHOAL_CHECKPOINT_DIR when it gets SIGTERM, "
        "exit with status 143, and load from that directory when it starts. Lightning and AdaptDL "
        "do this by themselves; set the default_root_dir of Lightning to that directory.\n\n"
        "With a cluster file, the working directory is copied to the head and the command runs "
        "there. With --tmux or --screen, it continues after you disconnect. The commands below "
        "show and control training jobs.",
    VERB_ROWS(operand),
    VERB_ROWS(option),
    VERB_ROWS(example),
    VERB_ROWS(part),
    .exit_status = "0 if the script completed, 1 if it failed or was stopped, 2 for a usage "
                   "error.",
    .fields_size = sizeof(struct train_fields),
    .run = verb_train_run,
};
