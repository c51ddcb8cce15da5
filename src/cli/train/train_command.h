/*
 * train_command.h: shared by the sub-commands of `shoal train`.
 *
 *     shoal train ls|status|logs|stop|resume|fetch [FILE] [NAME]
 *
 * With a cluster file, the same command runs on the head over ssh.
 */
#pragma once

#include "app/train/train_view.h"
#include "cli/command.h"
#include "cli/verb.h"

struct train_part_fields {
    struct target_fields target;
    struct command_fields command;
    const char *name, *folder;
    const char *format, *report, *link, *rank;
    const char *called; /* the cluster file that the user named on another machine */
    bool follow;
};

/* A cluster file ends in .yaml or .yml; any other word is not one. */
const char *train_part_file(const char *word, bool is_short);

#define TRAIN_PART_FILE                                                                         \
    {                                                                                           \
        "FILE", offsetof(struct train_part_fields, target.file), true, COMPLETE_CLUSTER, NULL,  \
            "The cluster file (.yaml) of the cluster that trains. Without it, this machine is " \
            "the head.",                                                                        \
            false, train_part_file                                                              \
    }
#define TRAIN_PART_NAME                                                                 \
    {                                                                                   \
        "NAME", offsetof(struct train_part_fields, name), true, COMPLETE_NOTHING, NULL, \
            "The name of the job. It can be left out if there is only one."             \
    }
#define TRAIN_PART_FORMAT                                                                   \
    {                                                                                       \
        "output", 'o', OPTION_CHOICE, offsetof(struct train_part_fields, format), "FORMAT", \
            text_or_json, "Output format: text (the default) or json."                      \
    }

#define TRAIN_PART_CALLED                                                                        \
    {                                                                                            \
        "called-with", 0, OPTION_TEXT, offsetof(struct train_part_fields, called), "FILE", NULL, \
            "The cluster file that was named on another machine, for suggested commands.", true  \
    }

/* "shoal train resume cluster.yaml demo": a command for users. `file` may be empty. */
struct str train_part_line(struct arena *arena, const char *words, struct str file,
                           struct str name);

/* True if a cluster file was given. */
bool train_part_is_remote(const struct train_part_fields *given);

/* Runs the sub-command, whose fields are `given`, on the head. Returns its exit status. `extra`
 * follows its words; may be empty. */
int train_part_on_head(const struct cli *cli, const struct verb *part,
                       const struct train_part_fields *given, struct str extra) MUST_USE;

/* The folder of the job that is meant. ERR_NOT_FOUND, or ERR_USAGE if several are
 * there and none was named. */
bool train_part_choose(struct train_part_fields *given, struct arena *arena, struct str *ret_folder,
                       struct err *err) MUST_USE;

/* All jobs by name. */
struct train_views {
    struct train_view *items;
    size_t count;
};
void train_part_views(struct arena *arena, struct train_views *ret_views);

extern const struct verb train_ls, train_status, train_logs_part, train_stop, train_resume,
    train_fetch;

/* ---- verb_train.c ---- */

/* Continues the job with the command that its record has. `called`: as in train_part_fields. */
int train_continue(const struct cli *cli, const char *name, const char *folder, const char *called);
