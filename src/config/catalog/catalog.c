/* catalog.c: binary search over tables of text. Lines are sorted by their first field; comment
 * lines stand at the top. */
#include "config/catalog/catalog.h"

#include "base/suggest.h"
#include "config/embedded.h"

/* The table without its comment lines. */
static struct str table_body(struct str table)
{
    while (str_starts(table, "#")) {
        str_cut(&table, '\n');
    }
    return table;
}

/* The line that begins with `name` and a tab (or ends there); empty when there is none. */
static struct str find_line(struct str table, struct str name)
{
    struct str body = table_body(table);
    size_t low = 0;
    size_t high = body.len; /* both always at the start of a line, or at the end */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        while (middle > low && body.ptr[middle - 1] != '\n') {
            middle--;
        }
        struct str rest = str_sub(body, middle, body.len);
        struct str line = str_cut(&rest, '\n');
        struct str fields = line;
        int order = str_cmp(name, str_cut(&fields, '\t'));
        if (order == 0) {
            return line;
        }
        if (order < 0) {
            high = middle;
        } else {
            low = middle + line.len + 1;
        }
    }
    return STR("");
}

static uint32_t field_number(struct str *rest)
{
    uint32_t number;
    return str_to_u32(str_cut(rest, '\t'), &number) ? number : 0;
}

static struct str field_text(struct str *rest)
{
    struct str text = str_cut(rest, '\t');
    return str_is(text, "-") ? STR("") : text;
}

bool catalog_ec2_type(struct str name, struct machine_type *ret_type)
{
    struct str line = name.len > 0 ? find_line(embedded_ec2_types(), name) : STR("");
    if (line.len == 0) {
        return false;
    }
    ret_type->name = str_cut(&line, '\t');
    ret_type->vcpus = field_number(&line);
    ret_type->memory_mib = field_number(&line);
    ret_type->architectures = field_text(&line);
    ret_type->gpus = field_number(&line);
    ret_type->gpu_name = field_text(&line);
    str_cut(&line, '\t'); /* memory of one GPU */
    ret_type->neuron_cores = field_number(&line);
    return true;
}

/* Only top-level names count: "Ebs.VolumeSize" is not what somebody meant by "VolumeSize". */
static struct str nearest(struct str table, struct str name)
{
    struct suggest suggest;
    struct str body = table_body(table);
    suggest_start(&suggest, name);
    while (body.len > 0) {
        struct str line = str_cut(&body, '\n');
        struct str candidate = str_cut(&line, '\t');
        if (str_find(candidate, "[]") == SIZE_MAX) {
            suggest_offer(&suggest, candidate);
        }
    }
    return suggest_best(&suggest);
}

struct str catalog_ec2_nearest(struct str name)
{
    return nearest(embedded_ec2_types(), name);
}

bool catalog_ec2_param(struct str name)
{
    return name.len > 0 && find_line(embedded_ec2_params(), name).len > 0;
}

struct str catalog_ec2_param_nearest(struct str name)
{
    return nearest(embedded_ec2_params(), name);
}

struct str catalog_ec2_date(void)
{
    struct str rest = embedded_ec2_types();
    while (str_starts(rest, "#")) {
        struct str line = str_cut(&rest, '\n');
        if (str_starts(line, "# date: ")) {
            return str_trim(str_sub(line, 8, line.len));
        }
    }
    return STR("");
}
