/*
 * target.h: what every verb that works on the cluster of a file shares: the options of Ray's
 * launcher, reading the file with what the command line overrides, a session with the cloud, the
 * way to the head.
 *
 *     target_open() -> target_connect() -> launcher_...() or target_find() -> target_close()
 */
#pragma once

#include "app/launch/launcher.h"
#include "cli/input.h"
#include "cli/verb.h"

/* The options; verbs have them as a member `target` of their own struct. */
struct target_fields {
    const char *file;
    const char *name;
    const char *profile;
    struct option_numbers min_workers, max_workers;
    bool no_config_cache;
    bool no_usage_stats;
    const char *log_style, *log_color;
    unsigned verbose;
};

extern const char *const target_log_styles[];
extern const char *const target_log_colours[];

#define TARGET_OPERAND(type)                                             \
    {                                                                    \
        "FILE", offsetof(type, target.file), false, COMPLETE_FILE, NULL, \
            "The cluster file, as for ray up."                           \
    }
#define TARGET_NAME_OPTION(type)                                                     \
    {                                                                                \
        "cluster-name", 'n', OPTION_TEXT, offsetof(type, target.name), "NAME", NULL, \
            "Use this name instead of the file's cluster_name."                      \
    }
#define TARGET_PROFILE_OPTION(type)                                              \
    {                                                                            \
        "profile", 0, OPTION_TEXT, offsetof(type, target.profile), "NAME", NULL, \
            "The AWS profile to use, instead of what the file and the "          \
            "environment say."                                                   \
    }
#define TARGET_VERBOSE_OPTION(type)                                               \
    {                                                                             \
        "verbose", 'v', OPTION_COUNT, offsetof(type, target.verbose), NULL, NULL, \
            "Say more of what is done."                                           \
    }
#define TARGET_CACHE_OPTION(type)                                                              \
    {                                                                                          \
        "no-config-cache", 0, OPTION_FLAG, offsetof(type, target.no_config_cache), NULL, NULL, \
            "Changes nothing: there is no cache, the cloud is always asked. "                  \
            "Ray has this option."                                                             \
    }
#define TARGET_USAGE_OPTION(type)                                                                 \
    {                                                                                             \
        "disable-usage-stats", 0, OPTION_FLAG, offsetof(type, target.no_usage_stats), NULL, NULL, \
            "Start Ray without its collection of usage statistics."                               \
    }
/* Three rows. */
#define TARGET_LOG_OPTIONS(type)                                                  \
    {"log-style",                                                                 \
     0,                                                                           \
     OPTION_CHOICE,                                                               \
     offsetof(type, target.log_style),                                            \
     "STYLE",                                                                     \
     target_log_styles,                                                           \
     "record: one line per change even on a terminal. auto and pretty: a "        \
     "picture that is redrawn, on a terminal."},                                  \
        {"log-color",                                                             \
         0,                                                                       \
         OPTION_CHOICE,                                                           \
         offsetof(type, target.log_color),                                        \
         "WHEN",                                                                  \
         target_log_colours,                                                      \
         "As --color, in Ray's words: auto, false or true."},                     \
    {                                                                             \
        "verbose", 'v', OPTION_COUNT, offsetof(type, target.verbose), NULL, NULL, \
            "Say more of what is done; twice: every call."                        \
    }

struct target {
    struct cli cli; /* with the colours that were asked for */
    const struct target_fields *given;
    struct input input;
    const struct config *config;
    struct cloud_session session;
    struct launcher_setup setup; /* `session`, `config`, paths and profile are set */
};

/* Both: 0, or the exit status after it has said what is wrong. Opening reads the file; after
 * connecting there is a session, and Ctrl-C belongs to it. Nobody is asked yet. */
int target_open(struct target *target, const struct cli *cli, const struct target_fields *given,
                enum input_depth depth) MUST_USE;
int target_connect(struct target *target) MUST_USE;
void target_close(struct target *target); /* also one that could not be opened; also twice */

/* All of it for a verb that reads the file as Ray does: opened, connected, worked on, closed. */
typedef int target_work_fn(struct target *target, const void *fields);
int target_work(const struct cli *cli, const struct target_fields *given, target_work_fn *work,
                const void *fields) MUST_USE;

/* A warning unless the head's set-up has ended well. */
void target_warn_of_set_up(const struct target *target, const struct launcher_head *head);

/* Prints it; the exit status for it: 130 for Ctrl-C. */
int target_fail(const struct target *target, const struct err *err);

/* The head and how to reach it (NULL: not asked for); ERR_NOT_FOUND says how to start one. */
bool target_find(struct target *target, struct launcher_head *ret_head, struct ssh_place *ret_place,
                 struct err *err) MUST_USE;

/* "aws us-west-2" */
struct str target_where(const struct target *target);

/* "cluster.yaml", with -n NAME when that was given: for commands that are suggested. */
struct str target_words(const struct target *target);

/* Do we have a terminal on both sides, for a shell over there? */
bool target_has_terminal(void);

/*
 * The way to the head for a program in the foreground. A shared connection is quick, but what holds
 * it goes on in the background with the descriptors that it was given: whoever reads our output
 * from a pipe would wait for its end, and forwarded ports would stay open. So only terminals share.
 */
struct ssh_place target_way(const struct ssh_place *place, bool has_forwards);

/* Closes the session and gives the terminal to a program; the exit status. */
int target_run(struct target *target, const char *const *argv) MUST_USE;
/* Prints "-> ssh ..." with -v. */
void target_show_words(const struct target *target, const char *const *argv);
