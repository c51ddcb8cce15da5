/* part_status.c: `shoal train ls` and `shoal train status`. */
#include "cli/output.h"
#include "cli/train/train_command.h"
#include "cli/train/train_json.h"
#include "cli/train/train_report.h"
#include "cli/train/train_text.h"
#include "io/clock.h"

#include <string.h>

static double now_s(void)
{
    return (double)clock_wall_ms(&clock_of_machine) / 1000;
}

static bool wants_json(const struct train_part_fields *given)
{
    return given->format && strcmp(given->format, "json") == 0;
}

/* ---- ls ---- */

static int train_ls_run(const struct cli *cli, const void *fields)
{
    const struct train_part_fields *given = fields;
    AUTO_BUF struct buf out;
    struct train_views views;
    buf_init(&out, OUTPUT_BYTES_MAX);
    if (train_part_is_remote(given)) {
        return train_part_on_head(cli, &train_ls, given, STR(""));
    }
    train_part_views(cli->arena, &views);
    if (wants_json(given)) {
        train_json_list(&out, views.items, views.count);
    } else if (views.count == 0) {
        buf_add_c(&out, "there is no training job on this machine\n");
    } else {
        train_text_list(&out, views.items, views.count, now_s());
    }
    return output_write(cli, cli->out, &out);
}

static const struct operand ls_operands[] = {TRAIN_PART_FILE};
static const struct option ls_options[] = {
    TRAIN_PART_FORMAT,
    TARGET_PROFILE_OPTION(struct train_part_fields),
    TARGET_VERBOSE_OPTION(struct train_part_fields),
};
static const struct example ls_examples[] = {
    {"shoal train ls cluster.yaml", "List the training jobs of this cluster."},
};

const struct verb train_ls = {
    .name = "train ls",
    .summary = "list the training jobs of a cluster",
    .description =
        "Lists all training jobs on the head: phase, replicas, step, and how long the job has been "
        "in this phase. A job is interrupted if its trainer, the shoal train process, is gone and "
        "the job has not ended.\n\nWith -o json, it prints an object with the array jobs. Each job "
        "has the fields of shoal train status, except pauses and events.",
    .operands = ls_operands,
    .operand_count = ARRAY_LEN(ls_operands),
    .options = ls_options,
    .option_count = ARRAY_LEN(ls_options),
    .examples = ls_examples,
    .example_count = ARRAY_LEN(ls_examples),
    .fields_size = sizeof(struct train_part_fields),
    .run = train_ls_run,
};

/* ---- status ---- */

static int train_status_run(const struct cli *cli, const void *fields)
{
    struct train_part_fields given = *(const struct train_part_fields *)fields;
    AUTO_BUF struct buf out;
    struct str folder;
    struct train_view view;
    struct train_history history;
    struct err err;
    buf_init(&out, OUTPUT_BYTES_MAX);
    if (train_part_is_remote(&given)) {
        if (given.report) {
            err_set(
                &err, ERR_USAGE,
                "--report works only on the head: run the command there, then copy the page with "
                "shoal rsync-down FILE");
            return output_error(cli, &err);
        }
        return train_part_on_head(cli, &train_status, &given, STR(""));
    }
    if (!train_part_choose(&given, cli->arena, &folder, &err) ||
        !train_view_of(folder.ptr, str_from(given.name), cli->arena, &view, &err)) {
        return output_error(cli, &err);
    }
    view.file = str_from(given.called ? given.called : "");
    train_history_read(folder.ptr, cli->arena, &history);
    if (given.report) {
        if (!train_report_write(given.report, cli->arena, &view, &history, now_s(), &err)) {
            return output_error(cli, &err);
        }
        buf_addf(&out, "wrote %s\n", given.report);
    } else if (wants_json(&given)) {
        train_json_status(&out, &view, &history);
    } else {
        train_text_status(&out, &view, &history, folder.ptr, now_s());
    }
    return output_write(cli, cli->out, &out);
}

static const struct operand status_operands[] = {TRAIN_PART_FILE, TRAIN_PART_NAME};
static const struct option status_options[] = {
    TRAIN_PART_FORMAT,
    TRAIN_PART_CALLED,
    {"report", 0, OPTION_FILE, offsetof(struct train_part_fields, report), "FILE", NULL,
     "Write an HTML report to FILE instead, with replicas and speed over time, and all pauses. "
     "Works only on the head."},
    TARGET_PROFILE_OPTION(struct train_part_fields),
    TARGET_VERBOSE_OPTION(struct train_part_fields),
};
static const struct example status_examples[] = {
    {"shoal train status cluster.yaml", "Show the only training job of this cluster."},
    {"shoal train status --report run.html", "On the head: write an HTML report."},
};

const struct verb train_status = {
    .name = "train status",
    .summary = "show a training job: progress, replicas, pauses and events",
    .description =
        "Shows the phase of the job and its reason, its replicas with their nodes, its step and "
        "speed, "
        "the newest checkpoint and where it is, the pauses so far and the last events. A step is "
        "one call of the optimizer; after a failure, the step goes back to that of the checkpoint."
        "\n\nWith -o json, the object has: job, phase (waiting, training, saving, recovering, "
        "complete, failed, stopped, interrupted), why, since, generation, replicas, min, max, "
        "step, steps_per_s, samples_per_s and dollars_per_hour (null if unknown), checkpoint, "
        "checkpoint_step, stored, slots (slot, state, rank, node, "
        "host, checkpoint), pauses (count, total_s, save_s, transfer_s, start_s, rendezvous_s, "
        "load_s, steps_repeated), events (time, event, and its figures). Times are seconds since "
        "1970. start_s includes transfer_s.",
    .operands = status_operands,
    .operand_count = ARRAY_LEN(status_operands),
    .options = status_options,
    .option_count = ARRAY_LEN(status_options),
    .examples = status_examples,
    .example_count = ARRAY_LEN(status_examples),
    .fields_size = sizeof(struct train_part_fields),
    .run = train_status_run,
};
