/*
 * probe.h: what a preflight asks Google, the answers, and the findings.
 *
 * All questions are asked at once; only those about the project's default service account need a
 * second round, unless there is the account of Ray's launcher. The findings are pure.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "provider/gcp/gcp_operation.h"

enum probe_kind {
    PROBE_TYPE, /* a machine type in a zone */
    PROBE_GPU,  /* an accelerator type in a zone */
    PROBE_IMAGE,
    PROBE_PROJECT,
    PROBE_REGION,
    PROBE_SUBNETWORK,
    PROBE_NETWORK,
    PROBE_NAMED,       /* instances with the cluster's name */
    PROBE_PERMISSIONS, /* of the caller */
    PROBE_POLICY,      /* roles of the project */
    PROBE_ORG_POLICY,  /* a policy of the organization */
    PROBE_ACCOUNT,     /* the head's service account */
    PROBE_ACT_AS,      /* may the caller use it? */
};

struct probe_answer {
    enum probe_kind kind;
    struct str about; /* the name of the type, or the path */
    size_t zone;
    const json_t *body; /* owned by the operation; NULL: refused, or no reply */
    struct gcp_failure failure;
    struct err err;
};

struct probe {
    struct gcp_operation *operation;
    struct gcp_provider *provider;
    struct arena *arena; /* of the operation */
    enum preflight_scope scope;
    struct probe_answer *answers;
    size_t answer_count, answer_space, pending;
    struct str account; /* the head's service account; empty: not known */
    bool is_rays;       /* it is the one that Ray's launcher made in this project */
    struct finding *findings;
    size_t finding_count;
};

/* NULL: not asked. */
const struct probe_answer *probe_find(const struct probe *probe, enum probe_kind kind,
                                      struct str about, size_t zone);
/* The reply; NULL: not asked, or refused. */
const json_t *probe_body(const struct probe *probe, enum probe_kind kind);

struct finding *probe_add(struct probe *probe, enum finding_level level, const char *subject,
                          const char *fmt, ...) PRINTF_LIKE(4, 5);
/* "not checked: ...", if the question was refused. */
void probe_note(struct probe *probe, const char *subject, const struct probe_answer *answer);
/* "available_node_types.NAME.node_config.KEY" */
struct str probe_path(const struct probe *probe, size_t type, const char *key);

/* ---- the file ---- */

struct str probe_type(const struct probe *probe, size_t type);   /* machine type */
struct str probe_image(const struct probe *probe, size_t type);  /* path; empty: none */
struct str probe_subnet(const struct probe *probe, size_t type); /* path; empty: none */
struct str probe_network(const struct probe *probe, size_t type);
/* Of the first network interface, by Google's answer; empty: there is none, or it is unknown. */
struct str probe_rules_network(const struct probe *probe);
struct str probe_private_subnet(const struct probe *probe, size_t type);
const struct param *probe_gpus(const struct probe *probe, size_t type); /* first; NULL: none */
struct str probe_gpu(const struct param *gpu);
struct str probe_region(const struct probe *probe);
bool probe_is_spot(const struct probe *probe, size_t type);
int64_t probe_addresses(const struct probe *probe, size_t type); /* public ones of a node */
bool probe_is_shielded(const struct probe *probe, size_t type);
const struct param *probe_account(const struct probe *probe); /* of the head; NULL: none */

/* ---- questions and findings ---- */

void probe_ask_all(struct probe *probe);
void probe_ask_account(struct probe *probe, struct str email);
struct str probe_rays_account(const struct probe *probe);
bool probe_can_use(const struct probe *probe, struct str email); /* it exists, with a role */
void probe_judge_machines(struct probe *probe); /* types, GPUs, images; and the facts */
void probe_judge_places(struct probe *probe);   /* zones, networks, other launchers */
void probe_judge_private(struct probe *probe);  /* firewall, no public addresses */
void probe_judge_quotas(struct probe *probe);
void probe_judge_access(struct probe *probe); /* permissions, service account, OS Login */
void probe_judge_policies(struct probe *probe);
struct str probe_policy(size_t index); /* a constraint that matters; empty: no more */
