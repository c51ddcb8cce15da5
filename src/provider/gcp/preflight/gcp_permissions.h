/*
 * gcp_permissions.h: the permissions that a user needs in the project, and what each is for.
 *
 * `shoal check` asks which of them are granted; `shoal policy` writes them as a custom role.
 */
#pragma once

#include "base/buf.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

struct gcp_permission {
    const char *name;
    const char *what; /* "create instances" */
    bool is_local;    /* may be granted on one resource instead of the project */
};

extern const struct gcp_permission gcp_permissions[];
extern const size_t gcp_permission_count;

#define GCP_ACT_AS "iam.serviceAccounts.actAs"

/* The file of `gcloud iam roles create`. */
void gcp_role_write(struct str cluster, struct buf *out);
