/*
 * survey_judge.h: what AWS answered to a survey's questions, and what follows for the file:
 * findings for the user and facts for launches. Pure, so that every case can be tried without a
 * cloud.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "provider/aws/aws_facts.h"
#include "provider/aws/survey/ec2_reply.h"
#include "provider/aws/survey/image.h"
#include "provider/aws/survey/survey_key.h"
#include "provider/aws/survey/survey_wish.h"
#include "provider/aws/wire/sts_reply.h"
#include "provider/provider.h"

#include <stdbool.h>
#include <stddef.h>

/* ---- the questions ---- */

enum survey_ask {
    ASK_IDENTITY,
    ASK_SUBNETS,
    ASK_GROUPS,
    ASK_IMAGES,
    ASK_TYPES,
    ASK_ZONES, /* in which zones the machines are offered */
    ASK_KEYS,
    ASK_PROFILES,
    ASK_TEMPLATES,  /* what launch templates set; before everything else */
    ASK_REGION,     /* all machines of the region, when one is not known */
    ASK_PARAMETERS, /* where the newest images are announced */
    ASK_NEW_IMAGES, /* those images themselves */
    ASK_COUNT
};

/* How a question ended. Several calls for one question: the first failure stays. */
struct survey_answer {
    bool was_asked;
    bool is_ok;
    bool is_denied;     /* this identity may not ask it */
    bool is_unknown;    /* AWS knows no such identity, or there is none to ask with */
    struct str code;    /* AWS's; may be empty */
    struct str message; /* and its words */
    struct err err;     /* unless ok */
};

struct survey_profile {
    struct str name; /* that was asked for */
    struct iam_profile found;
    bool is_found;
    bool is_missing; /* AWS says that there is none; neither: not known */
};

struct survey_parameter {
    struct image_parameter what;
    struct str arch;
    bool has_gpus;
    struct str image; /* empty: not known */
};

enum { SURVEY_PARAMETERS_MAX = 8 };

struct survey_answers {
    struct survey_answer answers[ASK_COUNT];
    struct str region;
    struct str source;  /* of the credentials: "profile work: sso" */
    struct str sources; /* every one that was tried, a line each */
    struct sts_identity identity;
    struct ec2_subnets subnets;
    struct ec2_groups groups;
    struct ec2_images images;
    struct ec2_images new_images;
    struct ec2_types types;
    struct ec2_offerings zones;
    struct ec2_offerings region_types;
    struct ec2_keys keys;
    struct survey_profile *profiles; /* one for each of the wish's */
    const struct param **templates;  /* one for each node type; NULL: none, or not known */
    struct survey_parameter parameters[SURVEY_PARAMETERS_MAX];
    size_t parameter_count;
    enum survey_key key_state; /* of auth.ssh_private_key */
    struct str key_half;
    bool has_key_file; /* that of provider.key_pair, where Ray keeps it */
};

/* Does the region have this machine? True also when that is not known. */
bool survey_has_machine(const struct survey_answers *answers, struct str machine);

/* ---- what to ask after the first answers ---- */

/* Is there a machine that the region does not have, so that its others are worth asking for? */
bool survey_needs_region(const struct survey_wish *wish, const struct survey_answers *answers);

/* Fills the parameters that must be asked, without their images. */
void survey_plan_parameters(const struct survey_wish *wish, struct survey_answers *answers,
                            struct arena *arena);

/* ---- what follows ---- */

struct survey_result {
    const struct finding *findings;
    size_t count;
    bool has_errors; /* then there are no facts */
    struct aws_facts facts;
};

/* Everything lives in `arena`, in the wish and in the answers. */
void survey_judge(const struct survey_wish *wish, const struct survey_answers *answers,
                  struct arena *arena, struct survey_result *ret_result);

/* The action as a policy names it: "ec2:DescribeSubnets". */
const char *survey_action(enum survey_ask ask);
