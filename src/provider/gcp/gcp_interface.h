/* gcp_interface.h: the operations of provider.h on GCE. Each file defines those of its name. */
#pragma once

#include "provider/provider.h"

void gcp_preflight(struct provider *base, enum preflight_scope scope, provider_preflight_fn *done,
                   void *context);
size_t gcp_zones(struct provider *base, size_t type, struct str *ret_zones, size_t most);
struct provider_type_facts gcp_type_facts(struct provider *base, size_t type);
void gcp_take(struct provider *base, const struct take_request *request, provider_lease_fn *done,
              void *context);
void gcp_renew(struct provider *base, int64_t lease_ms, provider_lease_fn *done, void *context);
void gcp_release(struct provider *base, provider_done_fn *done, void *context);
void gcp_prepare(struct provider *base, struct str key, provider_resources_fn *done, void *context);
void gcp_admit(struct provider *base, provider_resources_fn *done, void *context);
void gcp_find(struct provider *base, provider_found_fn *done, void *context);
void gcp_adopt(struct provider *base, struct str uid);
void gcp_remove(struct provider *base, provider_resources_fn *done, void *context);
void gcp_list(struct provider *base, provider_machines_fn *done, void *context);
void gcp_list_by(struct provider *base, const struct machine_query *query,
                 provider_machines_fn *done, void *context);
bool gcp_draft(struct provider *base, const struct launch_request *request, struct arena *arena,
               struct str *ret_call, struct err *err);
void gcp_launch(struct provider *base, struct str call, provider_machines_fn *done, void *context);
void gcp_terminate(struct provider *base, const struct str *ids, size_t count,
                   provider_done_fn *done, void *context);
void gcp_stop(struct provider *base, const struct str *ids, size_t count, provider_done_fn *done,
              void *context);
void gcp_start(struct provider *base, const struct str *ids, size_t count, provider_done_fn *done,
               void *context);
void gcp_host_key(struct provider *base, struct str id, struct str zone, struct str address,
                  provider_host_key_fn *done, void *context);
void gcp_tag_all(struct provider *base, const struct str *ids, size_t count,
                 const struct machine_tag *tags, size_t tag_count, provider_done_fn *done,
                 void *context);
void gcp_note_all(struct provider *base, const struct str *ids, size_t count,
                  const struct machine_tag *tags, size_t tag_count, provider_done_fn *done,
                  void *context);
