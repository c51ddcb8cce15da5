/*
 * gcp_account_read.h: extracts cluster resources from Google's listings. Pure.
 *
 * A listing with an item without a name is rejected as a whole. Resources without Ray's or Shoal's
 * labels are skipped. A uid counts only if it looks like one of Shoal's: people may write labels.
 * Strings are copied, except the project.
 */
#pragma once

#include "base/attr.h"
#include "base/err.h"
#include "provider/account.h"

#include <jansson.h>

/* `items` are all items of a listing. */
typedef bool gcp_account_read_fn(struct account_basket *basket, struct str project, json_t *items,
                                 struct err *err);

/* Also the disks of instances of Ray, which have no labels. */
bool gcp_account_read_instances(struct account_basket *basket, struct str project, json_t *items,
                                struct err *err) MUST_USE;
bool gcp_account_read_disks(struct account_basket *basket, struct str project, json_t *items,
                            struct err *err) MUST_USE;
bool gcp_account_read_rules(struct account_basket *basket, struct str project, json_t *items,
                            struct err *err) MUST_USE;
/* Of each cluster's record, only the newest version. */
bool gcp_account_read_templates(struct account_basket *basket, struct str project, json_t *items,
                                struct err *err) MUST_USE;
