/*
 * cluster_folder.h: where a cluster's records are on this machine, and whose cluster it is.
 *
 * Two AWS accounts, Google projects or heads of own machines may have clusters of one name. Each
 * of these owners has a folder of its own: the first one aws-us-west-2-NAME, every other one
 * aws-us-west-2-NAME@HASH. The file `owner` in it says whose it is; it is written before anything
 * else. The owner is known from the cluster file, or from the cloud once it was asked
 * (owner() of provider.h; config->owner).
 *
 * Records without this file are of an older release. They belong to the account or project that
 * has their cluster's uid (launch/adopt.h).
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"
#include "config/config.h"

enum { CLUSTER_OWNER_MAX = 300 };

struct cluster_folder {
    const char *path; /* may not exist */
    bool has_records; /* a key or a journal is there */
    bool is_unowned;  /* the records do not say whose they are */
    /* Owner of other records of this name; empty if there are none. */
    struct str other;
    size_t count; /* folders of this name */
};

/* The folder of the config's owner. If the owner is not known, the only one of this name, or the
 * first. Asks no cloud. */
struct cluster_folder cluster_folder_find(const struct config *config, struct arena *arena);

/* "account 123456789012", "project x", "head 10.0.0.5"; empty if only the cloud knows it. Owners
 * are one line without control characters. */
struct str cluster_folder_owner(const struct config *config, struct arena *arena);
/* Sets the owner that the cloud named. */
void cluster_folder_know(const struct config *config, struct str owner, struct arena *arena);

/* Writes the owner into a folder that exists. ERR_EXISTS: it is another owner's by now. */
bool cluster_folder_claim(const char *path, struct str owner, struct err *err) MUST_USE;

/* The owner in a folder; empty if it has none. */
struct str cluster_folder_read(const char *path, struct arena *arena);

/* Every folder of the cluster's name, provider and region. */
typedef void cluster_folder_fn(void *context, const char *path);
void cluster_folder_each(const struct config *config, struct arena *arena, cluster_folder_fn *take,
                         void *context);

/* The folder that contains those of all clusters. */
struct str cluster_folder_home(struct arena *arena);
/* A folder's name without the hash of its owner. */
struct str cluster_folder_plain(struct str name);
