/* input.h: reads and checks the FILE of a verb, for every verb that takes a cluster file. */
#pragma once

#include "base/err.h"
#include "cli/verb.h"
#include "config/config.h"

enum input_depth {
    INPUT_AS_RAY,  /* errors that Ray would reject */
    INPUT_CHECKED, /* also report errors that would show only after launch */
};

struct input {
    struct source source;
    struct diag_list diags;      /* findings in file order */
    const struct config *config; /* NULL if there are errors */
};

/* Command line values that override the file. */
struct input_overrides {
    struct str cluster_name;    /* may be empty */
    const int64_t *min_workers; /* NULL: not set */
    const int64_t *max_workers;
    double keep_failed_minutes; /* 0: not set */
};

/* False if the file cannot be read; errors in its content are in `diags`. */
bool input_read(const struct cli *cli, const char *file, enum input_depth depth,
                struct input *ret_input, struct err *err) MUST_USE;

/* Also false for overrides that do not fit the file. */
bool input_read_as(const struct cli *cli, const char *file, enum input_depth depth,
                   const struct input_overrides *overrides, struct input *ret_input,
                   struct err *err) MUST_USE;

/* A cluster of which only the name and the place are known, enough to find and remove it. With a
 * `project` it is on Google Cloud, and the region may be empty; otherwise on AWS. False for a name
 * that Ray would reject too. */
bool input_read_named(const struct cli *cli, struct str name, struct str region, struct str project,
                      struct input *ret_input, struct err *err) MUST_USE;

/* "us-west-2": lower-case letters, digits and dashes. */
bool input_is_region(struct str name);

/* Sorts the findings by position and removes duplicates. */
void input_settle(struct diag_list *diags);

/* Prints them to standard error, for verbs with other output. */
void input_print_findings(const struct cli *cli, const struct diag_list *diags);
