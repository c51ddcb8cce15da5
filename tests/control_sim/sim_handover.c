/* sim_handover.c: the handover from laptop to head, through the production file and journals. */
#include "world.h"

#include "app/handover/handover.h"

enum { HANDOVER_MAX = 1 << 20 };

static bool gather(struct sim_process *laptop, struct handover *handover, struct arena *arena)
{
    const struct cluster_lease *lease = controller_lease(laptop->controller);
    struct world *world = laptop->world;
    struct err err;
    *handover = (struct handover){.uid = lease->uid,
                                  .epoch = lease->epoch,
                                  .lease_object = lease->lease_object,
                                  .written_ms = controller_time_ms(laptop->controller),
                                  .serial = ++world->handovers,
                                  .config = STR("{}"),
                                  .head_id = world->head->id,
                                  .head_private_ip = world->head->ip};
    return handover_gather(laptop->journal, arena, handover, &err);
}

void sim_handover_send(struct sim_process *laptop, struct sim_process *head)
{
    struct world *world = laptop->world;
    struct handover handover;
    struct arena arena;
    AUTO_BUF struct buf text;
    buf_init(&text, HANDOVER_MAX);
    arena_init(&arena);
    if (gather(laptop, &handover, &arena)) {
        handover_write(&handover, &text);
        head->handover = arena_str(&world->memory, buf_str(&text));
        head->is_handover_taken = false;
        world_say(world, "laptop", "hands over epoch %llu: %zu launches, %zu machines",
                  (unsigned long long)handover.epoch, handover.intent_count,
                  handover.machine_count);
        world->head->status = STR("up-to-date");
        controller_stand_down(laptop->controller);
        if (head->is_alive) {
            head->stops_next = true; /* its service restarts with the new handover */
        }
    }
    /* It follows the service for a while, and does not act. */
    laptop->exits_ms = world_now(world) + rng_between(&world->rng, 1, 60 * SECOND_MS);
    arena_clear(&arena);
}

bool sim_handover_take(struct sim_process *head, struct controller_setup *setup)
{
    struct handover handover;
    struct err err;
    if (!handover_read(head->handover, &head->memory, &handover, &err)) {
        world_violate(head->world, "I1", "a handover cannot be read: %s", err.text);
        return false;
    }
    if (!head->is_handover_taken && !handover_take(head->journal, &handover, &err)) {
        return false;
    }
    head->is_handover_taken = true;
    setup->take_from = handover.epoch;
    setup->uid = handover.uid;
    setup->lease_object = handover.lease_object;
    return true;
}
