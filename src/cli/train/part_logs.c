/* part_logs.c: `shoal train logs`. */
#include "app/train/train_logs.h"
#include "base/utf8.h"
#include "cli/output.h"
#include "cli/train/train_command.h"

struct logs_printing {
    FILE *out;
    bool is_labelled;
};

static void print_logs(void *context, uint32_t slot, int64_t rank, struct str text)
{
    const struct logs_printing *printing = context;
    while (text.len > 0) {
        AUTO_BUF struct buf plain;
        struct str line = str_cut(&text, '\n');
        buf_init(&plain, line.len + 1);
        utf8_add_unstyled(&plain, line);
        if (printing->is_labelled && rank >= 0) {
            fprintf(printing->out, "[slot %u, rank %lld] ", slot, (long long)rank);
        } else if (printing->is_labelled) {
            fprintf(printing->out, "[slot %u] ", slot);
        }
        fprintf(printing->out, "%.*s\n", STR_ARG(buf_str(&plain)));
    }
    fflush(printing->out);
}

static int train_logs_part_run(const struct cli *cli, const void *fields)
{
    struct train_part_fields given = *(const struct train_part_fields *)fields;
    struct logs_printing printing = {cli->out, given.rank == NULL};
    struct train_logs_setup setup = {
        .rank = -1, .follows = given.follow, .text = print_logs, .context = &printing};
    struct str folder;
    struct err err;
    if (given.rank && (!str_to_i64(str_from(given.rank), &setup.rank) || setup.rank < 0)) {
        err_set(&err, ERR_USAGE, "--rank needs a rank such as 0, not \"%.50s\"", given.rank);
        return output_error(cli, &err);
    }
    if (train_part_is_remote(&given)) {
        return train_part_on_head(cli, &train_logs_part, &given, STR(""));
    }
    if (!train_part_choose(&given, cli->arena, &folder, &err)) {
        return output_error(cli, &err);
    }
    setup.folder = folder.ptr;
    setup.job = given.name;
    return train_logs_run(&setup, &err) ? 0 : output_error(cli, &err);
}

static const struct operand operands[] = {TRAIN_PART_FILE, TRAIN_PART_NAME};
static const struct option options[] = {
    {"rank", 0, OPTION_TEXT, offsetof(struct train_part_fields, rank), "N", NULL,
     "Print only the output of the replica that has this rank now, without labels."},
    {"follow", 'f', OPTION_FLAG, offsetof(struct train_part_fields, follow), NULL, NULL,
     "Also print new output as it is written, until the job ends or Ctrl-C."},
    TARGET_PROFILE_OPTION(struct train_part_fields),
    TARGET_VERBOSE_OPTION(struct train_part_fields),
};
static const struct example examples[] = {
    {"shoal train logs -f --rank 0 cluster.yaml", "Follow the output of rank 0."},
};

const struct verb train_logs_part = {
    .name = "train logs",
    .summary = "print the output of the replicas of a training job",
    .description =
        "Prints the output of the script from Ray's job logs, slot by slot. The log of a slot has "
        "the output of all restarts of the script. Logs of nodes that are gone are lost.",
    VERB_ROWS(operand),
    VERB_ROWS(option),
    VERB_ROWS(example),
    .fields_size = sizeof(struct train_part_fields),
    .run = train_logs_part_run,
};
