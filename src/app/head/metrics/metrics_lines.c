/* metrics_lines.c: single lines of Prometheus's text format. */
#include "app/head/metrics/metrics_internal.h"
#include "base/number.h"
#include "base/utf8.h"

#include <math.h>

enum { VALUE_BYTES_MAX = 200 };

/* Doubles up to this value represent all whole numbers. */
static const double WHOLE_MAX = 1e15;

const char metrics_content_type[] = "text/plain; version=0.0.4; charset=utf-8";
const struct metrics_label metrics_none = {NULL, {NULL, 0}};

void metrics_family(struct metrics_writing *writing, const char *name, const char *type,
                    const char *help)
{
    buf_addf(writing->out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* Control characters and invalid UTF-8 become '?', so only two characters need a backslash. */
static void add_label(struct metrics_writing *writing, struct metrics_label label)
{
    AUTO_BUF struct buf visible;
    buf_init(&visible, 4 * VALUE_BYTES_MAX);
    utf8_add_visible(&visible, str_sub(label.value, 0, VALUE_BYTES_MAX), false);
    buf_addf(writing->out, "%s=\"", label.name);
    for (size_t i = 0; i < visible.len; i++) {
        char c = visible.ptr[i];
        if (c == '"' || c == '\\') {
            buf_add_char(writing->out, '\\');
        }
        buf_add_char(writing->out, c);
    }
    buf_add_char(writing->out, '"');
}

static void metrics_lines_add_value(struct buf *out, double value)
{
    if (value == floor(value) && fabs(value) < WHOLE_MAX) {
        buf_addf(out, "%.0f", value);
    } else {
        number_add_double(out, value);
    }
}

/* Every line has a label for the cluster; in Ray's names it is Ray's session name. */
void metrics_line(struct metrics_writing *writing, const char *name, const char *suffix,
                  struct metrics_label first, struct metrics_label second, double value)
{
    const struct metrics_scene *scene = writing->scene;
    bool is_ray_scaling = str_starts(str_from(name), "autoscaler_");
    struct metrics_label whose = {is_ray_scaling ? "SessionName" : "cluster",
                                  is_ray_scaling ? scene->session : scene->cluster};
    const struct metrics_label *labels[] = {&first, &second};
    buf_addf(writing->out, "%s%s{", name, suffix);
    for (size_t i = 0; i < ARRAY_LEN(labels); i++) {
        if (labels[i]->name) {
            add_label(writing, *labels[i]);
            buf_add_char(writing->out, ',');
        }
    }
    add_label(writing, whose);
    buf_add_c(writing->out, "} ");
    metrics_lines_add_value(writing->out, value);
    buf_add_char(writing->out, '\n');
}

void metrics_facts(struct metrics_writing *writing, const struct metrics_fact *facts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        metrics_family(writing, facts[i].name, facts[i].type, facts[i].help);
        metrics_line(writing, facts[i].name, "", metrics_none, metrics_none, facts[i].value);
    }
}

void metrics_add_histogram(struct metrics_writing *writing, const char *name, const char *help,
                           const struct metrics_histogram *histogram,
                           const struct metrics_bounds *bounds)
{
    uint64_t sum = 0;
    metrics_family(writing, name, "histogram", help);
    for (size_t i = 0; i <= bounds->count; i++) {
        AUTO_BUF struct buf bound;
        buf_init(&bound, 64);
        if (i < bounds->count) {
            number_add_double(&bound, bounds->items[i]);
        } else {
            buf_add_c(&bound, "+Inf");
        }
        sum += histogram->buckets[i];
        metrics_line(writing, name, "_bucket", (struct metrics_label){"le", buf_str(&bound)},
                     metrics_none, (double)sum);
    }
    metrics_line(writing, name, "_count", metrics_none, metrics_none, (double)histogram->count);
    metrics_line(writing, name, "_sum", metrics_none, metrics_none, histogram->sum);
}
