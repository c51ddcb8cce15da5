/* status_read.c: parses the reply of GetClusterStatus, with the same counts as `ray status`. */
#include "ray/status_internal.h"

#include "base/number.h"
#include "ray/state.h"
#include "ray/wire.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TEXT_BYTES_MAX = 64 * 1024 };

/* ---- resources ---- */

struct amounts {
    struct ray_quantity *items;
    size_t count, capacity;
};

static void status_read_amount(struct status_sheet *sheet, struct str entry,
                               struct amounts *amounts)
{
    struct wire wire = wire_open(entry);
    struct wire_field field;
    struct ray_quantity amount = {0};
    while (wire_next(&wire, &field)) {
        if (field.key == WIRE_KEY(1, WIRE_BYTES)) {
            amount.name = field.bytes;
        } else if (field.key == WIRE_KEY(2, WIRE_FIXED64)) {
            amount.amount = wire_double(field.number);
        }
    }
    sheet->is_broken = sheet->is_broken || wire.is_broken;
    ARENA_PUSH(sheet->arena, amounts->items, amounts->count, amounts->capacity) = amount;
}

/* Parses the map at this tag of a message. */
static struct amounts status_read_amounts(struct status_sheet *sheet, struct str message,
                                          uint32_t tag)
{
    struct amounts amounts = {0};
    struct wire wire = wire_open(message);
    struct wire_field field;
    while (wire_next(&wire, &field)) {
        if (field.key == WIRE_KEY(tag, WIRE_BYTES)) {
            status_read_amount(sheet, field.bytes, &amounts);
        }
    }
    sheet->is_broken = sheet->is_broken || wire.is_broken;
    return amounts;
}

static int status_read_by_name(const void *a, const void *b)
{
    const struct ray_quantity *left = a;
    const struct ray_quantity *right = b;
    return str_cmp(left->name, right->name);
}

/* Quotes a string like Python's repr(). */
static void status_read_add_quoted(struct buf *out, struct str text)
{
    char quote = str_find_char(text, '\'') != SIZE_MAX && str_find_char(text, '"') == SIZE_MAX
                     ? '"'
                     : '\'';
    buf_add_char(out, quote);
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if (c == (unsigned char)quote || c == '\\') {
            buf_add_char(out, '\\');
            buf_add_char(out, (char)c);
        } else if (c < ' ' || c == 0x7f) {
            const char *at = strchr("\nn\tt\rr", c);
            if (at && c != '\0') {
                buf_addf(out, "\\%c", at[1]);
            } else {
                buf_addf(out, "\\x%02x", c);
            }
        } else {
            buf_add_char(out, (char)c);
        }
    }
    buf_add_char(out, quote);
}

/* "{'CPU': 1.0, 'GPU': 2.0}" */
static struct str shape_of(struct status_sheet *sheet, struct amounts *amounts)
{
    AUTO_BUF struct buf out;
    buf_init(&out, TEXT_BYTES_MAX);
    if (amounts->count > 1) {
        qsort(amounts->items, amounts->count, sizeof(*amounts->items), status_read_by_name);
    }
    buf_add_char(&out, '{');
    for (size_t i = 0; i < amounts->count; i++) {
        buf_add_c(&out, i > 0 ? ", " : "");
        status_read_add_quoted(&out, amounts->items[i].name);
        buf_add_c(&out, ": ");
        number_add_double(&out, amounts->items[i].amount);
    }
    buf_add_char(&out, '}');
    return arena_str(sheet->arena, buf_str(&out));
}

static bool is_letter_or_digit(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* The text after "_group_": an id, or a bundle index and an id. */
static bool is_group(struct str rest, bool has_number)
{
    if (has_number) {
        size_t digits = 0;
        while (digits < rest.len && rest.ptr[digits] >= '0' && rest.ptr[digits] <= '9') {
            digits++;
        }
        if (digits == 0 || digits >= rest.len || rest.ptr[digits] != '_') {
            return false;
        }
        rest = str_sub(rest, digits + 1, rest.len);
    }
    return rest.len > 0 && is_letter_or_digit(rest.ptr[0]);
}

/* The last matching "_group_" is used. */
bool status_split_group(struct str resource, struct str *ret_name, bool *ret_is_indexed)
{
    static const struct str word = {"_group_", 7};
    for (int pass = 0; pass < 2; pass++) {
        *ret_is_indexed = pass == 0;
        for (size_t at = resource.len; at-- > 1;) {
            struct str rest = str_sub(resource, at, resource.len);
            if (str_starts(rest, word.ptr) &&
                is_group(str_sub(rest, word.len, rest.len), pass == 0)) {
                *ret_name = str_sub(resource, 0, at);
                return true;
            }
        }
    }
    *ret_is_indexed = false;
    *ret_name = resource;
    return false;
}

/* ---- nodes ---- */

static void add_uses(struct status_sheet *sheet, struct str node)
{
    struct amounts totals = status_read_amounts(sheet, node, 5);
    struct amounts available = status_read_amounts(sheet, node, 4);
    struct counter uses = {0};
    for (size_t i = 0; i < totals.count; i++) {
        struct counter_item *use = counter_of(&uses, sheet->arena, totals.items[i].name);
        use->total += totals.items[i].amount;
        use->used += totals.items[i].amount;
    }
    for (size_t i = 0; i < available.count; i++) {
        counter_of(&uses, sheet->arena, available.items[i].name)->used -= available.items[i].amount;
    }
    for (size_t i = 0; i < uses.count; i++) {
        struct counter_item *all = counter_of(&sheet->uses, sheet->arena, uses.items[i].name);
        all->used += uses.items[i].used;
        all->total += uses.items[i].total;
    }
}

static struct str id_type(struct status_sheet *sheet, struct str id)
{
    AUTO_BUF struct buf out;
    buf_init(&out, 2 * id.len + 16);
    buf_add_c(&out, "node_");
    for (size_t i = 0; i < id.len; i++) {
        buf_addf(&out, "%02x", (unsigned char)id.ptr[i]);
    }
    return arena_str(sheet->arena, buf_str(&out));
}

static void status_read_add_node(struct status_sheet *sheet, struct str node)
{
    struct wire wire = wire_open(node);
    struct wire_field field;
    struct str id = {0};
    struct str instance = {0};
    struct str type = {0};
    uint64_t status = RAY_NODE_UNSPECIFIED;
    while (wire_next(&wire, &field)) {
        switch (field.key) {
        case WIRE_KEY(1, WIRE_BYTES):
            id = field.bytes;
            break;
        case WIRE_KEY(2, WIRE_BYTES):
            instance = field.bytes;
            break;
        case WIRE_KEY(3, WIRE_BYTES):
            type = field.bytes;
            break;
        case WIRE_KEY(8, WIRE_VARINT):
            status = field.number;
            break;
        default:
            break;
        }
    }
    sheet->is_broken = sheet->is_broken || wire.is_broken;
    type = type.len > 0 ? type : id_type(sheet, id);
    if (status == RAY_NODE_DEAD) {
        if (sheet->dead_count++ < STATUS_FAILURES_MAX) {
            buf_addf(&sheet->dead, " %.*s: NodeTerminated (instance_id: %.*s)\n", STR_ARG(type),
                     STR_ARG(instance));
        }
        return;
    }
    add_uses(sheet, node);
    counter_of(status == RAY_NODE_IDLE ? &sheet->idle : &sheet->active, sheet->arena, type)
        ->count++;
}

/* ---- demand ---- */

/* Parses a ResourceRequestByCount. */
static struct str status_read_request_of(struct status_sheet *sheet, struct str bytes,
                                         int64_t *ret_count)
{
    struct wire wire = wire_open(bytes);
    struct wire_field field;
    struct str request = {0};
    *ret_count = 0;
    while (wire_next(&wire, &field)) {
        if (field.key == WIRE_KEY(1, WIRE_BYTES)) {
            request = field.bytes;
        } else if (field.key == WIRE_KEY(2, WIRE_VARINT)) {
            *ret_count = (int64_t)field.number;
        }
    }
    sheet->is_broken = sheet->is_broken || wire.is_broken;
    return request;
}

static void status_read_add_demand(struct status_sheet *sheet, struct str bytes)
{
    int64_t count;
    struct str request = status_read_request_of(sheet, bytes, &count);
    struct amounts asked = status_read_amounts(sheet, request, 1);
    struct amounts plain = {0};
    bool is_in_group = false;
    for (size_t i = 0; i < asked.count; i++) {
        struct str name;
        bool is_indexed;
        is_in_group = status_split_group(asked.items[i].name, &name, &is_indexed) || is_in_group;
        size_t at = 0;
        while (at < plain.count && !str_eq(plain.items[at].name, name)) {
            at++;
        }
        if (at == plain.count) {
            ARENA_GROW(sheet->arena, plain.items, plain.count, plain.capacity);
            plain.count++;
        }
        plain.items[at] = (struct ray_quantity){name, asked.items[i].amount};
    }
    for (size_t i = 0; is_in_group && i < plain.count; i++) {
        if (str_is(plain.items[i].name, "bundle")) { /* not a user resource */
            plain.items[i] = plain.items[--plain.count];
        }
    }
    if (plain.count > 0) {
        struct counter_item *item = counter_of(&sheet->demands, sheet->arena,
                                               shape_of(sheet, &plain));
        item->count += count;
        item->part += is_in_group ? count : 0;
        item->is_counted = item->is_counted || is_in_group;
    }
}

/* "ID:STRATEGY|STATE" to "STRATEGY|STATE"; Ray ignores other forms. */
static struct str strategy_of(struct str details)
{
    size_t colon = str_find_char(details, ':');
    struct str rest = colon == SIZE_MAX ? STR("") : str_sub(details, colon + 1, details.len);
    return str_find_char(rest, '|') == SIZE_MAX ? STR("None|None") : rest;
}

static void status_read_add_group(struct status_sheet *sheet, struct str gang)
{
    struct wire wire = wire_open(gang);
    struct wire_field field;
    struct str details = {0};
    struct counter shapes = {0};
    AUTO_BUF struct buf text;
    buf_init(&text, TEXT_BYTES_MAX);
    while (wire_next(&wire, &field)) {
        if (field.key == WIRE_KEY(1, WIRE_BYTES)) {
            struct amounts amounts = status_read_amounts(sheet, field.bytes, 1);
            counter_of(&shapes, sheet->arena, shape_of(sheet, &amounts))->count++;
        } else if (field.key == WIRE_KEY(2, WIRE_BYTES)) {
            details = field.bytes;
        }
    }
    sheet->is_broken = sheet->is_broken || wire.is_broken;
    for (size_t i = 0; i < shapes.count; i++) {
        buf_addf(&text, "%s%.*s * %lld", i > 0 ? ", " : "", STR_ARG(shapes.items[i].name),
                 (long long)shapes.items[i].count);
    }
    struct counter_item *item = counter_of(&sheet->groups, sheet->arena, strategy_of(details));
    item->count++;
    item->text = arena_str(sheet->arena, buf_str(&text));
}

static void add_constraint(struct status_sheet *sheet, struct str constraint)
{
    struct wire wire = wire_open(constraint);
    struct wire_field field;
    while (wire_next(&wire, &field)) {
        if (field.key == WIRE_KEY(1, WIRE_BYTES)) {
            int64_t count;
            struct str request = status_read_request_of(sheet, field.bytes, &count);
            struct amounts amounts = status_read_amounts(sheet, request, 1);
            buf_addf(&sheet->constraints, " %.*s: %lld from request_resources()\n",
                     STR_ARG(shape_of(sheet, &amounts)), (long long)count);
        }
    }
    sheet->is_broken = sheet->is_broken || wire.is_broken;
}

static void status_read_state(struct status_sheet *sheet, struct str state)
{
    struct wire wire = wire_open(state);
    struct wire_field field;
    while (wire_next(&wire, &field)) {
        if (field.key == WIRE_KEY(3, WIRE_BYTES)) {
            status_read_add_node(sheet, field.bytes);
        } else if (field.key == WIRE_KEY(4, WIRE_BYTES)) {
            status_read_add_demand(sheet, field.bytes);
        } else if (field.key == WIRE_KEY(5, WIRE_BYTES)) {
            status_read_add_group(sheet, field.bytes);
        } else if (field.key == WIRE_KEY(6, WIRE_BYTES)) {
            add_constraint(sheet, field.bytes);
        }
    }
    sheet->is_broken = sheet->is_broken || wire.is_broken;
}

/* ---- the autoscaler's report ---- */

/* The strings at tags 1 to 5 of a message, and the number at tag 5. */
struct report_row {
    struct str texts[6];
    int64_t number;
};

static struct report_row status_read_row(struct status_sheet *sheet, struct str bytes)
{
    struct report_row row = {0};
    struct wire wire = wire_open(bytes);
    struct wire_field field;
    while (wire_next(&wire, &field)) {
        for (uint32_t tag = 1; tag <= 5; tag++) {
            if (field.key == WIRE_KEY(tag, WIRE_BYTES)) {
                row.texts[tag] = field.bytes;
            }
        }
        if (field.key == WIRE_KEY(5, WIRE_VARINT)) {
            row.number = (int64_t)field.number;
        }
    }
    sheet->is_broken = sheet->is_broken || wire.is_broken;
    return row;
}

static void status_read_add_pending(struct status_sheet *sheet, const struct report_row *row)
{
    buf_addf(&sheet->pending, " %.*s: %.*s, ", STR_ARG(row->texts[3]), STR_ARG(row->texts[2]));
    for (size_t i = 0; i < row->texts[5].len; i++) {
        char c = row->texts[5].ptr[i];
        buf_add_char(&sheet->pending, c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c);
    }
    buf_add_char(&sheet->pending, '\n');
}

static void status_read_add_failure(struct status_sheet *sheet, const struct report_row *row)
{
    time_t when = (time_t)row->number;
    struct tm parts = {0};
    localtime_r(&when, &parts);
    ARENA_GROW(sheet->arena, sheet->failures, sheet->failure_count, sheet->failure_capacity);
    sheet->failures[sheet->failure_count] = (struct status_failure){
        .asked_s = row->number,
        .order = sheet->failure_count,
        .text = arena_printf(sheet->arena, " %.*s: LaunchFailed (latest_attempt: %02d:%02d:%02d)\n",
                             STR_ARG(row->texts[2]), parts.tm_hour, parts.tm_min, parts.tm_sec),
    };
    sheet->failure_count++;
}

static void read_report(struct status_sheet *sheet, struct str report)
{
    struct wire wire = wire_open(report);
    struct wire_field field;
    while (wire_next(&wire, &field)) {
        if (field.key == WIRE_KEY(3, WIRE_BYTES)) {
            struct report_row row = status_read_row(sheet, field.bytes);
            /* As in Ray: counts calls, not the machines that they request. */
            counter_of(&sheet->launching, sheet->arena, row.texts[2])->count++;
        } else if (field.key == WIRE_KEY(7, WIRE_BYTES)) {
            struct report_row row = status_read_row(sheet, field.bytes);
            status_read_add_pending(sheet, &row);
        } else if (field.key == WIRE_KEY(8, WIRE_BYTES)) {
            struct report_row row = status_read_row(sheet, field.bytes);
            status_read_add_failure(sheet, &row);
        }
    }
    sheet->is_broken = sheet->is_broken || wire.is_broken;
}

/* ---- the reply ---- */

bool status_read(struct status_sheet *sheet, struct str reply)
{
    struct wire wire = wire_open(reply);
    struct wire_field field;
    while (wire_next(&wire, &field)) {
        if (field.key == WIRE_KEY(1, WIRE_BYTES)) {
            read_report(sheet, field.bytes);
        } else if (field.key == WIRE_KEY(2, WIRE_BYTES)) {
            status_read_state(sheet, field.bytes);
        }
    }
    return !wire.is_broken && !sheet->is_broken;
}
