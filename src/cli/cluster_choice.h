/*
 * cluster_choice.h: which cluster a command is about when the command line does not name a file.
 *
 *     shoal status                  $SHOAL_CLUSTER, else ./cluster.yaml
 *     shoal status demo             the file that `shoal up` last used for the cluster demo
 *     shoal exec 'ray status'       the default again: the word is not a cluster
 */
#pragma once

#include "app/cluster_state.h"

/* The fallback of operands that take a cluster (verb.h): the default, or NULL if the word itself is
 * a cluster or there is no default. */
const char *cluster_choice(const char *word, bool is_short);

/* Says that there is no default. */
extern const char *const cluster_choice_missing;

/* Is it a name, and not a file? Then the one cluster of that name that this machine knows. False
 * with ERR_NONE: take it as a file. False with an error: several regions have one. */
bool cluster_choice_named(const char *word, struct arena *arena, struct cluster_known *ret_known,
                          struct err *err) MUST_USE;
