/*
 * cloud_provider.h: the provider that a cluster file asks for, opened on a session.
 *
 * Which credentials count for aws, from strongest to weakest: a profile from the command line, keys
 * in the file (provider.aws_credentials, as in Ray), a profile in the file (provider.aws_profile),
 * the environment and the shared files.
 */
#pragma once

#include "app/cloud_session.h"
#include "config/config.h"
#include "provider/provider.h"

/* Is there a provider for files of this type yet? */
bool cloud_provider_knows(struct str type);

/*
 * `profile` comes from the command line; empty: none. Everything lives in `arena` and in the
 * configuration, which must both outlive the provider. Close it with its own close(). Asks nobody.
 */
bool cloud_provider_open(const struct cloud_session *session, const struct config *config,
                         struct str profile, struct arena *arena, struct provider **ret_provider,
                         struct err *err) MUST_USE;

/* The variables of `env` with those instead that the file's aws_credentials stand for. */
aws_environ cloud_provider_environ(aws_environ env, const struct value *provider,
                                   struct arena *arena);

/* The profile to use; empty: as the environment says. */
struct str cloud_provider_profile(const struct value *provider, struct str asked);
