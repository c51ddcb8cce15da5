/* check.h: the parts of config_check(), one per file; each looks at one side of a cluster file. */
#pragma once

#include "config/document/diag.h"
#include "config/document/value.h"
#include "config/host.h"

/* What a check is given. `user_place` turns a place in our defaults into one in the user's file. */
struct check {
    const struct value *tree;
    const struct host *host;
    struct diag_list *diags;
    struct arena *arena;
    struct place fallback;
};

/* Node types of a tree that may be broken: never fails, gives what is there. */
const struct value *check_node_types(const struct check *check);
bool check_is_head(const struct check *check, const struct value_entry *type);

/* Did the user write this, or is it one of our defaults? */
bool check_is_written(const struct value *value);

void check_files(const struct check *check);    /* file mounts, ssh keys */
void check_commands(const struct check *check); /* set-up and start commands */
void check_workers(const struct check *check);  /* counts that cannot come true */
void check_names(const struct check *check);    /* cluster name, dates where text was meant */
void check_aws(const struct check *check);      /* machine types, RunInstances parameters */
void check_clouds(const struct check *check);   /* what a provider cannot do without */
