/* trainer_order.c: reads a line that a trainer sends to an agent. */
#include "app/train/trainer_order.h"

#include "io/json_line.h"

static const char *const order_words[TRAINER_ORDER_KINDS] = {
    [ORDER_CHALLENGE] = "challenge", [ORDER_WELCOME] = "welcome", [ORDER_START] = "start",
    [ORDER_SAVE] = "save",           [ORDER_KILL] = "kill",       [ORDER_REPLICATE] = "replicate",
    [ORDER_STACKS] = "stacks",       [ORDER_LEAVE] = "leave",
};

static enum trainer_order_kind order_kind(const json_t *message, struct arena *arena)
{
    struct str type = json_take_text(message, "type", arena);
    for (size_t i = ORDER_CHALLENGE; i < TRAINER_ORDER_KINDS; i++) {
        if (str_is(type, order_words[i])) {
            return (enum trainer_order_kind)i;
        }
    }
    return ORDER_UNKNOWN;
}

/* A rank and the number of its group. */
static void order_place(const json_t *message, const char *rank_name, const char *count_name,
                        int64_t *ret_rank, int64_t *ret_count)
{
    *ret_count = json_take_number(message, count_name, 1, INT32_MAX);
    *ret_rank = json_take_number(message, rank_name, 0, *ret_count - 1);
}

static void order_args(const json_t *message, struct arena *arena, struct trainer_order *order)
{
    const json_t *args = json_object_get(message, "args");
    order->args = ARENA_ARRAY(arena, json_array_size(args) + 1, const char *);
    for (size_t i = 0; i < json_array_size(args); i++) {
        const char *word = json_string_value(json_array_get(args, i));
        order->args[order->arg_count++] = arena_str(arena, str_from(word)).ptr;
    }
}

bool trainer_order_read(struct str line, struct arena *arena, struct trainer_order *ret_order,
                        struct err *err)
{
    json_t *message;
    if (!json_line_read(line, "a message of the trainer", &message, err)) {
        return false;
    }
    enum trainer_order_kind kind = order_kind(message, arena);
    *ret_order = (struct trainer_order){
        .kind = kind,
        .mac = json_take_text(message, "mac", arena),
        .nonce = json_take_text(message, "nonce", arena),
        .generation = json_take_number(message, "generation", kind == ORDER_START,
                                       ORDER_GENERATION_MAX),
        .master_host = json_take_text(message, "master_host", arena),
        .supervisor = json_take_text(message, "supervisor", arena),
        .master_port = json_take_number(message, "master_port", 0, UINT16_MAX),
        .checkpoint = json_take_number(message, "checkpoint", 0, ORDER_CHECKPOINT_MAX),
        .parts = json_take_number(message, "parts", 0, INT32_MAX),
        .sources = json_take_text(message, "sources", arena),
        .is_durable = json_is_true(json_object_get(message, "is_durable")),
        .save = json_take_text(message, "save", arena),
        .script_kind = json_take_text(message, "kind", arena),
        .python = json_take_text(message, "python", arena),
        .script = json_take_text(message, "script", arena),
        .code = json_take_text(message, "code", arena),
        .output = json_take_text(message, "output", arena),
        .prepare = json_take_text(message, "prepare", arena),
        .keep = json_take_number(message, "keep", 1, INT32_MAX),
        .is_cuda_warm = json_is_true(json_object_get(message, "warm_cuda")),
        .is_kept = json_is_true(json_object_get(message, "keep")),
        .is_adopting = json_is_true(json_object_get(message, "adopt")),
    };
    order_place(message, "rank", "world", &ret_order->rank, &ret_order->world);
    order_place(message, "local_rank", "local_world", &ret_order->local_rank,
                &ret_order->local_world);
    order_place(message, "node_rank", "nodes", &ret_order->node_rank, &ret_order->nodes);
    order_args(message, arena, ret_order);
    json_decref(message);
    return true;
}
