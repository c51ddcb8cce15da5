/*
 * yaml_read.c: builds values from libyaml's events.
 *
 * libyaml accepts a little more than PyYAML's scanner (for example tabs between words). Such input
 * is rejected by yaml_check.c before or after parsing, so that every file we accept is valid for
 * Ray.
 */
#include "config/document/yaml_read.h"

#include "base/table.h"
#include "base/utf8.h"
#include "config/document/yaml_check.h"
#include "config/document/yaml_scalar.h"

#include <string.h>
#include <yaml.h>

struct anchor {
    struct str name;
    struct value *value; /* NULL while the node is being read */
    struct place place;
};

struct yaml_read_reader {
    struct arena *arena;
    const struct source *source;
    struct diag_list *diags;
    yaml_parser_t parser;
    struct yaml_quoted *quoted; /* spans in which tabs are allowed */
    struct anchor *anchors;
    size_t anchor_count;
    size_t anchor_capacity;
    struct table anchor_index;
    size_t expanded; /* values added by aliases and merges so far */
    size_t depth;
};

static struct value *yaml_read_node(struct yaml_read_reader *reader, yaml_event_t *event);

static struct place yaml_read_place_of(const struct yaml_read_reader *reader, yaml_mark_t start,
                                       yaml_mark_t end)
{
    size_t width = end.line == start.line && end.column > start.column ? end.column - start.column
                                                                       : 1;
    return (struct place){reader->source, (uint32_t)start.line + 1, (uint32_t)start.column + 1,
                          (uint32_t)width};
}

static struct place event_place(const struct yaml_read_reader *reader, const yaml_event_t *event)
{
    return yaml_read_place_of(reader, event->start_mark, event->end_mark);
}

static void *yaml_read_fail(struct yaml_read_reader *reader, struct place place, const char *text)
{
    diag_error(reader->diags, "yaml", place, "%s", text);
    return NULL;
}

/* Translates libyaml's scanner messages to the user's mistake. */
static const char *scanner_hint(const char *problem)
{
    static const struct {
        const char *problem, *hint;
    } hints[] = {
        {"mapping values are not allowed", "text that contains \": \" must be quoted, or the "
                                           "previous line is incomplete"},
        {"did not find expected key", "compare the indentation of this line with the line above"},
        {"did not find expected '-' indicator", "check the indentation of this list"},
        {"could not find expected ':'", "a key needs a colon and a space after it"},
        {"found character that cannot start any token", "quote text that starts with this "
                                                        "character"},
        {"did not find expected node content",
         "a value is missing here, or a [ or { is not closed"},
        {"did not find expected ',' or", "a [ or { is not closed, or a comma is missing"},
        {"found unexpected end of stream", "a quote that starts here is never closed"},
        {"found undefined tag handle", "text that starts with ! must be quoted"},
        {"block sequence entries are not allowed", "a list must start on its own line"},
    };
    for (size_t i = 0; i < ARRAY_LEN(hints); i++) {
        if (strstr(problem, hints[i].problem)) {
            return hints[i].hint;
        }
    }
    return NULL;
}

static bool is_tab_at(const struct source *source, yaml_mark_t mark)
{
    struct str line = source_line(source, (uint32_t)mark.line + 1);
    for (size_t i = 0, column = 0, len; i < line.len; i += len, column++) {
        utf8_decode(str_sub(line, i, line.len), &len);
        if (column == mark.column) {
            return line.ptr[i] == '\t';
        }
    }
    return false;
}

static void *fail_parser(struct yaml_read_reader *reader)
{
    const yaml_parser_t *parser = &reader->parser;
    yaml_mark_t mark = parser->problem_mark;
    const char *problem = parser->problem ? parser->problem : "cannot be read";
    if (is_tab_at(reader->source, mark)) {
        yaml_report_tab(reader->diags, yaml_read_place_of(reader, mark, mark));
        return NULL;
    }
    struct diag *diag = diag_error(reader->diags, "yaml", yaml_read_place_of(reader, mark, mark),
                                   "invalid YAML: %s%s%s", parser->context ? parser->context : "",
                                   parser->context ? ", " : "", problem);
    const char *hint = scanner_hint(problem);
    if (hint) {
        diag_hint(reader->diags, diag, "%s", hint);
    }
    return NULL;
}

static bool next_event(struct yaml_read_reader *reader, yaml_event_t *event)
{
    if (!yaml_parser_parse(&reader->parser, event)) {
        fail_parser(reader);
        return false;
    }
    return true;
}

/* ---- anchors ---- */

struct anchor_lookup {
    const struct yaml_read_reader *reader;
    struct str name;
};

static bool same_anchor(const void *context, size_t position)
{
    const struct anchor_lookup *lookup = context;
    return str_eq(lookup->reader->anchors[position].name, lookup->name);
}

static struct anchor *find_anchor(const struct yaml_read_reader *reader, struct str name)
{
    struct anchor_lookup lookup = {reader, name};
    size_t found = table_find(&reader->anchor_index, str_hash(name), same_anchor, &lookup);
    return found == TABLE_NONE ? NULL : &reader->anchors[found];
}

/* Records the anchor `&name`; *ret_anchor is SIZE_MAX if there is none. False for a duplicate. */
static bool open_anchor(struct yaml_read_reader *reader, const yaml_char_t *name,
                        struct place place, size_t *ret_anchor)
{
    *ret_anchor = SIZE_MAX;
    if (!name) {
        return true;
    }
    struct str text = arena_str(reader->arena, str_from((const char *)name));
    const struct anchor *first = find_anchor(reader, text);
    if (first) {
        diag_error(reader->diags, "yaml", place, "the anchor &%.*s was already used in line %u",
                   STR_ARG(text), first->place.line);
        return false;
    }
    ARENA_GROW(reader->arena, reader->anchors, reader->anchor_count, reader->anchor_capacity);
    *ret_anchor = reader->anchor_count;
    table_add(&reader->anchor_index, reader->arena, str_hash(text), reader->anchor_count);
    reader->anchors[reader->anchor_count++] = (struct anchor){text, NULL, place};
    return true;
}

static void close_anchor(struct yaml_read_reader *reader, size_t anchor, struct value *value)
{
    if (anchor != SIZE_MAX) {
        reader->anchors[anchor].value = value;
    }
}

/* Limits the expansion of aliases, which are cheap to write and expensive to read. */
static bool count_expansion(struct yaml_read_reader *reader, size_t more, struct place place)
{
    reader->expanded += more;
    if (reader->expanded > YAML_EXPANSION_MAX) {
        diag_error(reader->diags, "yaml-too-large", place,
                   "aliases in this file expand to more than %d values; refusing to expand them",
                   YAML_EXPANSION_MAX);
        return false;
    }
    return true;
}

static bool check_depth(struct yaml_read_reader *reader, size_t depth, struct place place)
{
    if (depth > YAML_DEPTH_MAX) {
        diag_error(reader->diags, "yaml-too-deep", place,
                   "lists and maps are nested more than %d deep", YAML_DEPTH_MAX);
        return false;
    }
    return true;
}

static struct value *read_alias(struct yaml_read_reader *reader, const yaml_event_t *event)
{
    struct place place = event_place(reader, event);
    struct str name = str_from((const char *)event->data.alias.anchor);
    const struct anchor *anchor = find_anchor(reader, name);
    if (!anchor) {
        diag_error(reader->diags, "yaml", place, "the alias *%.*s has no anchor above it",
                   STR_ARG(name));
        return NULL;
    }
    if (!anchor->value) {
        diag_error(reader->diags, "yaml", place, "the alias *%.*s refers to itself", STR_ARG(name));
        return NULL;
    }
    bool fits = count_expansion(reader, anchor->value->weight, place) &&
                check_depth(reader, reader->depth + anchor->value->depth - 1, place);
    return fits ? anchor->value : NULL;
}

/* ---- scalars ---- */

static bool is_own_tag(const yaml_char_t *tag)
{
    return tag && strcmp((const char *)tag, "!") != 0;
}

static enum yaml_tag scalar_tag(const yaml_event_t *event, struct str text)
{
    const yaml_char_t *tag = event->data.scalar.tag;
    if (is_own_tag(tag)) {
        return yaml_tag_from(str_from((const char *)tag));
    }
    /* A lone ! makes quoted text plain, as in PyYAML. */
    return tag || event->data.scalar.plain_implicit ? yaml_resolve(text) : YAML_TAG_STR;
}

static bool scalar_problem(struct yaml_read_reader *reader, const yaml_event_t *event,
                           struct str text, const char *problem)
{
    const char *tag = (const char *)event->data.scalar.tag;
    diag_error(reader->diags, "yaml", event_place(reader, event), "%s%s\"%.*s\": %s",
               is_own_tag(event->data.scalar.tag) ? tag : "",
               is_own_tag(event->data.scalar.tag) ? " " : "", STR_ARG(str_sub(text, 0, 60)),
               problem);
    return false;
}

static struct value *read_scalar(struct yaml_read_reader *reader, const yaml_event_t *event)
{
    struct str text = arena_str(
        reader->arena, (struct str){(char *)event->data.scalar.value, event->data.scalar.length});
    struct value *value = value_new(reader->arena, VALUE_NULL, event_place(reader, event));
    const char *problem = NULL;
    size_t anchor;
    yaml_quoted_note(reader->quoted, reader->arena, event);
    if (!open_anchor(reader, event->data.scalar.anchor, value->place, &anchor)) {
        return NULL;
    }
    if (!yaml_construct(reader->arena, scalar_tag(event, text), text, value, &problem)) {
        scalar_problem(reader, event, text, problem);
        return NULL;
    }
    value->weight += (uint32_t)(text.len / 64);
    close_anchor(reader, anchor, value);
    return value;
}

/* ---- lists ---- */

/* !!omap and !!pairs: every item is a map with one entry, which becomes a pair. */
static bool make_pairs(struct yaml_read_reader *reader, struct value *list)
{
    for (size_t i = 0; i < list->list.count; i++) {
        struct value *item = list->list.items[i];
        if (item->kind != VALUE_MAP || item->map.count != 1) {
            yaml_read_fail(reader, item->place,
                           "each item of an ordered map must be a map of one entry");
            return false;
        }
        struct value *pair = value_new(reader->arena, VALUE_PAIR, item->place);
        value_list_add(reader->arena, pair, item->map.entries[0].key);
        value_list_add(reader->arena, pair, item->map.entries[0].value);
        list->list.items[i] = pair;
    }
    return true;
}

static bool finish_list(struct yaml_read_reader *reader, struct value *list, enum yaml_tag tag)
{
    if (tag == YAML_TAG_OMAP || tag == YAML_TAG_PAIRS) {
        return make_pairs(reader, list);
    }
    if (tag != YAML_TAG_SEQ) {
        yaml_read_fail(reader, list->place, "this tag cannot be used for a list");
        return false;
    }
    return true;
}

static struct value *yaml_read_list(struct yaml_read_reader *reader, const yaml_event_t *start)
{
    struct value *list = value_new(reader->arena, VALUE_LIST, event_place(reader, start));
    const yaml_char_t *tag = start->data.sequence_start.tag;
    enum yaml_tag kind = is_own_tag(tag) ? yaml_tag_from(str_from((const char *)tag))
                                         : YAML_TAG_SEQ;
    size_t anchor;
    list->place.width = 1;
    if (!check_depth(reader, ++reader->depth, list->place) ||
        !open_anchor(reader, start->data.sequence_start.anchor, list->place, &anchor)) {
        return NULL;
    }
    for (;;) {
        yaml_event_t event;
        if (!next_event(reader, &event)) {
            return NULL;
        }
        bool is_end = event.type == YAML_SEQUENCE_END_EVENT;
        struct value *item = is_end ? NULL : yaml_read_node(reader, &event);
        yaml_event_delete(&event);
        if (is_end) {
            break;
        }
        if (!item) {
            return NULL;
        }
        value_list_add(reader->arena, list, item);
    }
    reader->depth--;
    if (!finish_list(reader, list, kind)) {
        return NULL;
    }
    close_anchor(reader, anchor, list);
    return list;
}

/* ---- maps ---- */

/* Entries as written, before merges are applied. */
struct pending_map {
    struct value_entry *own;
    size_t own_count, own_capacity;
    struct value **merges;
    size_t merge_count, merge_capacity;
};

static void yaml_read_add_own(struct yaml_read_reader *reader, struct pending_map *pending,
                              struct value *key, struct value *value)
{
    ARENA_PUSH(reader->arena, pending->own, pending->own_count,
               pending->own_capacity) = (struct value_entry){key, value};
}

static bool add_merge(struct yaml_read_reader *reader, struct pending_map *pending,
                      struct value *value)
{
    if (value->kind != VALUE_MAP && value->kind != VALUE_SET) {
        yaml_read_fail(reader, value->place, "<< can only merge a map, or a list of maps");
        return false;
    }
    ARENA_PUSH(reader->arena, pending->merges, pending->merge_count,
               pending->merge_capacity) = value;
    return true;
}

/* In a list of maps the first takes precedence, so they are applied in reverse. */
static bool add_merges(struct yaml_read_reader *reader, struct pending_map *pending,
                       struct value *value)
{
    if (value->kind != VALUE_LIST) {
        return add_merge(reader, pending, value);
    }
    for (size_t i = value->list.count; i-- > 0;) {
        if (!add_merge(reader, pending, value->list.items[i])) {
            return false;
        }
    }
    return true;
}

static bool is_hashable(const struct value *key)
{
    return key->kind != VALUE_LIST && key->kind != VALUE_MAP && key->kind != VALUE_SET &&
           key->kind != VALUE_PAIR;
}

/* Python silently uses the last of two equal keys; we warn. */
static void warn_twice(struct yaml_read_reader *reader, const struct value *first,
                       const struct value *key)
{
    struct diag *diag = diag_warn(reader->diags, "duplicate-key", key->place,
                                  "%s%.*s%s is given twice",
                                  key->kind == VALUE_STRING ? "\"" : "this key",
                                  STR_ARG(value_text(key)), key->kind == VALUE_STRING ? "\"" : "");
    diag_hint(reader->diags, diag, "this value is used; the value in line %u is ignored",
              first->place.line);
}

static bool add_written(struct yaml_read_reader *reader, struct value *map,
                        const struct pending_map *pending)
{
    for (size_t i = 0; i < pending->own_count; i++) {
        struct value_entry *entry = &pending->own[i];
        if (!is_hashable(entry->key)) {
            yaml_read_fail(reader, entry->key->place, "a list or a map cannot be a key");
            return false;
        }
        const struct value *first = value_map_set(reader->arena, map, entry->key, entry->value);
        if (first) {
            warn_twice(reader, first, entry->key);
        }
    }
    return true;
}

/* Merged entries come first, as in PyYAML; the map's own entries override them. */
static bool fill_map(struct yaml_read_reader *reader, struct value *map,
                     const struct pending_map *pending)
{
    if (pending->merge_count == 0) {
        return add_written(reader, map, pending);
    }
    struct value *own = value_new(reader->arena, VALUE_MAP, map->place);
    if (!add_written(reader, own, pending)) {
        return false;
    }
    for (size_t i = 0; i < pending->merge_count; i++) {
        if (!count_expansion(reader, pending->merges[i]->map.count, map->place)) {
            return false;
        }
        value_map_update(reader->arena, map, pending->merges[i]);
    }
    value_map_update(reader->arena, map, own);
    return true;
}

enum key_role { KEY_ORDINARY, KEY_MERGE, KEY_EQUALS };

/* << and = are special as keys, only if plain (or tagged). */
static enum key_role key_role(const yaml_event_t *event)
{
    if (event->type != YAML_SCALAR_EVENT) {
        return KEY_ORDINARY;
    }
    struct str text = {(const char *)event->data.scalar.value, event->data.scalar.length};
    enum yaml_tag tag = scalar_tag(event, text);
    return tag == YAML_TAG_MERGE ? KEY_MERGE : tag == YAML_TAG_VALUE ? KEY_EQUALS : KEY_ORDINARY;
}

static struct value *read_special_key(struct yaml_read_reader *reader, const yaml_event_t *event)
{
    struct str text = {(const char *)event->data.scalar.value, event->data.scalar.length};
    yaml_quoted_note(reader->quoted, reader->arena, event);
    return value_string(reader->arena, arena_str(reader->arena, text), event_place(reader, event));
}

static bool read_entry(struct yaml_read_reader *reader, yaml_event_t *key_event,
                       struct pending_map *pending)
{
    enum key_role role = key_role(key_event);
    struct value *key = role == KEY_ORDINARY ? yaml_read_node(reader, key_event)
                                             : read_special_key(reader, key_event);
    yaml_event_t event;
    if (!key || !next_event(reader, &event)) {
        return false;
    }
    struct value *value = yaml_read_node(reader, &event);
    yaml_event_delete(&event);
    if (!value) {
        return false;
    }
    if (role == KEY_MERGE) {
        return add_merges(reader, pending, value);
    }
    yaml_read_add_own(reader, pending, key, value);
    return true;
}

static bool finish_map(struct yaml_read_reader *reader, struct value *map, enum yaml_tag tag,
                       const struct pending_map *pending)
{
    if (tag != YAML_TAG_MAP && tag != YAML_TAG_SET) {
        yaml_read_fail(reader, map->place, "this tag cannot be used for a map");
        return false;
    }
    map->kind = tag == YAML_TAG_SET ? VALUE_SET : VALUE_MAP;
    return fill_map(reader, map, pending);
}

static struct value *read_map(struct yaml_read_reader *reader, const yaml_event_t *start)
{
    struct value *map = value_new(reader->arena, VALUE_MAP, event_place(reader, start));
    const yaml_char_t *tag = start->data.mapping_start.tag;
    enum yaml_tag kind = is_own_tag(tag) ? yaml_tag_from(str_from((const char *)tag))
                                         : YAML_TAG_MAP;
    struct pending_map pending = {0};
    size_t anchor;
    map->place.width = 1;
    if (!check_depth(reader, ++reader->depth, map->place) ||
        !open_anchor(reader, start->data.mapping_start.anchor, map->place, &anchor)) {
        return NULL;
    }
    for (;;) {
        yaml_event_t event;
        if (!next_event(reader, &event)) {
            return NULL;
        }
        bool is_end = event.type == YAML_MAPPING_END_EVENT;
        bool ok = is_end || read_entry(reader, &event, &pending);
        yaml_event_delete(&event);
        if (!ok) {
            return NULL;
        }
        if (is_end) {
            break;
        }
    }
    reader->depth--;
    if (!finish_map(reader, map, kind, &pending)) {
        return NULL;
    }
    close_anchor(reader, anchor, map);
    return map;
}

static struct value *yaml_read_node(struct yaml_read_reader *reader, yaml_event_t *event)
{
    switch (event->type) {
    case YAML_ALIAS_EVENT:
        return read_alias(reader, event);
    case YAML_SCALAR_EVENT:
        return read_scalar(reader, event);
    case YAML_SEQUENCE_START_EVENT:
        return yaml_read_list(reader, event);
    case YAML_MAPPING_START_EVENT:
        return read_map(reader, event);
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_STREAM_END_EVENT:
    case YAML_DOCUMENT_START_EVENT:
    case YAML_DOCUMENT_END_EVENT:
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        break;
    }
    return yaml_read_fail(reader, event_place(reader, event),
                          "invalid YAML: a value is missing here");
}

/* ---- the document ---- */

/* The next event, which must be the start of a document (true) or the end of the stream (false). */
static bool starts_document(struct yaml_read_reader *reader, bool *ret_failed,
                            struct place *ret_place)
{
    yaml_event_t event;
    *ret_failed = !next_event(reader, &event);
    if (*ret_failed) {
        return false;
    }
    bool starts = event.type == YAML_DOCUMENT_START_EVENT;
    *ret_place = event_place(reader, &event);
    yaml_event_delete(&event);
    return starts;
}

static struct value *read_document(struct yaml_read_reader *reader)
{
    struct place place;
    bool failed;
    yaml_event_t event;
    starts_document(reader, &failed, &place); /* start of the stream */
    if (failed) {
        return NULL;
    }
    if (!starts_document(reader, &failed, &place)) {
        place = (struct place){reader->source, 1, 1, 1};
        return failed ? NULL : value_new(reader->arena, VALUE_NULL, place);
    }
    if (!next_event(reader, &event)) {
        return NULL;
    }
    struct value *root = yaml_read_node(reader, &event);
    yaml_event_delete(&event);
    if (!root || !next_event(reader, &event)) { /* end of the document */
        return NULL;
    }
    yaml_event_delete(&event);
    if (starts_document(reader, &failed, &place)) {
        return yaml_read_fail(reader, place,
                              "a second document starts here; a cluster file has only one");
    }
    return failed ? NULL : root;
}

struct value *yaml_read(struct arena *arena, const struct source *source, struct diag_list *diags)
{
    struct yaml_quoted quoted = {0};
    struct yaml_read_reader reader = {
        .arena = arena, .source = source, .diags = diags, .quoted = &quoted};
    if (!yaml_check_source(source, diags)) {
        return NULL;
    }
    if (!yaml_parser_initialize(&reader.parser)) {
        return yaml_read_fail(&reader, (struct place){source, 0, 0, 0}, "out of memory");
    }
    struct str text = yaml_skip_mark(source->text);
    yaml_parser_set_encoding(&reader.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&reader.parser, (const unsigned char *)text.ptr, text.len);
    struct value *root = read_document(&reader);
    yaml_parser_delete(&reader.parser);
    if (root && !yaml_check_scan(source, &quoted, diags)) {
        return NULL;
    }
    return root;
}
