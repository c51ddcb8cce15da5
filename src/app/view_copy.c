/* view_copy.c: a view that outlives what it was told with. */
#include "app/view.h"

static const struct insight_use *copy_uses(struct arena *arena, const struct node_view *view)
{
    struct insight_use *uses = ARENA_ARRAY(arena, view->use_count, struct insight_use);
    for (size_t i = 0; i < view->use_count; i++) {
        uses[i] = view->uses[i];
        uses[i].name = arena_str(arena, view->uses[i].name);
    }
    return uses;
}

struct node_view node_view_copy(struct arena *arena, const struct node_view *view)
{
    struct node_view copy = *view;
    struct str *texts[] = {
        &copy.name,
        &copy.id,
        &copy.type,
        &copy.machine,
        &copy.zone,
        &copy.public_ip,
        &copy.private_ip,
        &copy.detail,
        &copy.reason,
        &copy.failure.step,
        &copy.failure.command,
        &copy.failure.path,
        &copy.failure.said,
        &copy.failure.why,
        &copy.failure.next,
        &copy.ray_id,
        &copy.activity,
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        *texts[i] = arena_str(arena, *texts[i]);
    }
    copy.uses = copy_uses(arena, view);
    return copy;
}
