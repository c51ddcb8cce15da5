/* anchor.h: finding the anchor of a cluster, for whoever needs its uid first. */
#pragma once

#include "provider/aws/aws_script.h"

/*
 * A first step: reads uid and anchor unless they are known. Ends the operation with
 * `has_no_cluster` when there is no anchor, and with an error when a launch template of that name
 * is not one of ours.
 */
enum aws_ask anchor_ask_find(struct aws_script *op, struct aws_request *request);
enum aws_turn anchor_hear_find(struct aws_script *op, const struct aws_heard *heard);

#define ANCHOR_STEP                       \
    {                                     \
        anchor_ask_find, anchor_hear_find \
    }

/* What DescribeLaunchTemplates tells. */
struct anchor_found {
    struct str id, uid, account;
    uint64_t base;    /* default version */
    uint64_t highest; /* latest version */
};

/* The question, without looking whether the answer is known; and the answer: false when there is
 * none. */
enum aws_ask anchor_ask(struct aws_script *op, struct aws_request *request);
bool anchor_read(struct aws_script *op, const struct aws_heard *heard,
                 struct anchor_found *ret_found);
