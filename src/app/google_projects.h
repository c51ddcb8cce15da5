/*
 * google_projects.h: where `ls` and `gc` look for Google Cloud if the user names no project. Reads
 * files of this machine only.
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"
#include "provider/gcp/credentials/gcp_credentials.h"

#include <stdbool.h>
#include <stddef.h>

enum { GOOGLE_PROJECTS_MAX = 32 };

struct google_projects {
    bool has_credentials; /* there may be some; otherwise, Google is not asked for any */
    bool is_configured;   /* the environment names a project */
    /* Of clusters that were started from this machine, as far as their files are still there. */
    struct str of_clusters[GOOGLE_PROJECTS_MAX];
    size_t count;
};

void google_projects_find(const struct gcp_setup *setup, struct arena *arena,
                          struct google_projects *ret_projects);

/* "my-project-1", also "example.com:my-project". */
bool google_project_is_id(struct str text);

/* "us-west1", whereas a region of AWS is "us-west-2". */
bool google_region_is_name(struct str text);
