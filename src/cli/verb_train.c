/* verb_train.c: runs an elastic training job on a Ray cluster. */
#include "app/setup/setup_plan.h"
#include "app/train/script_kind.h"
#include "app/train/slot_folder.h"
#include "app/train/store_place.h"
#include "app/train/trainer.h"
#include "cli/args.h"
#include "cli/cloud.h"
#include "cli/columns.h"
#include "cli/command.h"
#include "cli/copy.h"
#include "cli/output.h"
#include "cli/progress/progress.h"
#include "cli/train/train_command.h"
#include "cli/train/train_plan.h"
#include "cli/train/train_simulate.h"
#include "cli/train/train_text.h"
#include "io/file.h"
#include "io/json_line.h"
#include "io/lock.h"
#include "provider/aws_time.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

enum { RECORD_BYTES_MAX = 1 << 20 };

extern const struct verb verb_train;

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
    {"checkpoint-timeout", 0, OPTION_TEXT, offsetof(struct train_fields, checkpoint_timeout),
     "SECONDS", NULL, "How long the replicas may take to save. The default is 120."},
    {"cluster-rescale-timeout", 0, OPTION_TEXT, offsetof(struct train_fields, rescale_timeout),
     "SECONDS", NULL,
     "How long replicas that are ready wait for others that are starting, so that one restart adds "
     "all of them. The default is 60."},
    {"checkpoint-every", 0, OPTION_TEXT, offsetof(struct train_fields, checkpoint_every), "SECONDS",
     NULL,
     "Save and restart at least this often, with a short pause each time. By default, Shoal asks "
     "the replicas to save only when the job must restart."},
    {"objective", 0, OPTION_CHOICE, offsetof(struct train_fields, objective), "OBJECTIVE",
     objectives,
     "Choose the number of replicas by their measured speed: fastest, or cheapest (the lowest cost "
     "per step). By default, there are as many as there is room for, up to MAX."},
    {"price", 0, OPTION_TEXT, offsetof(struct train_fields, price), "DOLLARS", NULL,
     "The price of one replica per hour. The default is the price of its node that the head's "
     "service knows, divided by the replicas on it."},
    {"head-price", 0, OPTION_TEXT, offsetof(struct train_fields, head_price), "DOLLARS", NULL,
     "The price per hour of the nodes that run in any case, such as the head. The default is 0."},
    {"max-hourly-cost", 0, OPTION_TEXT, offsetof(struct train_fields, max_cost), "DOLLARS", NULL,
     "Use at most as many replicas as this pays for. Needs --price."},
    {"finish-by", 0, OPTION_TEXT, offsetof(struct train_fields, finish_by), "TIME", NULL,
     "Choose the cheapest number of replicas that finishes in time: 8h, 90m, or a time such as "
     "2026-11-18T07:00:00Z. Needs --total-steps."},
    {"total-steps", 0, OPTION_TEXT, offsetof(struct train_fields, total_steps), "STEPS", NULL,
     "The number of optimizer steps of the whole job. For AdaptDL: steps with the initial batch "
     "size."},
    {"scaled-batch", 0, OPTION_FLAG, offsetof(struct train_fields, is_scaled), NULL, NULL,
     "Each replica has a batch of fixed size, so a step with more replicas makes more progress. By "
     "default, the replicas divide a batch of fixed size."},
    {"batch-size", 0, OPTION_TEXT, offsetof(struct train_fields, batch), "SAMPLES", NULL,
     "The samples of one step of all replicas, or with --scaled-batch of one replica. Only for the "
     "samples per second that Shoal shows."},
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
     "Store each checkpoint durably: the absolute path of a directory that all nodes share, "
     "s3://BUCKET/PREFIX or gs://BUCKET/PREFIX. Only the job that began there continues from it; "
     "see --adopt."},
    {"adopt", 0, OPTION_FLAG, offsetof(struct train_fields, is_adopting), NULL, NULL,
     "Continue from the checkpoints of another job of this name in --output, for example after the "
     "head was lost. The other job must not run any more."},
    {"keep", 0, OPTION_TEXT, offsetof(struct train_fields, keep), "COUNT", NULL,
     "How many checkpoints to keep in --output. The default is 3."},
    {"prepare", 0, OPTION_TEXT, offsetof(struct train_fields, prepare), "COMMAND", NULL,
     "A shell command that runs once on each new node before its replicas join, for example to "
     "download data."},
    {"warm-cuda", 0, OPTION_FLAG, offsetof(struct train_fields, is_cuda_warm), NULL, NULL,
     "New replicas initialize CUDA before they join, while the others train. It was never tested "
     "on a GPU."},
    {"called-with", 0, OPTION_TEXT, offsetof(struct train_fields, called), "FILE", NULL,
     "The cluster file that was named on another machine, for suggested commands.", true},
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

/* The nodes fetch this copy, so that all replicas run the same version of the files. */
static bool copy_code(const struct train_plan *plan, struct err *err)
{
    struct str kept = arena_printf(plan->arena, "%s/kept", plan->setup.folder);
    struct str code = arena_printf(plan->arena, "%s/code", kept.ptr);
    return file_make_private_folder(kept.ptr, err) &&
           slot_folder_copy(plan->setup.working_folder, code.ptr, false, err);
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
        fflush(screen->cli->out); /* what follows may go to stderr */
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

static int finish(const struct cli *cli, const struct trainer_setup *setup, const char *called,
                  enum train_phase phase)
{
    struct str resume = train_part_line(cli->arena, "shoal train resume",
                                        str_from(called ? called : ""), str_from(setup->job));
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
                "the job was stopped; to continue from its last checkpoint: %.*s", STR_ARG(resume));
    } else {
        err_set(&err, ERR_CANCELLED,
                "the replicas continue for ten minutes without this command, and their nodes keep "
                "the newest checkpoint for a day; to continue: %.*s",
                STR_ARG(resume));
    }
    return output_error(cli, &err);
}

/* ---- from another machine ---- */

#define UPLOADS "~/.shoal/train-uploads/"

/* The same command for the head, whose working directory is the copy of ours. */
static struct str head_command(const struct train_plan *plan, const struct train_fields *given,
                               const struct config *config)
{
    static const char *const skipped[] = {"file",    "working-dir", "name",        "screen", "tmux",
                                          "profile", "verbose",     "called-with", NULL};
    AUTO_BUF struct buf out;
    struct args_words words;
    buf_init(&out, (size_t)REMOTE_LINE_BYTES_MAX * 8);
    if (str_is(config->provider_type, "aws")) {
        buf_add_c(&out, "env " TRAIN_REGION_VARIABLE "=");
        remote_line_quote(&out, value_text(value_get_c(config->provider, "region")));
        buf_add_char(&out, ' ');
    }
    buf_addf(&out, SETUP_PROGRAM " train -d " UPLOADS "%s -n %s --called-with=", plan->setup.job,
             plan->setup.job);
    remote_line_quote(&out, str_from(given->target.file));
    buf_add_c(&out, " -f ");
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
    struct remote_line line = {.command = head_command(plan, remote->given, target->config)};
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
static bool plan_command(struct train_plan *plan, const struct train_fields *given, struct err *err)
{
    static const char *const skipped[] = {"file",        "working-dir", "name",    "screen",
                                          "tmux",        "profile",     "verbose", "finish-by",
                                          "called-with", "adopt",       NULL};
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
    for (size_t i = 0; i <= count; i++) { /* they are recorded as JSON */
        const char *text = i < count ? command[i] : plan->setup.script;
        json_t *word = json_string(text);
        json_decref(word);
        if (!word) {
            return err_set(err, ERR_USAGE, "%.*s is not UTF-8; choose another name",
                           i < count ? (int)strcspn(text, "=") : 6, i < count ? text : "script");
        }
    }
    plan->setup.command = command;
    plan->setup.command_count = count;
    plan->setup.directory = arena_str(plan->arena, str_from(here ? here : "/")).ptr;
    return true;
}

static int train_here(const struct cli *cli, struct train_plan *plan,
                      const struct train_fields *given)
{
    struct trainer_setup *setup = &plan->setup;
    struct train_screen screen = {.cli = cli};
    enum train_phase phase;
    struct lock *lock;
    struct err err;
    if (!train_plan_places(plan, given, &err) || !plan_command(plan, given, &err) ||
        !trainer_lock(setup->folder, setup->job, &lock, &err)) {
        return output_error(cli, &err);
    }
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
    return is_done ? finish(cli, setup, given->called, phase) : output_error(cli, &err);
}

static int verb_train_run(const struct cli *cli, const void *fields)
{
    const struct train_fields *given = fields;
    struct train_plan plan = {.arena = cli->arena};
    struct err err;
    if (given->is_simulated) {
        bool is_done = train_plan_goal(&plan, given, &err) &&
                       train_simulate(cli, &plan.setup.settings, &plan.setup.goal, given->speed,
                                      &err);
        return is_done ? 0 : output_error(cli, &err);
    }
    if (!train_plan_read(&plan, given, &err)) {
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

int train_continue(const struct cli *cli, const char *name, const char *folder, const char *called)
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
    given->called = called;
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
