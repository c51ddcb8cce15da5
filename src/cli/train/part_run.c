/* part_run.c: `shoal train stop` and `shoal train resume`. */
#include "cli/output.h"
#include "cli/train/train_command.h"

#include <inttypes.h>

/* Saving, and the copy of a large checkpoint to the head. */
enum { STOP_MS = 20 * 60 * 1000 };

static const struct operand operands[] = {TRAIN_PART_FILE, TRAIN_PART_NAME};

/* ---- stop ---- */

static bool stop_refused(const struct train_view *view, struct arena *arena, struct err *err)
{
    struct str resume = train_part_line(arena, "shoal train resume", view->file, view->name);
    const char *name = view->name.ptr;
    if (view->phase >= TRAIN_SUCCEEDED) {
        return err_set(err, ERR_NOT_FOUND, "job %s is not running: it is %s", name,
                       train_view_phase(view));
    }
    return err_set(
        err, ERR_NOT_FOUND,
        "the trainer of job %s is gone. Its replicas continue for up to ten minutes without it; "
        "then they save and end, and their nodes keep the newest checkpoint for a day. To store it "
        "on the head: %.*s, then stop the job",
        name, STR_ARG(resume));
}

static bool stop_allowed(const struct train_part_fields *given, struct train_view *view,
                         struct arena *arena, struct err *err)
{
    view->file = str_from(given->called ? given->called : "");
    return view->is_running || stop_refused(view, arena, err);
}

static int say_stopped(const struct cli *cli, const struct train_view *view, struct str folder)
{
    struct err err;
    const char *phase = train_view_phase(view);
    if (view->phase < TRAIN_SUCCEEDED) {
        err_set(&err, ERR_IO,
                "the trainer of job %s ended before it stored the checkpoint. To see the job: %s",
                view->name.ptr,
                train_part_line(cli->arena, "shoal train status", view->file, view->name).ptr);
        return output_error(cli, &err);
    }
    fprintf(cli->out, "job %s is %s at step %" PRId64 "\n", view->name.ptr, phase, view->step);
    if (view->phase != TRAIN_SUCCEEDED && view->stored > 0) {
        fprintf(cli->out, "its checkpoint is in %s/kept/%" PRId64 "; to continue: %s\n", folder.ptr,
                view->stored,
                train_part_line(cli->arena, "shoal train resume", view->file, view->name).ptr);
    }
    return 0;
}

static int train_stop_run(const struct cli *cli, const void *fields)
{
    struct train_part_fields given = *(const struct train_part_fields *)fields;
    struct str folder;
    struct train_view view;
    json_t *answer = NULL;
    struct err err;
    if (train_part_is_remote(&given)) {
        return train_part_on_head(cli, &train_stop, &given, STR(""));
    }
    if (!train_part_choose(&given, cli->arena, &folder, &err) ||
        !train_view_of(folder.ptr, str_from(given.name), cli->arena, &view, &err) ||
        !stop_allowed(&given, &view, cli->arena, &err) ||
        !trainer_ask(folder.ptr, "stop", STOP_MS, &answer, &err)) {
        return output_error(cli, &err);
    }
    json_decref(answer);
    if (!train_view_of(folder.ptr, str_from(given.name), cli->arena, &view, &err)) {
        return output_error(cli, &err);
    }
    view.file = str_from(given.called ? given.called : "");
    return say_stopped(cli, &view, folder);
}

static const struct option stop_options[] = {
    TRAIN_PART_CALLED,
    TARGET_PROFILE_OPTION(struct train_part_fields),
    TARGET_VERBOSE_OPTION(struct train_part_fields),
};
static const struct example stop_examples[] = {
    {"shoal train stop cluster.yaml", "Save a checkpoint and end the training job."},
};

const struct verb train_stop = {
    .name = "train stop",
    .summary = "save a checkpoint and end a training job",
    .description =
        "The replicas save, the checkpoint is stored on the head, and the job ends. The command "
        "waits until the job has ended. shoal train resume continues the job later.",
    .operands = operands,
    .operand_count = ARRAY_LEN(operands),
    .options = stop_options,
    .option_count = ARRAY_LEN(stop_options),
    .examples = stop_examples,
    .example_count = ARRAY_LEN(stop_examples),
    .fields_size = sizeof(struct train_part_fields),
    .run = train_stop_run,
};

/* ---- resume ---- */

static int train_resume_run(const struct cli *cli, const void *fields)
{
    struct train_part_fields given = *(const struct train_part_fields *)fields;
    struct str folder;
    struct train_view view;
    struct err err;
    if (!command_check(&given.command, &err)) {
        return output_error(cli, &err);
    }
    if (train_part_is_remote(&given)) {
        return train_part_on_head(cli, &train_resume, &given, STR(""));
    }
    if (!train_part_choose(&given, cli->arena, &folder, &err) ||
        !train_view_of(folder.ptr, str_from(given.name), cli->arena, &view, &err)) {
        return output_error(cli, &err);
    }
    if (view.phase == TRAIN_SUCCEEDED) {
        err_set(&err, ERR_EXISTS,
                "job %s is already complete. To train again, run shoal train with the script",
                given.name);
        return output_error(cli, &err);
    }
    return train_continue(cli, given.name, folder.ptr, given.called);
}

static const struct option resume_options[] = {
    TRAIN_PART_CALLED,
    COMMAND_SCREEN_OPTION(struct train_part_fields),
    COMMAND_TMUX_OPTION(struct train_part_fields),
    TARGET_PROFILE_OPTION(struct train_part_fields),
    TARGET_VERBOSE_OPTION(struct train_part_fields),
};
static const struct example resume_examples[] = {
    {"shoal train resume --tmux cluster.yaml",
     "Continue the training job in a tmux session on the head."},
};

const struct verb train_resume = {
    .name = "train resume",
    .summary = "continue a stopped, failed or interrupted training job",
    .description = "Runs the job again with the options, arguments and files of its last run, from "
                   "its last checkpoint. If its replicas are still running, it reconnects to them.",
    .operands = operands,
    .operand_count = ARRAY_LEN(operands),
    .options = resume_options,
    .option_count = ARRAY_LEN(resume_options),
    .examples = resume_examples,
    .example_count = ARRAY_LEN(resume_examples),
    .exit_status = "0 if the script completed, 1 if it failed or was stopped, 2 for a usage "
                   "error.",
    .fields_size = sizeof(struct train_part_fields),
    .run = train_resume_run,
};
