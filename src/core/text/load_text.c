/* load_text.c: formats nodes and demand, limited to the first few of each. */
#include "core/text/load_text.h"

#include "core/format.h"

enum { SHOWN_MAX = 6 };

static struct str free_words(const struct capacity *capacity, struct str name, struct arena *arena)
{
    struct str total = format_amount(name, capacity->total, arena);
    struct str free = format_amount(name, capacity->free, arena);
    if (capacity->free == CAPACITY_ABSENT) {
        free = STR("none"); /* Ray omits resources that are used up */
    }
    if (capacity->total == CAPACITY_ABSENT) {
        return arena_printf(arena, "%.*s %.*s, not in its totals", STR_ARG(free), STR_ARG(name));
    }
    return arena_printf(arena, "%.*s of %.*s %.*s", STR_ARG(free), STR_ARG(total), STR_ARG(name));
}

static struct str capacities_words(const struct ray_node *node, const struct names *names,
                                   struct arena *arena)
{
    struct str text = STR("");
    for (size_t i = 0; i < node->capacity_count && i < SHOWN_MAX; i++) {
        struct str name = format_name(names, node->capacities[i].name, arena);
        struct str free = free_words(&node->capacities[i], name, arena);
        text = arena_printf(arena, "%.*s%s%.*s", STR_ARG(text),
                            i > 0 ? ", " : "; free: ", STR_ARG(free));
    }
    if (node->capacity_count > SHOWN_MAX) {
        text = arena_printf(arena, "%.*s, %zu more", STR_ARG(text),
                            node->capacity_count - SHOWN_MAX);
    }
    return text;
}

static struct str labels_words(const struct ray_node *node, const struct names *names,
                               struct arena *arena)
{
    struct str text = STR("");
    for (size_t i = 0; i < node->labels.count && i < SHOWN_MAX; i++) {
        struct str key = format_name(names, node->labels.items[i].key, arena);
        struct str value = format_name(names, node->labels.items[i].value, arena);
        text = arena_printf(arena, "%.*s%s%.*s=%.*s", STR_ARG(text),
                            i > 0 ? ", " : "; labels: ", STR_ARG(key), STR_ARG(value));
    }
    if (node->labels.count > SHOWN_MAX) {
        text = arena_printf(arena, "%.*s, %zu more", STR_ARG(text), node->labels.count - SHOWN_MAX);
    }
    return text;
}

struct str ray_node_text(const struct ray_node *node, const struct names *names,
                         struct arena *arena)
{
    static const char *const statuses[RAY_STATUS_COUNT] = {
        [RAY_ABSENT] = "not listed by Ray",
        [RAY_ALIVE] = "alive",
        [RAY_DRAINING] = "draining",
        [RAY_DEAD] = "dead",
    };
    struct str idle = STR("");
    if (node->idle_since != NOT_IDLE) {
        struct str since = format_seconds(node->idle_since, arena);
        idle = arena_printf(arena, ", idle since %.*s", STR_ARG(since));
    } else if (node->status == RAY_ALIVE || node->status == RAY_DRAINING) {
        idle = STR(", busy");
    }
    struct str capacities = capacities_words(node, names, arena);
    struct str labels = labels_words(node, names, arena);
    const char *status = node->status < RAY_STATUS_COUNT ? statuses[node->status] : "?";
    return arena_printf(arena, "%s%.*s%.*s%.*s", status, STR_ARG(idle), STR_ARG(capacities),
                        STR_ARG(labels));
}

static int64_t total_count(const struct demand *demands, size_t count)
{
    int64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t more = demands[i].count > 0 ? demands[i].count : 0;
        sum = more > INT64_MAX - sum ? INT64_MAX : sum + more;
    }
    return sum;
}

/* "4 pending requests (3 for 1x CPU; 1 for 2x GPU)" */
static struct str demands_words(const struct demand *demands, size_t count, const char *what,
                                const struct names *names, struct arena *arena)
{
    struct str text = STR("");
    for (size_t i = 0; i < count && i < SHOWN_MAX; i++) {
        struct str request = format_request(names, &demands[i].request, arena);
        text = arena_printf(arena, "%.*s%s%lld for %.*s", STR_ARG(text), i > 0 ? "; " : "",
                            (long long)demands[i].count, STR_ARG(request));
    }
    if (count > SHOWN_MAX) {
        text = arena_printf(arena, "%.*s; %zu more kinds", STR_ARG(text), count - SHOWN_MAX);
    }
    int64_t sum = total_count(demands, count);
    return arena_printf(arena, "%lld %s%s (%.*s)", (long long)sum, what, sum == 1 ? "" : "s",
                        STR_ARG(text));
}

/* A gang is described by its size and first request, because the others are mostly equal. */
static struct str gangs_words(const struct ray_load *load, const struct names *names,
                              struct arena *arena)
{
    struct str text = STR("");
    for (size_t i = 0; i < load->gang_count && i < SHOWN_MAX; i++) {
        const struct gang *gang = &load->gangs[i];
        struct str first = STR("nothing");
        if (gang->request_count > 0) {
            first = format_request(names, &gang->requests[0], arena);
        }
        text = arena_printf(arena, "%.*s%s%zu for %.*s%s", STR_ARG(text), i > 0 ? "; " : "",
                            gang->request_count, STR_ARG(first),
                            gang->request_count > 1 ? " and so on" : "");
    }
    if (load->gang_count > SHOWN_MAX) {
        text = arena_printf(arena, "%.*s; %zu more", STR_ARG(text), load->gang_count - SHOWN_MAX);
    }
    return arena_printf(arena, "%zu placement group%s (%.*s)", load->gang_count,
                        load->gang_count == 1 ? "" : "s", STR_ARG(text));
}

struct str ray_load_text(const struct ray_load *load, const struct names *names,
                         struct arena *arena)
{
    struct str parts[3];
    size_t count = 0;
    if (load->demand_count > 0) {
        parts[count++] = demands_words(load->demands, load->demand_count, "pending request", names,
                                       arena);
    }
    if (load->gang_count > 0) {
        parts[count++] = gangs_words(load, names, arena);
    }
    if (load->constraint_count > 0) {
        struct str bundles = demands_words(load->constraint, load->constraint_count, "bundle",
                                           names, arena);
        parts[count++] = arena_printf(arena, "request_resources of %.*s", STR_ARG(bundles));
    }
    struct str text = count > 0 ? parts[0] : STR("nothing");
    for (size_t i = 1; i < count; i++) {
        text = arena_printf(arena, "%.*s, %.*s", STR_ARG(text), STR_ARG(parts[i]));
    }
    return text;
}
