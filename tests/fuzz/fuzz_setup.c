/* fuzz_setup.c: users' start commands, and what nodes, their Pythons and heads say. The first byte
 * chooses. */
#include "fuzz.h"

#include "app/setup/ray_find.h"
#include "app/setup/setup_failure.h"
#include "app/setup/setup_plan.h"
#include "app/setup/start_command.h"
#include "app/setup/version_check.h"
#include "ray/gcs.h"

/* A head's command has no monitor for certain, and doing it twice changes nothing more. */
static void try_command(struct str text, struct arena *arena)
{
    struct str value;
    struct str once = start_command_for_head(text, false, "ask", arena);
    if (start_command_option(once, "--autoscaling-config", &value)) {
        fuzz_fail("Ray's monitor is left out", text);
    }
    /* A user's command does not have our own word in it. */
    bool is_users = str_find(text, START_MONITOR) == SIZE_MAX;
    if (is_users && !str_eq(start_command_for_head(once, false, "ask", arena), once)) {
        fuzz_fail("what is rewritten stays", text);
    }
    start_command_for_head(text, true, "ask", arena);
    start_command_port(&text, 1);
    start_command_opens_dashboard(text, &value);
}

static void try_words(struct str text, struct arena *arena)
{
    struct str why;
    struct str next;
    struct ray_found found;
    setup_explain(text, &why, &next);
    ray_find_interpreter(text);
    if (ray_find_read(text, arena, &found)) {
        AUTO_BUF struct buf out;
        buf_init(&out, 1 << 20);
        struct version_pair pair = {found.ray, found.python};
        if (!version_check(pair, pair, false, &out)) {
            fuzz_fail("the same is the same", text);
        }
    }
}

static void try_versions(struct str text, struct arena *arena)
{
    struct gcs_versions versions;
    struct err err;
    if (!gcs_versions_from(text, arena, &versions, &err) && err.text[0] == '\0') {
        fuzz_fail("a failure says why", text);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    if (size == 0) {
        return 0;
    }
    arena_init(&arena);
    struct str text = arena_str(&arena, (struct str){(const char *)data + 1, size - 1});
    if (data[0] == 'c') {
        try_command(text, &arena);
    } else if (data[0] == 'w') {
        try_words(text, &arena);
    } else {
        try_versions(text, &arena);
    }
    arena_clear(&arena);
    return 0;
}
