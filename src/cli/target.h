/*
 * target.h: shared by all verbs that work on the cluster of a file: the options of Ray's launcher,
 * the file with command line overrides, a cloud session, and access to the head.
 *
 *     target_open() -> target_connect() -> launcher_...() or target_find() -> target_close()
 */
#pragma once

#include "app/launch/launcher.h"
#include "cli/cluster_choice.h"
#include "cli/input.h"
#include "cli/verb.h"

/* Options; each verb has them as a member `target` of its own struct. */
struct target_fields {
    const char *file;
    const char *name;
    const char *profile;
    const char *project; /* of Google Cloud, for a cluster given by its name; NULL: on AWS */
    struct option_numbers min_workers, max_workers;
    int64_t keep_failed_ms; /* from `up --keep-failed`; 0: not given */
    bool no_config_cache;
    bool no_usage_stats;
    const char *log_style, *log_color;
    unsigned verbose;
};

extern const char *const target_log_styles[];
extern const char *const target_log_colours[];

#define TARGET_FILE_HELP                                                                    \
    "The cluster file, as for ray up, or the name of a cluster that was started from this " \
    "machine. The default is $SHOAL_CLUSTER, or cluster.yaml in this directory."
#define TARGET_OPERAND(type)                                                                  \
    {                                                                                         \
        "FILE", offsetof(type, target.file), false, COMPLETE_CLUSTER, NULL, TARGET_FILE_HELP, \
            false, cluster_choice                                                             \
    }
#define TARGET_NAME_OPTION(type)                                                     \
    {                                                                                \
        "cluster-name", 'n', OPTION_TEXT, offsetof(type, target.name), "NAME", NULL, \
            "Override cluster_name in the file."                                     \
    }
#define TARGET_PROFILE_OPTION(type)                                              \
    {                                                                            \
        "profile", 0, OPTION_TEXT, offsetof(type, target.profile), "NAME", NULL, \
            "AWS profile to use instead of the one in the file or the "          \
            "environment."                                                       \
    }
#define TARGET_VERBOSE_OPTION(type)                                               \
    {                                                                             \
        "verbose", 'v', OPTION_COUNT, offsetof(type, target.verbose), NULL, NULL, \
            "Print more details."                                                 \
    }
#define TARGET_CACHE_OPTION(type)                                                              \
    {                                                                                          \
        "no-config-cache", 0, OPTION_FLAG, offsetof(type, target.no_config_cache), NULL, NULL, \
            "Ask the cloud for the head even if its address is already known."                 \
    }
#define TARGET_USAGE_OPTION(type)                                                                 \
    {                                                                                             \
        "disable-usage-stats", 0, OPTION_FLAG, offsetof(type, target.no_usage_stats), NULL, NULL, \
            "Disable Ray's usage statistics."                                                     \
    }
/* Three rows. */
#define TARGET_LOG_OPTIONS(type)                                                                   \
    {"log-style",                                                                                  \
     0,                                                                                            \
     OPTION_CHOICE,                                                                                \
     offsetof(type, target.log_style),                                                             \
     "STYLE",                                                                                      \
     target_log_styles,                                                                            \
     "record prints one line per change, also on a terminal. auto and pretty show a live display " \
     "on a terminal."},                                                                            \
        {"log-color",                                                                              \
         0,                                                                                        \
         OPTION_CHOICE,                                                                            \
         offsetof(type, target.log_color),                                                         \
         "WHEN",                                                                                   \
         target_log_colours,                                                                       \
         "Ray's name for --color: auto, false or true."},                                          \
    {                                                                                              \
        "verbose", 'v', OPTION_COUNT, offsetof(type, target.verbose), NULL, NULL,                  \
            "Print more details; -vv also logs every API call."                                    \
    }

struct target {
    struct cli cli; /* with the selected colours */
    const struct target_fields *given;
    struct input input;
    const struct config *config;
    const char *file;  /* the file that was read; differs if `given->file` is a name */
    struct str region; /* region of a cluster given by name; empty: given by a file */
    struct cloud_session session;
    struct launcher_setup setup; /* has `session`, `config`, paths and profile */
};

/* Both return 0, or the exit status after an error message. Opening reads the file; connecting
 * creates a session, which handles Ctrl-C. No request is sent yet. */
int target_open(struct target *target, const struct cli *cli, const struct target_fields *given,
                enum input_depth depth) MUST_USE;
/* Opens the cluster with the name `given->file` in that region (may be empty with a project),
 * without a file. */
int target_open_named(struct target *target, const struct cli *cli,
                      const struct target_fields *given, struct str region) MUST_USE;
int target_connect(struct target *target) MUST_USE;
/* False for own machines, which are not stopped and started; `instead` says what to do. */
bool target_has_instances(const struct target *target, struct str instead,
                          struct err *err) MUST_USE;

/* A note if calls go to a stand-in for AWS: for verbs that change something there, or with -v. */
void target_announce(const struct target *target);
/* Creates a session again after target_close(): while a question is open, Ctrl-C must end the
 * program. */
int target_connect_again(struct target *target) MUST_USE;
void target_close(struct target *target); /* may be called after a failed open, and twice */

/* Opens, connects, calls `work` and closes; target_work() reads the file as Ray does. */
typedef int target_work_fn(struct target *target, const void *fields);
int target_work(const struct cli *cli, const struct target_fields *given, target_work_fn *work,
                const void *fields) MUST_USE;
int target_work_as(const struct cli *cli, const struct target_fields *given, enum input_depth depth,
                   target_work_fn *work, const void *fields) MUST_USE;

/* Prints a warning unless the head's setup succeeded. */
void target_warn_of_set_up(const struct target *target, const struct launcher_head *head);

/* The file of verbs that also work on the head itself, where nothing has to be named: `file`, or
 * the default elsewhere; NULL: this is a head, or nothing is known. */
const char *target_file_or_here(const struct cli *cli, const char *file);

/* Prints the error; returns its exit status, 130 for Ctrl-C. */
int target_fail(const struct target *target, const struct err *err);

/* Prints why the last `up` on this machine failed, if it did. */
void target_say_last_failure(const struct target *target);
/* target_fail() for a head that does not answer, followed by the failure of the last `up`. */
int target_fail_head(const struct target *target, const struct err *err);

/* After nothing was found: true with an error if this machine knows such a cluster of another owner
 * only. */
bool target_is_others(const struct target *target, struct err *err);
/* Finds the head and how to reach it (`ret_place` may be NULL). ERR_NOT_FOUND says how to start
 * one. */
bool target_find(struct target *target, struct launcher_head *ret_head,
                 struct ssh_target *ret_place, struct err *err) MUST_USE;

/* The same without a listing if a shared connection to the head is open, or can be opened at its
 * last address (app/launch/head_connection.h). The head then has no worker addresses. */
bool target_reach(struct target *target, struct launcher_head *ret_head,
                  struct ssh_target *ret_place, struct err *err) MUST_USE;

/* "aws us-west-2" */
struct str target_where(const struct target *target);

/* "cluster.yaml", with -n NAME if given: for suggested commands. */
struct str target_text(const struct target *target);

/* True if standard input and output are terminals, for an interactive remote shell. */
bool target_has_terminal(void);

/*
 * The ssh target for a program in the foreground. An ssh that opens a shared connection keeps
 * running in the background with the descriptors it inherited: a reader of our output in a pipe
 * would wait for it. So only on terminals does such a program open one; everywhere it uses one that
 * target_reach() has opened, except attended commands (command_run()). Forwarded ports would stay
 * open with it, so these are not shared.
 */
struct ssh_target target_way(const struct ssh_target *place, bool has_forwards);

/* Closes the session and runs a program in our terminal; returns the exit status. `notice`: see
 * foreground.h. */
int target_run(struct target *target, const char *const *argv, struct str notice) MUST_USE;
/* Prints "-> ssh ..." with -v. */
void target_show_argv(const struct target *target, const char *const *argv);
