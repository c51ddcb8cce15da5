/*
 * trainer_order.h: reads a line that a trainer sends to an agent. Pure.
 *
 * All orders have the same fields; those that an order does not have are zero or empty. Numbers are
 * limited to what the agent can calculate with, and a rank is less than the number of its group.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"
#include "core/train/job.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum trainer_order_kind {
    ORDER_UNKNOWN, /* of another release */
    ORDER_CHALLENGE,
    ORDER_WELCOME,
    ORDER_START,
    ORDER_SAVE,
    ORDER_KILL,
    ORDER_REPLICATE,
    ORDER_STACKS,
    ORDER_LEAVE,
    TRAINER_ORDER_KINDS,
};

/* The checkpoints of the generation can still be numbered. */
#define ORDER_GENERATION_MAX TRAIN_GENERATION_MAX
#define ORDER_CHECKPOINT_MAX TRAIN_CHECKPOINT_MAX

struct trainer_order {
    enum trainer_order_kind kind;
    struct str mac, nonce;
    int64_t generation; /* START: at least 1 */
    int64_t rank, world, local_rank, local_world, node_rank, nodes;
    struct str master_host, supervisor;
    int64_t master_port;
    int64_t checkpoint, parts;
    struct str sources; /* of the checkpoint */
    bool is_durable;    /* it is only in the durable store */
    struct str save;    /* START: the same for all parts of a save of this generation */
    bool is_kept;       /* LEAVE: the slot's checkpoints stay for another slot of the job */
    /* WELCOME */
    struct str script_kind, python, script, code, output, prepare;
    const char **args; /* ends with NULL */
    size_t arg_count;
    int64_t keep; /* at least 1 */
    bool is_cuda_warm;
    bool is_adopting; /* the durable store becomes this job's */
};

/* Fails with ERR_PROTOCOL. Texts are in `arena`. */
bool trainer_order_read(struct str line, struct arena *arena, struct trainer_order *ret_order,
                        struct err *err) MUST_USE;
