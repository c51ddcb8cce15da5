/* ini.c: reads a configuration file line by line. */
#include "provider/aws/config/ini.h"

#include "base/buf.h"
#include "base/table.h"
#include "base/utf8.h"

/* Reader state: the section and the option that a continuation line belongs to. */
struct ini_reader {
    struct arena *arena;
    struct ini ini;
    size_t section_capacity;
    size_t option_capacity;
    size_t default_capacity;
    struct table section_index;
    struct table option_index; /* over all sections; the hash is seeded with the section's name */
    size_t line;
    size_t indent;             /* indent of the last line that was not a continuation */
    bool is_in_section;        /* a section was opened */
    bool is_in_defaults;       /* the current section is [DEFAULT] */
    struct ini_option *option; /* current option, or NULL; its value is in `value` */
    struct buf value;
    size_t bad_line; /* first line that is not an option; 0: none */
};

static bool ini_is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r') || (c >= '\x1c' && c <= '\x1f');
}

static struct str strip(struct str text)
{
    while (text.len > 0 && ini_is_blank(text.ptr[text.len - 1])) {
        text.len--;
    }
    while (text.len > 0 && ini_is_blank(text.ptr[0])) {
        text = str_sub(text, 1, text.len);
    }
    return text;
}

/* Lines end with "\n", "\r\n" or "\r". */
static struct str ini_do_read_line(struct str *rest)
{
    size_t end = 0;
    while (end < rest->len && rest->ptr[end] != '\n' && rest->ptr[end] != '\r') {
        end++;
    }
    struct str line = str_sub(*rest, 0, end);
    bool is_pair = end + 1 < rest->len && rest->ptr[end] == '\r' && rest->ptr[end + 1] == '\n';
    *rest = str_sub(*rest, end + (is_pair ? 2 : 1), rest->len);
    return line;
}

static struct str ini_lower(struct arena *arena, struct str name)
{
    char *text = arena_alloc(arena, name.len + 1);
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        text[i] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
    }
    return (struct str){text, name.len};
}

/* ---- values ---- */

/* Splits a value like Python's splitlines(), which knows more line ends than files use. */
static struct str take_value_line(struct str *rest)
{
    size_t end = 0;
    while (end < rest->len) {
        char c = rest->ptr[end];
        if ((c >= '\n' && c <= '\r') || (c >= '\x1c' && c <= '\x1e')) {
            break;
        }
        end++;
    }
    struct str line = str_sub(*rest, 0, end);
    *rest = str_sub(*rest, end + 1, rest->len);
    return line;
}

static bool split_nested(struct ini_reader *reader, struct ini_option *option)
{
    size_t capacity = 0;
    for (struct str rest = option->value; rest.len > 0;) {
        struct str value = strip(take_value_line(&rest));
        if (value.len == 0) {
            continue;
        }
        if (str_find_char(value, '=') == SIZE_MAX) {
            return false;
        }
        struct str name = strip(str_cut(&value, '='));
        ARENA_PUSH(reader->arena, option->nested, option->nested_count,
                   capacity) = (struct ini_pair){name, strip(value)};
    }
    return true;
}

/* Completes the current option: the collected lines become its value. */
static bool close_option(struct ini_reader *reader, struct err *err)
{
    struct ini_option *option = reader->option;
    if (!option) {
        return true;
    }
    struct str value = buf_str(&reader->value);
    while (value.len > 0 && ini_is_blank(value.ptr[value.len - 1])) {
        value.len--;
    }
    option->value = arena_str(reader->arena, value);
    reader->option = NULL;
    buf_clear(&reader->value);
    if (str_starts(option->value, "\n") && !split_nested(reader, option)) {
        return err_set(err, ERR_CONFIG, "before line %zu: a line of a nested section has no \"=\"",
                       reader->line);
    }
    return true;
}

/* ---- sections and options ---- */

struct section_query {
    const struct ini *ini;
    struct str name;
};

static bool is_section(const void *context, size_t position)
{
    const struct section_query *query = context;
    return str_eq(query->ini->sections[position].name, query->name);
}

static bool open_section(struct ini_reader *reader, struct str name, struct err *err)
{
    struct ini *ini = &reader->ini;
    struct section_query query = {ini, name};
    reader->is_in_section = true;
    reader->is_in_defaults = str_is(name, "DEFAULT");
    if (reader->is_in_defaults) {
        return true;
    }
    if (table_find(&reader->section_index, str_hash(name), is_section, &query) != TABLE_NONE) {
        return err_set(err, ERR_CONFIG, "line %zu: duplicate section", reader->line);
    }
    ARENA_GROW(reader->arena, ini->sections, ini->section_count, reader->section_capacity);
    ini->sections[ini->section_count] = (struct ini_section){arena_str(reader->arena, name),
                                                             ini->option_count, 0};
    table_add(&reader->section_index, reader->arena, str_hash(name), ini->section_count);
    ini->section_count++;
    return true;
}

struct option_query {
    const struct ini_option *options;
    size_t first; /* only options from this index on belong to the section */
    struct str name;
};

static bool is_option(const void *context, size_t position)
{
    const struct option_query *query = context;
    return position >= query->first && str_eq(query->options[position].name, query->name);
}

/* [DEFAULT] may be reopened and is small; its options are not in the index. */
static bool is_known_default(const struct ini *ini, struct str name)
{
    for (size_t i = 0; i < ini->default_count; i++) {
        if (str_eq(ini->defaults[i].name, name)) {
            return true;
        }
    }
    return false;
}

enum { DEFAULTS_MAX = 1000, SECTION_OPTIONS_MAX = 1000 };

static bool add_default(struct ini_reader *reader, struct str name, struct err *err)
{
    struct ini *ini = &reader->ini;
    if (is_known_default(ini, name)) {
        return err_set(err, ERR_CONFIG, "line %zu: duplicate name", reader->line);
    }
    if (ini->default_count == DEFAULTS_MAX) {
        return err_set(err, ERR_CONFIG, "line %zu: more than %d options in [DEFAULT]", reader->line,
                       DEFAULTS_MAX);
    }
    ARENA_GROW(reader->arena, ini->defaults, ini->default_count, reader->default_capacity);
    reader->option = &ini->defaults[ini->default_count++];
    *reader->option = (struct ini_option){.name = name};
    return true;
}

static bool ini_add_option(struct ini_reader *reader, struct str name, struct err *err)
{
    struct ini *ini = &reader->ini;
    if (reader->is_in_defaults) {
        return add_default(reader, name, err);
    }
    struct ini_section *section = &ini->sections[ini->section_count - 1];
    uint64_t hash = str_hash_from(ini->section_count, name);
    struct option_query query = {ini->options, section->first, name};
    if (table_find(&reader->option_index, hash, is_option, &query) != TABLE_NONE) {
        return err_set(err, ERR_CONFIG, "line %zu: duplicate name", reader->line);
    }
    if (section->count == SECTION_OPTIONS_MAX) {
        return err_set(err, ERR_CONFIG, "line %zu: more than %d options in a section", reader->line,
                       SECTION_OPTIONS_MAX);
    }
    ARENA_GROW(reader->arena, ini->options, ini->option_count, reader->option_capacity);
    table_add(&reader->option_index, reader->arena, hash, ini->option_count);
    /* Sections cannot be reopened, so the options of each are contiguous. */
    section->count++;
    reader->option = &ini->options[ini->option_count++];
    *reader->option = (struct ini_option){.name = name};
    return true;
}

static bool read_option(struct ini_reader *reader, struct str text, struct err *err)
{
    size_t at = 0;
    while (at < text.len && text.ptr[at] != '=' && text.ptr[at] != ':') {
        at++;
    }
    struct str name = strip(str_sub(text, 0, at));
    if (at == text.len || name.len == 0) {
        /* configparser continues and reports the error at the end. */
        reader->bad_line = reader->bad_line ? reader->bad_line : reader->line;
        return true;
    }
    if (!ini_add_option(reader, ini_lower(reader->arena, name), err)) {
        return false;
    }
    buf_add(&reader->value, strip(str_sub(text, at + 1, text.len)));
    return true;
}

/* ---- lines ---- */

static bool read_header(struct ini_reader *reader, struct str text, struct err *err)
{
    size_t end = text.len;
    while (end > 0 && text.ptr[end - 1] != ']') {
        end--;
    }
    bool is_header = text.ptr[0] == '[' && end > 2;
    if (is_header) {
        return close_option(reader, err) && open_section(reader, str_sub(text, 1, end - 1), err);
    }
    if (!reader->is_in_section) {
        return err_set(err, ERR_CONFIG, "line %zu is not in a [section]", reader->line);
    }
    return close_option(reader, err) && read_option(reader, text, err);
}

static bool ini_read_line(struct ini_reader *reader, struct str line, struct err *err)
{
    struct str text = strip(line);
    bool is_comment = text.len > 0 && (text.ptr[0] == '#' || text.ptr[0] == ';');
    if (is_comment) {
        return true;
    }
    if (text.len == 0) {
        buf_add_c(&reader->value, reader->option ? "\n" : "");
        return true;
    }
    size_t indent = 0;
    while (ini_is_blank(line.ptr[indent])) {
        indent++;
    }
    if (reader->option && indent > reader->indent) {
        buf_add_char(&reader->value, '\n');
        buf_add(&reader->value, text);
        return true;
    }
    reader->indent = indent;
    return read_header(reader, text, err);
}

bool ini_parse(struct str text, struct arena *arena, struct ini *ret_ini, struct err *err)
{
    struct ini_reader reader = {.arena = arena};
    bool ok = true;
    if (text.len > INI_BYTES_MAX) {
        return err_set(err, ERR_CONFIG, "the file has more than %d bytes", INI_BYTES_MAX);
    }
    if (!utf8_is_valid(text)) {
        return err_set(err, ERR_CONFIG, "the file is not UTF-8");
    }
    buf_init(&reader.value, INI_BYTES_MAX);
    while (ok && text.len > 0) {
        reader.line++;
        ok = ini_read_line(&reader, ini_do_read_line(&text), err);
    }
    ok = ok && close_option(&reader, err);
    buf_clear(&reader.value);
    if (ok && reader.bad_line > 0) {
        ok = err_set(err, ERR_CONFIG, "line %zu is neither a [section] nor \"name = value\"",
                     reader.bad_line);
    }
    if (ok) {
        *ret_ini = reader.ini;
    }
    return ok;
}

const struct ini_section *ini_section(const struct ini *ini, struct str name)
{
    for (size_t i = 0; i < ini->section_count; i++) {
        if (str_eq(ini->sections[i].name, name)) {
            return &ini->sections[i];
        }
    }
    return NULL;
}

const struct ini_option *ini_option(const struct ini *ini, const struct ini_section *section,
                                    const char *name)
{
    if (!section) {
        return NULL;
    }
    for (size_t i = 0; i < section->count; i++) {
        if (str_is(ini->options[section->first + i].name, name)) {
            return &ini->options[section->first + i];
        }
    }
    for (size_t i = 0; i < ini->default_count; i++) {
        if (str_is(ini->defaults[i].name, name)) {
            return &ini->defaults[i];
        }
    }
    return NULL;
}
