/*
 * preflight_evaluate.h: evaluates AWS's replies to a preflight: findings for the user and facts for
 * launches. Pure, so that every case can be tested without a cloud.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "provider/aws/aws_facts.h"
#include "provider/aws/preflight/ec2_reply.h"
#include "provider/aws/preflight/image.h"
#include "provider/aws/preflight/preflight_key.h"
#include "provider/aws/preflight/preflight_request.h"
#include "provider/aws/preflight/preflight_rights.h"
#include "provider/aws/wire/sts_reply.h"
#include "provider/provider.h"

#include <stdbool.h>
#include <stddef.h>

/* ---- calls ---- */

enum preflight_ask {
    ASK_IDENTITY,
    ASK_SUBNETS,
    ASK_GROUPS,
    ASK_IMAGES,
    ASK_TYPES,
    ASK_ZONES, /* the zones that offer the instance types */
    ASK_KEYS,
    ASK_PROFILES,
    ASK_TEMPLATES,   /* settings of launch templates; sent before all others */
    ASK_REGION,      /* all instance types of the region, if one is unknown */
    ASK_PARAMETERS,  /* SSM parameters of the newest images */
    ASK_NEW_IMAGES,  /* the newest images themselves */
    ASK_QUOTAS,      /* vCPU limits of the account */
    ASK_SPOT_ROLE,   /* whether the account can launch spot instances without further permissions */
    ASK_DRY_RUNS,    /* whether this identity may launch */
    ASK_NAMED,       /* instances with the cluster's name */
    ASK_HEAD_ROLE,   /* whether roles may be read, as `up` and `down` do */
    ASK_CALLER_ROLE, /* the ARN of the caller's role */
    ASK_RIGHTS,      /* what the caller may do in IAM */
    ASK_ENCRYPTION,  /* whether the account encrypts all new volumes */
    ASK_DISK_KEY,    /* with which key */
    ASK_FREE_TYPES,  /* all that an account on the free plan may launch */
    ASK_COUNT
};

/* The result of a call. If there are several calls, the first failure is kept. */
struct preflight_answer {
    bool was_asked;
    bool is_ok;
    bool is_denied;     /* permission denied */
    bool is_unknown;    /* unknown identity, or no credentials */
    struct str code;    /* AWS error code; may be empty */
    struct str message; /* AWS error message */
    struct err err;     /* unless ok */
};

struct preflight_profile {
    struct str name; /* requested name */
    struct iam_profile found;
    bool is_found;
    bool is_missing; /* AWS says that it does not exist; if neither is set: unknown */
};

struct preflight_parameter {
    struct image_parameter what;
    struct str arch; /* empty: the file names the parameter */
    bool has_gpus;
    struct str image; /* empty: unknown */
};

enum { PREFLIGHT_PARAMETERS_MAX = 8 };

#define SPOT_ROLE "AWSServiceRoleForEC2Spot"

struct quota;

struct preflight_quota {
    const struct quota *quota;
    int64_t limit;
    bool is_known;
};

/* EC2's reply to a dry run; without a code it was not sent. */
struct preflight_dry_run {
    struct str code, message;
    bool is_denied;
    bool is_vague; /* not about the request: no reply, no capacity, try later */
    bool is_full;  /* no capacity, or the quota is used up: that may change at any time */
};
/* The account is on AWS's free plan, and the instance type is not in it. */
bool preflight_is_free_plan(const struct preflight_dry_run *run);

/* Creating these resources may be denied. */
enum preflight_making { MAKING_LEASE, MAKING_GROUP, MAKING_KEY, MAKING_COUNT };
const char *preflight_making_action(enum preflight_making making); /* "CreateSecurityGroup" */
/* Instances with the cluster's name that Shoal did not launch. */
struct preflight_foreign {
    struct str vpc; /* of the cluster's own instances, above all of its head; may be empty */
    struct str *ids;
    size_t count, capacity;
};
bool preflight_foreign_read(struct ec2_pages pages, struct arena *arena,
                            struct preflight_foreign *ret_named, struct err *err) MUST_USE;

struct preflight_answers {
    struct preflight_answer answers[ASK_COUNT];
    struct str region;
    struct str source;  /* source of the credentials: "profile work: sso" */
    struct str sources; /* every source that was tried, one per line */
    struct sts_identity identity;
    struct ec2_subnets subnets;
    struct ec2_groups groups;
    struct ec2_images images;
    struct ec2_images new_images;
    struct ec2_types types;
    struct ec2_offerings zones;
    struct ec2_offerings region_types;
    struct ec2_keys keys;
    struct preflight_foreign named;
    struct preflight_profile *profiles; /* one for each profile in the request */
    const struct param **templates;     /* one for each node type; NULL: none or unknown */
    struct preflight_parameter parameters[PREFLIGHT_PARAMETERS_MAX];
    size_t parameter_count;
    enum preflight_key key_state; /* for auth.ssh_private_key */
    struct str key_half;
    struct preflight_quota *quotas;
    size_t quota_count;
    bool lacks_spot_role;
    struct preflight_rights rights[RIGHT_COUNT];
    struct str caller_role; /* ARN of the caller's role */
    bool encrypts;          /* all new volumes */
    struct str disk_key;    /* the account's default KMS key, if it is a customer's */
    struct ec2_types free_types;
    struct preflight_dry_run *dry_runs; /* one for each node type; NULL: not sent */
    struct preflight_dry_run makings[MAKING_COUNT];
    bool has_key_file; /* the key file of provider.key_pair exists, where Ray keeps it */
};

/* True if the region has this instance type, or if that is unknown. */
bool preflight_has_machine(const struct preflight_answers *answers, struct str machine);

/* ---- calls that depend on earlier replies ---- */

/* True if the region lacks an instance type of the file: its other types are listed then. */
bool preflight_needs_region(const struct preflight_request *request,
                            const struct preflight_answers *answers);

/* Adds the parameters to query, without their images. */
void preflight_plan_parameters(const struct preflight_request *request,
                               struct preflight_answers *answers, struct arena *arena);

/* Adds the quotas to query, without their limits. */
void preflight_plan_quotas(const struct preflight_request *request,
                           struct preflight_answers *answers, struct arena *arena);

/* ---- results ---- */

struct preflight_result {
    const struct finding *findings;
    size_t count;
    bool has_errors; /* the preflight found errors, so there are no facts */
    struct aws_facts facts;
};

/* The result points into `arena`, the request and the answers. */
void preflight_evaluate(const struct preflight_request *request,
                        const struct preflight_answers *answers, struct arena *arena,
                        struct preflight_result *ret_result);

/* The action as in a policy: "ec2:DescribeSubnets". */
const char *preflight_action(enum preflight_ask ask);
