/*
 * account_read.h: extracts cluster resources from EC2 and IAM replies.
 *
 * A listing with an item without id is rejected as a whole. Resources without Ray's or Shoal's tags
 * are skipped, except volumes, which are found through their machines.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "provider/account.h"
#include "provider/aws/machines/instance_reply.h"
#include "provider/aws/wire/xml_tree.h"

#define ACCOUNT_TAG_NAME "ray-cluster-name"
#define ACCOUNT_TAG_KIND "ray-node-type"
#define ACCOUNT_TAG_STATUS "ray-node-status"

/* The strings of the records must outlive the basket. */
void account_add_machines(struct account_basket *basket, struct str region,
                          const struct instance_list *list);

/* Each reads one page of a listing. Strings are copied, except the region. */
typedef bool account_read_fn(struct account_basket *basket, struct str region,
                             const struct xml_element *root, struct err *err);

bool account_read_groups(struct account_basket *basket, struct str region,
                         const struct xml_element *root, struct err *err) MUST_USE;
bool account_read_keys(struct account_basket *basket, struct str region,
                       const struct xml_element *root, struct err *err) MUST_USE;
bool account_read_templates(struct account_basket *basket, struct str region,
                            const struct xml_element *root, struct err *err) MUST_USE;
bool account_read_volumes(struct account_basket *basket, struct str region,
                          const struct xml_element *root, struct err *err) MUST_USE;

/* ---- IAM, whose listings have no tags ---- */

bool account_read_roles(struct account_basket *basket, const struct xml_element *root,
                        struct err *err) MUST_USE;
bool account_read_profiles(struct account_basket *basket, const struct xml_element *root,
                           struct err *err) MUST_USE;

/* The owner in a reply to ListRoleTags or ListInstanceProfileTags. */
struct account_owner account_read_tags(const struct account_basket *basket,
                                       const struct xml_element *root);

/* ---- regions ---- */

/* The enabled regions in a reply to DescribeRegions, sorted. */
bool account_read_regions(const struct xml_element *root, struct arena *arena,
                          struct str **ret_regions, size_t *ret_count, struct err *err) MUST_USE;
