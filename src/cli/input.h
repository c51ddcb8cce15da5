/* input.h: the FILE of a verb, read and judged; every verb that takes a cluster file begins so. */
#pragma once

#include "base/err.h"
#include "cli/verb.h"
#include "config/config.h"

enum input_depth {
    INPUT_AS_RAY,  /* what Ray would reject */
    INPUT_CHECKED, /* also what would fail after launch */
};

struct input {
    struct source source;
    struct diag_list diags;      /* in the order of the file */
    const struct config *config; /* NULL when there are errors */
};

/* What the command line says instead of the file. */
struct input_overrides {
    struct str cluster_name;    /* empty: none */
    const int64_t *min_workers; /* NULL: none */
    const int64_t *max_workers;
};

/* False when there is no such file; what is wrong inside it is among the findings. */
bool input_read(const struct cli *cli, const char *file, enum input_depth depth,
                struct input *ret_input, struct err *err) MUST_USE;

/* Also false for overrides that do not fit the file. */
bool input_read_as(const struct cli *cli, const char *file, enum input_depth depth,
                   const struct input_overrides *overrides, struct input *ret_input,
                   struct err *err) MUST_USE;

/* The findings of one file in its order, each mistake once. */
void input_settle(struct diag_list *diags);

/* On standard error, for verbs whose output is something else. */
void input_print_findings(const struct cli *cli, const struct diag_list *diags);
