/* aws_provider.h: AWS behind provider.h. */
#pragma once

#include "provider/aws/client/aws_client.h"
#include "provider/provider.h"

/* Takes over the client and closes it. `cluster` must outlive the provider. */
bool aws_provider_open(struct aws_client *client, const struct aws_client_setup *setup,
                       const struct provider_cluster *cluster, struct provider **ret_provider,
                       struct err *err) MUST_USE;
