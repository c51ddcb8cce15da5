/*
 * profile.h: a user's shared AWS configuration: the two files and the environment, merged as in
 * botocore.
 *
 * Nothing here opens a file or reads the process environment: the caller gets the paths, reads the
 * files and passes their contents.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"
#include "provider/aws/config/ini.h"
#include "provider/variable.h"

#include <stdbool.h>
#include <stddef.h>

/* "NAME=value" strings, ends with NULL, like environ. */
typedef const char *const *aws_environ;

/* Not expanded: may start with "~" or contain "$NAME". Empty: no file. */
struct str aws_config_path(aws_environ env);
struct str aws_credentials_path(aws_environ env);

struct aws_profile_input {
    aws_environ environ;
    struct str named;  /* profile selected by the user; empty: from the environment */
    struct str config; /* contents of the files */
    struct str credentials;
    bool has_config; /* false: the file does not exist */
    bool has_credentials;
};

struct aws_profile {
    struct str name;
    const struct ini_section *config;      /* NULL: only in the other file */
    const struct ini_section *credentials; /* NULL: only in the other file; takes precedence */
};

struct aws_profiles {
    aws_environ environ;
    struct ini config;
    struct ini credentials;
    struct aws_profile *items;
    size_t count;
    struct aws_profile *sso_sessions; /* [sso-session NAME] in the configuration file */
    size_t sso_session_count;
    struct str active;     /* name of the selected profile */
    bool is_named_by_user; /* keys in the environment are ignored then */
};

/* Fails if a file is invalid or the selected profile is in neither file. */
bool aws_profiles_load(const struct aws_profile_input *input, struct arena *arena,
                       struct aws_profiles *ret_profiles, struct err *err) MUST_USE;

/* NULL if there is none. */
const struct aws_profile *aws_profile_find(const struct aws_profiles *profiles, struct str name);

/* NULL if the profile does not have it, or is NULL. */
const struct ini_option *aws_profile_option(const struct aws_profiles *profiles,
                                            const struct aws_profile *profile, const char *name);

/* AWS_REGION, AWS_DEFAULT_REGION, then the selected profile's region; empty if none is set. */
struct str aws_region(const struct aws_profiles *profiles);
