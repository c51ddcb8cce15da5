/* fuzz_trainer_order.c: any bytes as a line that a trainer sends to an agent. */
#include "fuzz.h"

#include "app/train/trainer_order.h"

static bool is_number(int64_t value, int64_t most)
{
    return value >= 0 && value <= most;
}

static bool is_place(int64_t rank, int64_t count)
{
    return rank >= 0 && rank < count && count <= INT32_MAX;
}

static void check_order(const struct trainer_order *order, struct str bytes)
{
    if (order->kind >= TRAINER_ORDER_KINDS) {
        fuzz_fail("the kind is known", bytes);
    }
    if (!is_place(order->rank, order->world) || !is_place(order->node_rank, order->nodes) ||
        !is_place(order->local_rank, order->local_world)) {
        fuzz_fail("a rank is less than the number of its group", bytes);
    }
    if (!is_number(order->generation, ORDER_GENERATION_MAX) ||
        !is_number(order->checkpoint, ORDER_CHECKPOINT_MAX) ||
        !is_number(order->parts, INT32_MAX) || !is_number(order->master_port, UINT16_MAX) ||
        order->keep < 1) {
        fuzz_fail("numbers have limits", bytes);
    }
    if (order->kind == ORDER_START && order->generation < 1) {
        fuzz_fail("a start has a generation", bytes);
    }
    for (size_t i = 0; i < order->arg_count; i++) {
        if (!order->args[i]) {
            fuzz_fail("an argument is a text", bytes);
        }
    }
    if (order->args[order->arg_count]) {
        fuzz_fail("arguments end with NULL", bytes);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str bytes = {size > 0 ? (const char *)data : "", size};
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct trainer_order order;
    struct err err = {0};
    if (trainer_order_read(bytes, &arena, &order, &err)) {
        check_order(&order, bytes);
    } else if (err.kind != ERR_PROTOCOL) {
        fuzz_fail("a refusal says why", bytes);
    }
    return 0;
}
