/*
 * gcp_names.h: how the resources around a cluster say whose they are. Pure.
 *
 * A name of a resource contains a part of the cluster's name with a hash. Firewall rules have no
 * labels: the cluster's name and uid are in the description. The lease is a record in the metadata
 * of an instance template (cluster/record_chain.c).
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"

#include <jansson.h>
#include <stdint.h>

#define GCP_RECORD_KEY "shoal-record"

/* The beginning of the name with the characters that Google allows, and a hash of the whole. */
struct str gcp_name_part(struct str name, struct arena *arena);

/* "shoal-PART-UID": the beginning of the names of rules. */
struct str gcp_rule_prefix(struct str part, struct str uid, struct arena *arena);
struct str gcp_rule_description(struct str name, struct str uid, struct arena *arena);
/* The cluster's uid and name in a description; empty: none. A long name is cut off. */
struct str gcp_rule_uid(struct str description);
struct str gcp_rule_cluster(struct str description);

/* The version of the record in the template with this name; 0: it is not one of a cluster with this
 * part. */
int64_t gcp_record_version(struct str name, struct str part);
/* The record in a template, to be freed; NULL: none. */
json_t *gcp_record_parse(const json_t *template);
