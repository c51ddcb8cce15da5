/*
 * gcp_instance.h: instances and listings in Google's replies, and tags as labels. Pure.
 *
 * Labels have neither capitals nor dots. A tag that is not a label is in the metadata, in one item
 * with all of them as JSON; a tag there replaces a label of that name.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "provider/provider.h"

#include <jansson.h>

#define GCP_TAGS_KEY "shoal-tags"         /* metadata: the other tags */
#define GCP_TOKEN_LABEL "shoal-token"     /* token of the launch */
#define GCP_CLUSTER_LABEL "shoal-cluster" /* hash of the cluster's name */
#define GCP_CALL_LABEL "shoal-call"       /* hash of the draft */
#define GCP_RESTS_LABEL "shoal-rests"     /* the start after which Shoal stopped it */

/* Adds the items of one page to the array `items`. `kind` is the key in the entry of each zone;
 * NULL: the list is of one place. `ret_next` points into `body`; empty: the last page. Fails if the
 * list is not complete. */
bool gcp_page_read(const json_t *body, const char *kind, json_t *items, struct str *ret_next,
                   struct err *err) MUST_USE;
/* The same for a list that need not be complete: adds the places that it lacks to the array
 * `missed`, each once: "us-central1-a"; "" if Google does not say which. */
bool gcp_page_read_some(const json_t *body, const char *kind, json_t *items, json_t *missed,
                        struct str *ret_next, struct err *err) MUST_USE;

/* The strings point into `item`, which must live as long; the tags are in `arena`. */
bool gcp_instance_read(json_t *item, struct arena *arena, struct machine *ret_machine,
                       struct err *err) MUST_USE;

/* The tag of an instance that is about to be stopped. One without it has stopped itself. */
struct machine_tag gcp_rests_tag(const struct machine *machine, struct arena *arena);

/* "https://.../zones/us-central1-a" -> "us-central1-a". */
struct str gcp_last_word(struct str url);

/* "us-central1-a" -> "us-central1"; empty if it is not a zone. */
struct str gcp_region_of(struct str zone);

/* Seconds since 1970; 0: no such time. */
int64_t gcp_moment(const json_t *item, const char *key);

/* Letters, digits and '-', as Google allows in the name of a resource. */
bool gcp_is_name(struct str text);

/* Fits in a label, as its key or its value. */
bool gcp_is_label(struct str text, bool is_key);

/* The value of an item of the metadata; empty: none. */
struct str gcp_metadata_get(const json_t *items, const char *key);
void gcp_metadata_set(json_t *items, const char *key, struct str value);

/* Adds tags: as labels to `labels`, or to the item of the metadata `items`. True if the metadata
 * changed. */
bool gcp_tags_add(json_t *labels, json_t *items, const struct machine_tag *tags, size_t count);
