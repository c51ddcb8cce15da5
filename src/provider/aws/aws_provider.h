/* aws_provider.h: the AWS implementation of provider.h. */
#pragma once

#include "provider/aws/client/aws_client.h"
#include "provider/provider.h"

/* Takes ownership of the client. `cluster` must outlive the provider. */
bool aws_provider_open(struct aws_client *client, const struct aws_client_setup *setup,
                       const struct provider_cluster *cluster, struct provider **ret_provider,
                       struct err *err) MUST_USE;

struct aws_client *aws_provider_client(struct provider *provider);
