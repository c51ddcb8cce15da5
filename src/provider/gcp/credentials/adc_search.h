/*
 * adc_search.h: where google-auth looks for credentials and for the project, as the environment
 * says. Pure: the caller reads the files.
 *
 * The order: the file of GOOGLE_APPLICATION_CREDENTIALS, which must be readable if it is set;
 * gcloud's own file, if there is one; the metadata server of a VM.
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

struct adc_search {
    struct str named_path;  /* GOOGLE_APPLICATION_CREDENTIALS; empty: not set */
    struct str gcloud_path; /* gcloud's application default credentials */
    struct str folder;      /* gcloud's configuration */
    struct str project;     /* set by the user; empty: found elsewhere */
    struct str quota_project;
    bool has_metadata; /* false: NO_GCE_CHECK */
    struct str metadata_ip;
    struct str metadata_host;
    int64_t metadata_ms; /* for one request */
    unsigned ping_tries;
};

/* `env` is a list as in variable.h. */
void adc_search_plan(const char *const *env, struct arena *arena, struct adc_search *ret_search);

/* The project of `gcloud config get project`, without running it: CLOUDSDK_CORE_PROJECT, otherwise
 * from the active configuration. The paths are relative to `folder`; empty: no such file. */
struct str adc_gcloud_active_path(void);
struct str adc_gcloud_config_path(const char *const *env, struct str active_file,
                                  struct arena *arena);
struct str adc_gcloud_project(struct str config_file); /* a view; empty: none */
