/* workload_file.c: reads durations, amounts and counts, and finds contradictions. The schema has
 * checked keys and types. */
#include "config/workload/workload_file.h"

#include "config/document/yaml_read.h"
#include "config/schema/schema.h"
#include "config/workload/quantity.h"

#include <math.h>

#define HOUR_MS (INT64_C(3600) * 1000)
#define PRICE_MAX 1e6 /* dollars per hour */

struct workload_file_reader {
    struct arena *arena;
    struct diag_list *diags;
    int64_t duration;
    bool is_own_time; /* the duration is from the file, not from the command line */
    double tasks;     /* expected number of tasks */
};

/* ---- single values ---- */

static bool wrong(const struct workload_file_reader *reader, const char *code,
                  const struct value *value, const char *what, const char *hint)
{
    struct diag *diag = diag_error(reader->diags, code, value->place, "%s", what);
    diag_hint(reader->diags, diag, "%s", hint);
    return false;
}

/* True for an int or a float; the schema has reported other types. */
static bool workload_file_is_number(const struct value *value)
{
    return value->kind == VALUE_INT || value->kind == VALUE_FLOAT;
}

static bool read_duration(const struct workload_file_reader *reader, const struct value *value,
                          int64_t *ret_ms)
{
    double seconds;
    bool ok = false;
    if (value->kind == VALUE_STRING) {
        ok = quantity_duration(value->text, ret_ms);
    } else if (workload_file_is_number(value) && value_number(value, &seconds)) {
        ok = quantity_seconds(seconds, ret_ms);
    } else {
        return false; /* wrong type, reported by the schema */
    }
    return ok || wrong(reader, "duration", value, "invalid duration",
                       "write 90s, 5m, 1h30m, or a number of seconds");
}

static bool read_duration_at(const struct workload_file_reader *reader, const struct value *map,
                             const char *key, int64_t *ret_ms)
{
    const struct value *value = value_get_c(map, key);
    return value && read_duration(reader, value, ret_ms);
}

static bool read_share_at(const struct workload_file_reader *reader, const struct value *map,
                          const char *key, int64_t *ret_permille)
{
    const struct value *value = value_get_c(map, key);
    double fraction;
    bool ok = false;
    if (value_is(value, VALUE_STRING)) {
        ok = quantity_share(value->text, ret_permille);
    } else if (value && workload_file_is_number(value) && value_number(value, &fraction)) {
        ok = quantity_fraction(fraction, ret_permille);
    } else {
        return false;
    }
    return ok ||
           wrong(reader, "share", value, "invalid share", "write 90% or 0.9; the maximum is 100%");
}

static bool read_count(const struct workload_file_reader *reader, const struct value *value,
                       int64_t most, int64_t *ret_count)
{
    double number;
    if (!workload_file_is_number(value) || !value_number(value, &number) ||
        floor(number) != number) {
        return false;
    }
    if (number < 0 || number > (double)most) {
        struct diag *diag = diag_error(reader->diags, "count", value->place, "invalid count");
        diag_hint(reader->diags, diag, "write a whole number from 0 to %lld", (long long)most);
        return false;
    }
    *ret_count = (int64_t)number;
    return true;
}

/* ---- ranges ---- */

typedef bool item_fn(const struct workload_file_reader *reader, const struct value *value,
                     int64_t *ret_number);

static bool read_task_count(const struct workload_file_reader *reader, const struct value *value,
                            int64_t *ret_count)
{
    return read_count(reader, value, WORKLOAD_TASKS_MAX, ret_count);
}

/* One number, or [least, most]. */
static void read_range(const struct workload_file_reader *reader, const struct value *value,
                       item_fn *read, struct workload_range *range)
{
    if (!value) {
        return;
    }
    if (value->kind != VALUE_LIST) {
        if (read(reader, value, &range->least)) {
            range->most = range->least;
        }
        return;
    }
    if (value->list.count != 2) {
        wrong(reader, "range", value, "a range needs two values", "write [MIN, MAX]");
        return;
    }
    bool has_least = read(reader, value->list.items[0], &range->least);
    bool has_most = read(reader, value->list.items[1], &range->most);
    if (has_least && has_most && range->least > range->most) {
        wrong(reader, "range", value, "the range ends before it starts", "write [MIN, MAX]");
    }
}

/* ---- resources and labels ---- */

static bool is_memory(struct str name)
{
    return str_is(name, "memory") || str_is(name, "object_store_memory");
}

static bool workload_file_read_amount(const struct workload_file_reader *reader, struct str name,
                                      const struct value *value, int64_t *ret_amount)
{
    double number = 0;
    bool ok = false;
    if (value->kind == VALUE_STRING && is_memory(name)) {
        ok = quantity_bytes(value->text, &number);
        number = floor(number);
    } else if (workload_file_is_number(value)) {
        ok = value_number(value, &number);
    } else if (value->kind != VALUE_STRING) {
        return false;
    }
    double amount = round(number * RESOURCE_UNIT);
    bool is_lost = number > 0 && amount < 1;
    if (!ok || is_lost || !(amount >= 0 && amount <= 9e18)) {
        return wrong(reader, "amount", value, "this amount of the resource is not valid",
                     is_memory(name) ? "write 4GiB, 512MB, or a number of bytes"
                                     : "write a number; the minimum is 0.0001");
    }
    *ret_amount = (int64_t)amount;
    return true;
}

static struct resource_set read_resources(const struct workload_file_reader *reader,
                                          const struct value *map)
{
    size_t count = value_is(map, VALUE_MAP) ? map->map.count : 0;
    struct resource *items = ARENA_ARRAY(reader->arena, count, struct resource);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        const struct value_entry *entry = &map->map.entries[i];
        items[kept].name = value_text(entry->key);
        if (entry->key->kind == VALUE_STRING &&
            workload_file_read_amount(reader, items[kept].name, entry->value,
                                      &items[kept].amount)) {
            kept++;
        }
    }
    return (struct resource_set){items, kept};
}

/* "in(a,b)", "!in(a)", "a", "!a". */
static bool workload_file_read_rule(const struct workload_file_reader *reader,
                                    const struct value_entry *entry, struct workload_rule *rule)
{
    struct str text = str_trim(value_text(entry->value));
    rule->key = value_text(entry->key);
    if (entry->key->kind != VALUE_STRING || entry->value->kind != VALUE_STRING) {
        return false;
    }
    rule->is_not = str_starts(text, "!");
    text = str_trim(str_sub(text, rule->is_not ? 1 : 0, text.len));
    if (str_starts(text, "in(") && str_ends(text, ")")) {
        text = str_sub(text, 3, text.len - 1);
    } else if (str_find_char(text, '(') != SIZE_MAX || str_find_char(text, ',') != SIZE_MAX) {
        return wrong(reader, "label", entry->value, "invalid label rule",
                     "write x, !x, in(x,y) or !in(x,y)");
    }
    size_t most = 1;
    for (size_t i = 0; i < text.len; i++) {
        most += text.ptr[i] == ',';
    }
    struct str *values = ARENA_ARRAY(reader->arena, most, struct str);
    for (size_t i = 0; i < most; i++) {
        values[i] = str_trim(str_cut(&text, ','));
        if (values[i].len == 0) {
            return wrong(reader, "label", entry->value, "this label rule has an empty value",
                         "write x, !x, in(x,y) or !in(x,y)");
        }
    }
    rule->values = values;
    rule->value_count = most;
    return true;
}

static void workload_file_read_shape(const struct workload_file_reader *reader,
                                     const struct value *map, struct workload_shape *shape)
{
    static const struct resource one_cpu = {{"CPU", 3}, RESOURCE_UNIT};
    const struct value *resources = value_get_c(map, "resources");
    const struct value *labels = value_get_c(map, "labels");
    size_t count = value_is(labels, VALUE_MAP) ? labels->map.count : 0;
    struct workload_rule *rules = ARENA_ARRAY(reader->arena, count, struct workload_rule);
    shape->resources = resources ? read_resources(reader, resources)
                                 : (struct resource_set){&one_cpu, 1};
    shape->rules = rules;
    for (size_t i = 0; i < count; i++) {
        if (workload_file_read_rule(reader, &labels->map.entries[i], &rules[shape->rule_count])) {
            shape->rule_count++;
        }
    }
}

/* ---- classes ---- */

static void workload_file_read_gang(const struct workload_file_reader *reader,
                                    const struct value *map, struct workload_class *class)
{
    static const char *const names[] = {"PACK", "SPREAD", "STRICT_PACK", "STRICT_SPREAD"};
    const struct value *bundles = value_get_c(map, "bundles");
    struct str strategy = value_text(value_get_c(map, "strategy"));
    class->bundles = 1;
    if (!value_is(map, VALUE_MAP)) {
        return;
    }
    class->gang = WORKLOAD_PACK;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (str_is(strategy, names[i])) {
            class->gang = (enum workload_gang)((size_t)WORKLOAD_PACK + i);
        }
    }
    if (bundles && read_count(reader, bundles, WORKLOAD_BUNDLES_MAX, &class->bundles) &&
        class->bundles == 0) {
        wrong(reader, "count", bundles, "a gang needs at least one bundle", "1 or more");
    }
}

static void check_arrival(const struct workload_file_reader *reader, const struct value *map)
{
    static const char *const ways[] = {"at", "every", "random_every"};
    const struct value_entry *first = NULL;
    for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
        const struct value_entry *entry = value_entry_c(map, ways[i]);
        if (entry && first) {
            wrong(reader, "arrival", entry->key, "only one kind of arrival is allowed",
                  "keep one of at, every and random_every");
        }
        first = first ? first : entry;
    }
    if (!first) {
        wrong(reader, "arrival", map, "the time of arrival is missing",
              "write one of at, every and random_every");
    }
    const struct value_entry *at = value_entry_c(map, "at");
    const struct value_entry *from = value_entry_c(map, "from");
    const struct value_entry *until = value_entry_c(map, "until");
    if (at && (from || until)) {
        wrong(reader, "arrival", from ? from->key : until->key,
              "from and until need every or random_every", "remove this key");
    }
}

static void read_arrival(const struct workload_file_reader *reader, const struct value *map,
                         struct workload_class *class)
{
    const struct value *until = value_get_c(map, "until");
    const struct value *every = value_get_c(map, "every");
    const struct value *by_chance = value_get_c(map, "random_every");
    class->last_at = reader->duration;
    if (!value_is(map, VALUE_MAP)) {
        return; /* once, at the start */
    }
    check_arrival(reader, map);
    if (read_duration_at(reader, map, "at", &class->first_at)) {
        return;
    }
    if (!every && !by_chance) {
        return;
    }
    const struct value *span = every ? every : by_chance;
    class->arrival = every ? WORKLOAD_EVERY : WORKLOAD_RANDOM;
    class->every = HOUR_MS;
    (void)read_duration_at(reader, map, "from", &class->first_at);
    if (until && read_duration(reader, until, &class->last_at) &&
        class->last_at < class->first_at) {
        wrong(reader, "arrival", until, "the time in until is before the time in from",
              "until must be later than from");
    }
    if (read_duration(reader, span, &class->every) && class->every < 1) {
        wrong(reader, "arrival", span, "the interval cannot be zero", "the minimum is 1ms");
        class->every = HOUR_MS;
    }
}

/* Adds the expected number of tasks; in doubles, because files may contain any values. */
static void count_tasks(struct workload_file_reader *reader, const struct value *key,
                        const struct workload_class *class)
{
    int64_t last = class->last_at < reader->duration ? class->last_at : reader->duration;
    double times = 1;
    if (class->first_at > reader->duration) {
        if (reader->is_own_time) {
            diag_warn(reader->diags, "never", key->place,
                      "this work arrives only after the end of the simulation");
        }
        return;
    }
    if (class->arrival != WORKLOAD_ONCE) {
        times = last < class->first_at
                    ? 0
                    : 1 + floor((double)(last - class->first_at) / (double)class->every);
    }
    double mean = ((double)class->count.least + (double)class->count.most) / 2;
    bool had_room = reader->tasks <= WORKLOAD_TASKS_MAX;
    reader->tasks += times * (mean + 1) * (double)class->bundles;
    if (had_room && reader->tasks > WORKLOAD_TASKS_MAX) {
        struct diag *diag = diag_error(reader->diags, "too-much", key->place,
                                       "with this class, the workload has more than %d tasks",
                                       WORKLOAD_TASKS_MAX);
        diag_hint(reader->diags, diag, "simulate fewer hours, or use fewer and longer tasks");
    }
}

static void read_class(struct workload_file_reader *reader, const struct value_entry *entry,
                       struct workload_class *class)
{
    const struct value *map = entry->value;
    const struct value *duration = value_get_c(map, "duration");
    class->name = value_text(entry->key);
    class->place = entry->key->place;
    class->count = (struct workload_range){1, 1};
    workload_file_read_shape(reader, map, &class->shape);
    workload_file_read_gang(reader, value_get_c(map, "gang"), class);
    read_arrival(reader, value_get_c(map, "arrival"), class);
    read_range(reader, value_get_c(map, "count"), read_task_count, &class->count);
    read_range(reader, duration, read_duration, &class->duration);
    count_tasks(reader, entry->key, class);
}

static void read_classes(struct workload_file_reader *reader, const struct value *work,
                         struct workload_file *file)
{
    size_t count = value_is(work, VALUE_MAP) ? work->map.count : 0;
    if (value_is(work, VALUE_MAP) && (count == 0 || count > WORKLOAD_CLASSES_MAX)) {
        struct diag *diag = diag_error(reader->diags, "count", work->place,
                                       "a workload must have 1 to %d classes of work",
                                       WORKLOAD_CLASSES_MAX);
        diag_hint(reader->diags, diag, "add: tasks: {count: 100, duration: 5m}");
        return;
    }
    struct workload_class *classes = ARENA_ARRAY(reader->arena, count, struct workload_class);
    for (size_t i = 0; i < count; i++) {
        read_class(reader, &work->map.entries[i], &classes[i]);
    }
    file->classes = classes;
    file->class_count = count;
}

/* ---- other sections ---- */

static void workload_file_read_bundles(const struct workload_file_reader *reader,
                                       const struct value *list, struct workload_file *file)
{
    size_t count = value_is(list, VALUE_LIST) ? list->list.count : 0;
    struct workload_bundle *bundles = ARENA_ARRAY(reader->arena, count, struct workload_bundle);
    for (size_t i = 0; i < count; i++) {
        const struct value *item = list->list.items[i];
        const struct value *number = value_get_c(item, "count");
        bundles[i].count = 1;
        workload_file_read_shape(reader, item, &bundles[i].shape);
        if (number) {
            (void)read_count(reader, number, WORKLOAD_TASKS_MAX, &bundles[i].count);
        }
    }
    file->bundles = bundles;
    file->bundle_count = count;
}

static void read_spot(const struct workload_file_reader *reader, const struct value *map,
                      struct workload_file *file)
{
    const struct value *life = value_get_c(map, "mean_life");
    file->spot_notice = WORKLOAD_SPOT_NOTICE;
    file->spot_share = WORKLOAD_SPOT_SHARE;
    if (life && read_duration(reader, life, &file->spot_life) && file->spot_life < 60 * 1000) {
        wrong(reader, "duration", life, "mean_life is too short", "the minimum is 1m");
    }
    (void)read_share_at(reader, map, "notice", &file->spot_notice);
    (void)read_share_at(reader, map, "share", &file->spot_share);
}

static void read_prices(const struct workload_file_reader *reader, const struct value *map,
                        struct workload_file *file)
{
    size_t count = value_is(map, VALUE_MAP) ? map->map.count : 0;
    struct workload_price *prices = ARENA_ARRAY(reader->arena, count, struct workload_price);
    for (size_t i = 0; i < count; i++) {
        const struct value_entry *entry = &map->map.entries[i];
        double dollars = 0;
        prices[i].name = value_text(entry->key);
        prices[i].place = entry->key->place;
        if (!workload_file_is_number(entry->value) || !value_number(entry->value, &dollars)) {
            continue;
        }
        if (!(dollars >= 0 && dollars <= PRICE_MAX)) {
            wrong(reader, "price", entry->value, "invalid price",
                  "give the price in US dollars per hour, at most 1000000");
            continue;
        }
        prices[i].price = (int64_t)round(dollars * 1e6);
    }
    file->prices = prices;
    file->price_count = count;
}

static void read_machines(const struct workload_file_reader *reader, const struct value *map,
                          struct workload_file *file)
{
    size_t count = value_is(map, VALUE_MAP) ? map->map.count : 0;
    struct workload_machine *machines = ARENA_ARRAY(reader->arena, count, struct workload_machine);
    for (size_t i = 0; i < count; i++) {
        const struct value_entry *entry = &map->map.entries[i];
        machines[i].type = value_text(entry->key);
        machines[i].place = entry->key->place;
        machines[i].resources = read_resources(reader, entry->value);
    }
    file->machines = machines;
    file->machine_count = count;
}

static int64_t read_hours(const struct workload_file_reader *reader, const struct value *value)
{
    double hours = WORKLOAD_HOURS;
    if (!value || !workload_file_is_number(value) || !value_number(value, &hours)) {
        return WORKLOAD_HOURS * HOUR_MS;
    }
    double ms = round(hours * (double)HOUR_MS);
    if (!(ms >= 1000 && hours <= WORKLOAD_HOURS_MAX)) {
        wrong(reader, "hours", value, "the number of hours is not valid",
              "write a number of hours up to 8784 (a year)");
        return WORKLOAD_HOURS * HOUR_MS;
    }
    return (int64_t)ms;
}

struct workload_file *workload_file_read(struct arena *arena, const struct source *source,
                                         int64_t hours, struct diag_list *diags)
{
    struct workload_file_reader reader = {
        .arena = arena, .diags = diags, .is_own_time = hours == 0};
    struct workload_file *file = ARENA_NEW(arena, struct workload_file);
    const struct value *root = yaml_read(arena, source, diags);
    if (!root) {
        return NULL;
    }
    schema_check_as(&schema_workload, root, diags);
    file->about = value_text(value_get_c(root, "about"));
    file->duration = read_hours(&reader, value_get_c(root, "hours"));
    if (hours > 0) {
        file->duration = (hours < WORKLOAD_HOURS_MAX ? hours : WORKLOAD_HOURS_MAX) * HOUR_MS;
    }
    reader.duration = file->duration;
    read_classes(&reader, value_get_c(root, "work"), file);
    workload_file_read_bundles(&reader, value_get_c(root, "request_resources"), file);
    read_spot(&reader, value_get_c(root, "spot"), file);
    read_prices(&reader, value_get_c(root, "prices"), file);
    read_machines(&reader, value_get_c(root, "node_resources"), file);
    return diags->error_count == 0 ? file : NULL;
}

bool workload_price_find(const struct workload_file *file, struct str name, int64_t *ret_price)
{
    for (size_t i = 0; name.len > 0 && i < file->price_count; i++) {
        if (str_eq(file->prices[i].name, name)) {
            *ret_price = file->prices[i].price;
            return true;
        }
    }
    return false;
}
