/*
 * preflight.h: detects, before a launch, everything that would fail after it: problems that the
 * provider finds in the cloud, and what this machine and this release lack for the file.
 *
 * `check`, `plan` and `up` all start with it, so their findings agree.
 */
#pragma once

#include "app/payload.h"
#include "config/config.h"
#include "provider/provider.h"

/*
 * Like preflight() of provider.h, with additional findings. The arguments of `done` are valid
 * during the call. Closing the provider cancels it without a call; `arena` must live until then.
 */
void preflight_run(struct provider *provider, const struct config *config,
                   enum preflight_scope scope, struct arena *arena, provider_preflight_fn *done,
                   void *context);

/* The findings that need no cloud access, given the facts about each node type. */
struct preflight_findings {
    struct finding *items;
    size_t count;
};

struct preflight_findings preflight_local(const struct config *config,
                                          const struct provider_type_facts *types,
                                          const struct payload_places *places, struct arena *arena);
