/* fuzz_record.c: any bytes as stored events and actions, one behind the other. */
#include "fuzz.h"

#include "core/core.h"

#include <string.h>

/* Arrays of numbers that take a byte each grow most; this is twice what they can. */
enum { GROWTH_MAX = 32, ROOM_MAX = 1024 };

/* Few names, odd ones among them, so that texts meet numbers with and without a name. */
struct scene {
    struct arena arena; /* of the names */
    struct names names;
    struct plan_type types[2];
    struct offering offerings[2];
    struct core_settings settings;
};

static void scene_init(struct scene *scene)
{
    static const struct str names[] = {{"CPU", 3}, {"memory", 6}, {"", 0}, {"\n\x1b[1m\0", 6}};
    *scene = (struct scene){0};
    arena_init(&scene->arena);
    intern_init(&scene->names, &scene->arena);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        intern_add(&scene->names, names[i]);
    }
    scene->types[0].name = STR("small");
    scene->types[1].name = STR("bad\nname");
    scene->offerings[0] = (struct offering){.price = 1006000, .market = MARKET_SPOT};
    scene->offerings[1] = (struct offering){.type = 1, .zone = 3, .price = PRICE_UNKNOWN};
    scene->settings = (struct core_settings){.names = &scene->names,
                                             .types = scene->types,
                                             .type_count = 2,
                                             .offerings = scene->offerings,
                                             .offering_count = 2};
}

static void check_text(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if ((unsigned char)text.ptr[i] < ' ') {
            fuzz_fail("a text is one line without control characters", text);
        }
    }
    if (text.len == 0) {
        fuzz_fail("everything that can be read has a text", text);
    }
}

static void check_bytes(struct str before, struct str after, struct str again)
{
    if (!str_eq(str_sub(before, 0, before.len - after.len), again)) {
        fuzz_fail("what could be read is written as the same bytes", again);
    }
}

/* Takes one record off the front, known or not; whatever is no record ends the run. */
static bool try_one(struct str *bytes, const struct scene *scene, struct arena *arena)
{
    struct str before = *bytes;
    struct event event;
    struct action action;
    size_t used = arena->used_bytes;
    bool is_event = event_decode(bytes, arena, &event);
    if (arena->used_bytes - used > before.len * GROWTH_MAX + ROOM_MAX) {
        fuzz_fail("what is read takes memory as the bytes do", before);
    }
    if (is_event) {
        check_bytes(before, *bytes, event_encode(&event, arena));
        check_text(event_text(&event, &scene->settings, arena));
    } else if (bytes->len == before.len && action_decode(bytes, &action)) {
        check_bytes(before, *bytes, action_encode(&action, arena));
        check_text(action_text(&action, &scene->settings, arena));
    }
    return bytes->len < before.len;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct scene scene;
    struct str bytes = {size > 0 ? (const char *)data : "", size};
    bool goes_on = true;
    scene_init(&scene);
    while (goes_on) {
        struct arena arena;
        arena_init(&arena);
        goes_on = try_one(&bytes, &scene, &arena);
        arena_clear(&arena);
    }
    arena_clear(&scene.arena);
    return 0;
}
