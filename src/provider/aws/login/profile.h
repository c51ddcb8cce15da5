/*
 * profile.h: the shared configuration of a user of AWS: the two files and the environment, put
 * together as botocore does it.
 *
 * Nothing here opens a file or reads the process's environment: the caller asks where the files
 * are, reads them and hands over what they hold.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"
#include "provider/aws/login/ini.h"

#include <stdbool.h>
#include <stddef.h>

/* "NAME=value" texts and a NULL, as the C library's environ. */
typedef const char *const *aws_environ;

/* The value, or NULL when the name is not set. An empty value is set. */
const char *aws_variable(aws_environ env, const char *name);

/* Not expanded: may start with "~", may hold "$NAME". Empty: there shall be no file. */
struct str aws_config_path(aws_environ env);
struct str aws_credentials_path(aws_environ env);

struct aws_profile_input {
    aws_environ environ;
    struct str named;  /* the profile the user asked for; empty: as the environment says */
    struct str config; /* what the files hold */
    struct str credentials;
    bool has_config; /* false: there is no such file */
    bool has_credentials;
};

struct aws_profile {
    struct str name;
    const struct ini_section *config;      /* NULL: only in the other file */
    const struct ini_section *credentials; /* likewise; its values win */
};

struct aws_profiles {
    aws_environ environ;
    struct ini config;
    struct ini credentials;
    struct aws_profile *items;
    size_t count;
    struct aws_profile *sso_sessions; /* [sso-session NAME] of the configuration file */
    size_t sso_session_count;
    struct str active;     /* the name of the profile in use */
    bool is_named_by_user; /* then keys in the environment do not count */
};

/* Fails when a file cannot be read or the profile asked for is in neither of them. */
bool aws_profiles_load(const struct aws_profile_input *input, struct arena *arena,
                       struct aws_profiles *ret_profiles, struct err *err) MUST_USE;

/* NULL when there is none of that name. */
const struct aws_profile *aws_profile_find(const struct aws_profiles *profiles, struct str name);

/* NULL when the profile does not have it, or is NULL. */
const struct ini_option *aws_profile_option(const struct aws_profiles *profiles,
                                            const struct aws_profile *profile, const char *name);

/* AWS_REGION, AWS_DEFAULT_REGION, then the active profile's region; empty when none says one. */
struct str aws_region(const struct aws_profiles *profiles);
