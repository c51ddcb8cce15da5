/* catalog.c: binary search in text tables. Lines are sorted by their first field; comment lines are
 * at the top. */
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

/* The line that starts with `name` and a tab (or consists of it); empty if there is none. */
static struct str find_line(struct str table, struct str name)
{
    struct str body = table_body(table);
    size_t low = 0;
    size_t high = body.len; /* both are always at the start of a line, or at the end */
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
    if (line.len == 0 || str_ends(line, "\t-\t-\t-")) {
        return false;
    }
    ret_type->name = str_cut(&line, '\t');
    ret_type->vcpus = field_number(&line);
    ret_type->memory_mib = field_number(&line);
    ret_type->architectures = field_text(&line);
    ret_type->gpus = field_number(&line);
    ret_type->gpu_name = field_text(&line);
    str_cut(&line, '\t'); /* skips the memory of one GPU */
    ret_type->neuron_cores = field_number(&line);
    return true;
}

bool catalog_ec2_has(struct str name)
{
    return name.len > 0 && find_line(embedded_ec2_types(), name).len > 0;
}

struct str catalog_ec2_nearest(struct str name)
{
    struct suggest suggest;
    struct str body = table_body(embedded_ec2_types());
    suggest_start(&suggest, name);
    while (body.len > 0) {
        struct str line = str_cut(&body, '\n');
        suggest_offer(&suggest, str_cut(&line, '\t'));
    }
    return suggest_best(&suggest);
}

static struct str param_table(enum catalog_api api)
{
    return api == CATALOG_EC2 ? embedded_ec2_params() : embedded_gce_fields();
}

bool catalog_param(enum catalog_api api, struct str name)
{
    return name.len > 0 && str_find_char(name, '.') == SIZE_MAX &&
           find_line(param_table(api), name).len > 0;
}

struct str catalog_param_type(enum catalog_api api, struct str path)
{
    struct str line = path.len > 0 ? find_line(param_table(api), path) : STR("");
    str_cut(&line, '\t');
    return str_cut(&line, '\t');
}

struct str catalog_param_values(enum catalog_api api, struct str path)
{
    struct str line = path.len > 0 ? find_line(param_table(api), path) : STR("");
    str_cut(&line, '\t');
    str_cut(&line, '\t');
    return line;
}

/* The member's name if `path` is directly below `parent`; otherwise empty. */
static struct str member_of(struct str path, struct str parent)
{
    if (parent.len > 0) {
        bool is_below = path.len > parent.len + 1 && path.ptr[parent.len] == '.' &&
                        str_eq(str_sub(path, 0, parent.len), parent);
        path = is_below ? str_sub(path, parent.len + 1, path.len) : STR("");
    }
    bool is_direct = str_find_char(path, '.') == SIZE_MAX && str_find_char(path, '[') == SIZE_MAX;
    return is_direct ? path : STR("");
}

struct str catalog_param_nearest(enum catalog_api api, struct str parent, struct str name)
{
    struct suggest suggest;
    struct str body = table_body(param_table(api));
    suggest_start(&suggest, name);
    while (body.len > 0) {
        struct str line = str_cut(&body, '\n');
        struct str member = member_of(str_cut(&line, '\t'), parent);
        if (member.len > 0) {
            suggest_offer(&suggest, member);
        }
    }
    return suggest_best(&suggest);
}

bool catalog_param_is_open(enum catalog_api api, struct str path)
{
    struct str body = table_body(param_table(api));
    while (body.len > 0) {
        struct str line = str_cut(&body, '\n');
        if (member_of(str_cut(&line, '\t'), path).len > 0) {
            return true;
        }
    }
    return false;
}

/* The text after "# KEY: " in the comment lines of a table. */
static struct str header_field(struct str table, const char *key)
{
    while (str_starts(table, "#")) {
        struct str line = str_cut(&table, '\n');
        struct str name = str_sub(line, 2, str_find_char(line, ':'));
        if (str_is(name, key)) {
            return str_trim(str_sub(line, 2 + name.len + 1, line.len));
        }
    }
    return STR("");
}

struct str catalog_ec2_date(void)
{
    return header_field(embedded_ec2_types(), "date");
}

bool catalog_ec2_price(struct str name, int64_t *ret_price)
{
    struct str line = name.len > 0 ? find_line(embedded_ec2_prices(), name) : STR("");
    str_cut(&line, '\t');
    return str_to_i64(line, ret_price);
}

struct str catalog_ec2_price_date(void)
{
    return header_field(embedded_ec2_prices(), "date");
}

struct str catalog_ec2_price_region(void)
{
    return header_field(embedded_ec2_prices(), "region");
}
