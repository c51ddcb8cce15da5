/* gcp_provider.h: opens the Google Compute Engine provider. */
#pragma once

#include "base/attr.h"
#include "base/err.h"
#include "provider/gcp/credentials/gcp_credentials.h"
#include "provider/provider.h"

/* Makes no calls. `setup` and what it points to must outlive the provider. */
bool gcp_provider_open(const struct gcp_setup *setup, uint64_t seed,
                       const struct provider_cluster *cluster, struct provider **ret_provider,
                       struct err *err) MUST_USE;
