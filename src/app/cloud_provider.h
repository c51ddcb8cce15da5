/*
 * cloud_provider.h: opens the provider of a cluster file on a session.
 *
 * Precedence of AWS credentials: a profile from the command line, keys in the file
 * (provider.aws_credentials, as in Ray), a profile in the file (provider.aws_profile), the
 * environment and the shared files.
 */
#pragma once

#include "app/cloud_session.h"
#include "app/cluster_state.h"
#include "config/config.h"
#include "provider/provider.h"

/* False, with the reason: the provider of this file cannot be used. */
bool cloud_provider_supports(const struct config *config, struct err *err) MUST_USE;

/*
 * `profile` comes from the command line; empty if not given. The provider points into `arena` and
 * the configuration, which must both outlive it. Close it with its own close(). Sends no request.
 */
bool cloud_provider_open(struct cloud_session *session, const struct config *config,
                         struct str profile, struct arena *arena, struct provider **ret_provider,
                         struct err *err) MUST_USE;

/* The client of AWS behind this provider; NULL if it is another cloud's. */
struct aws_client *cloud_provider_aws(struct provider *provider);

/* The service on the head: its folder, and the key that reaches the workers. */
struct cloud_provider_head {
    const struct cluster_state *state;
    const char *identity;
    struct str type_images; /* of the handover (app/type_zones.h) */
};

/* The same. `head` is NULL except in that service. */
bool cloud_provider_open_on(struct cloud_session *session, const struct config *config,
                            struct str profile, const struct cloud_provider_head *head,
                            struct arena *arena, struct provider **ret_provider,
                            struct err *err) MUST_USE;

/* Copies `env`, with the variables replaced that the file's aws_credentials override. */
aws_environ cloud_provider_environ(aws_environ env, const struct value *provider,
                                   struct arena *arena);

/* The profile to use; empty to leave the choice to the environment. */
struct str cloud_provider_profile(const struct value *provider, struct str asked);

/* The IAM policy that a user needs to launch this file, as JSON. Sends no request. */
bool cloud_provider_policy(const struct config *config, struct arena *arena, struct str *ret_policy,
                           struct err *err) MUST_USE;
