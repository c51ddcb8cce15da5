/* check.h: the parts of config_check(), one per file; each checks one aspect of a cluster file. */
#pragma once

#include "config/catalog/catalog.h"
#include "config/document/diag.h"
#include "config/document/value.h"
#include "config/host.h"

/* The input of a check. `user_place` converts a place in our defaults to one in the user's file. */
struct check {
    const struct value *tree;
    const struct host *host;
    struct diag_list *diags;
    struct arena *arena;
    struct place fallback;
};

/* The node types of a possibly invalid tree. Never fails. */
const struct value *check_node_types(const struct check *check);
bool check_is_head(const struct check *check, const struct value_entry *type);

/* True if the user wrote this; false for one of our defaults. */
bool check_is_written(const struct value *value);

/* Compares the keys of a node_config with the launch parameters of the cloud's API. */
void check_params(const struct check *check, enum catalog_api api, const struct value *node);

void check_files(const struct check *check);    /* file mounts, ssh keys */
void check_commands(const struct check *check); /* setup and start commands */
void check_workers(const struct check *check);  /* impossible counts */
void check_names(const struct check *check);    /* cluster name, dates where text is expected */
void check_aws(const struct check *check);      /* machine types, RunInstances parameters */
void check_gcp(const struct check *check);      /* machine types, Instance fields, labels, TPUs */
void check_region(const struct check *check);   /* regions and zones of AWS */
bool check_region_is_known(struct str region);
struct str check_region_nearest(struct str region); /* may be empty */
void check_release(const struct check *check);      /* unsupported or alpha features, old Ray */
void check_clouds(const struct check *check);       /* keys that a provider requires */
