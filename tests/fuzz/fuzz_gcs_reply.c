/* fuzz_gcs_reply.c: any bytes as replies of the GCS but its state. The first byte chooses. */
#include "fuzz.h"

#include "ray/gcs.h"

static void check_answer(const struct gcs_answer *answer, struct str bytes)
{
    if ((answer->trouble == GCS_FINE) != (answer->err.kind == ERR_NONE)) {
        fuzz_fail("an answer is fine, or says why not", bytes);
    }
}

static void try_nodes(struct str bytes, struct arena *arena)
{
    const struct gcs_node *nodes;
    size_t count;
    struct gcs_answer answer = gcs_nodes_read(bytes, arena, &nodes, &count);
    check_answer(&answer, bytes);
    for (size_t i = 0; i < count; i++) {
        bool is_id = nodes[i].id.len == 0 || nodes[i].id.len == 2 * RAY_ID_BYTES;
        if (!is_id || (nodes[i].is_preempted && nodes[i].death.ptr == NULL)) {
            fuzz_fail("a node has its id, and a preempted one has died", bytes);
        }
    }
}

static void try_draining(struct str bytes, struct arena *arena)
{
    const struct gcs_draining *nodes;
    size_t count;
    struct gcs_answer answer = gcs_draining_read(bytes, arena, &nodes, &count);
    check_answer(&answer, bytes);
    for (size_t i = 0; i < count; i++) {
        if (nodes[i].id.len != 2 * RAY_ID_BYTES || nodes[i].deadline_ms < 0) {
            fuzz_fail("a draining node has its id and no negative deadline", bytes);
        }
    }
}

static void try_drain(struct str bytes)
{
    struct str why_not;
    bool is_accepted = true;
    struct gcs_answer answer = gcs_drain_read(bytes, &is_accepted, &why_not);
    check_answer(&answer, bytes);
    if (is_accepted && (answer.trouble != GCS_FINE || why_not.len > 0)) {
        fuzz_fail("consent is without doubt", bytes);
    }
}

static void try_versions(struct str bytes, struct arena *arena)
{
    struct gcs_versions versions;
    bool is_there;
    struct gcs_answer answer = gcs_versions_read(bytes, arena, &is_there, &versions);
    check_answer(&answer, bytes);
    if (is_there && answer.trouble != GCS_FINE) {
        fuzz_fail("versions are there only when they were read", bytes);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    struct err err;
    size_t count;
    if (size == 0) {
        return 0;
    }
    struct str bytes = {(const char *)data + 1, size - 1};
    arena_init(&arena);
    switch (data[0]) {
    case 'g':
        try_draining(bytes, &arena);
        break;
    case 'n':
        try_nodes(bytes, &arena);
        break;
    case 'd':
        try_drain(bytes);
        break;
    case 'v':
        try_versions(bytes, &arena);
        break;
    default:
        (void)!gcs_drivers_read(bytes, &count, &err);
        break;
    }
    arena_clear(&arena);
    return 0;
}
