/* schema.c: checks a configuration against the table. */
#include "config/schema/schema.h"

#include "base/number.h"
#include "base/suggest.h"
#include "config/catalog/catalog.h"

#include <math.h>
#include <string.h>

enum { PATH_MAX_BYTES = 400 };

struct checker {
    const struct schema_object *root;
    struct diag_list *diags;
    struct place fallback_place;
    struct buf path; /* "available_node_types.gpu" */
};

static void check_object(struct checker *checker, const struct value *value,
                         const struct schema_object *object, struct place key_place);

/* ---- names ---- */

unsigned schema_provider_bit(struct str provider_type)
{
    static const struct {
        const char *name;
        unsigned bit;
    } providers[] = {
        {"aws", FOR_AWS},         {"gcp", FOR_GCP},     {"azure", FOR_AZURE},
        {"vsphere", FOR_VSPHERE}, {"local", FOR_LOCAL}, {"external", FOR_EXTERNAL},
        {"readonly", FOR_OTHER},  {"spark", FOR_OTHER}, {"kuberay", FOR_OTHER},
    };
    for (size_t i = 0; i < ARRAY_LEN(providers); i++) {
        if (str_is(provider_type, providers[i].name)) {
            return providers[i].bit;
        }
    }
    return 0;
}

void schema_provider_names(struct buf *out, unsigned readers)
{
    static const char *const names[] = {"aws",   "gcp",      "azure",         "vsphere",
                                        "local", "external", "spark, kuberay"};
    const char *separator = "";
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (readers == 0 || (readers & 1U << i)) {
            buf_addf(out, "%s%s", separator, names[i]);
            separator = ", ";
        }
    }
}

static void schema_add_types(struct buf *out, unsigned types, const char *const *words,
                             const char *separator)
{
    const char *between = "";
    for (size_t i = 0; i < SCHEMA_TYPE_COUNT; i++) {
        if (types & 1U << i) {
            buf_addf(out, "%s%s", between, words[i]);
            between = separator;
        }
    }
}

void schema_type_text(struct buf *out, unsigned types)
{
    static const char *const words[] = {"text",  "a whole number", "a number", "true or false",
                                        "a map", "a list",         "null",     "anything"};
    schema_add_types(out, types, words, " or ");
}

void schema_type_names(struct buf *out, unsigned types)
{
    static const char *const words[] = {"string", "integer", "number", "boolean",
                                        "object", "array",   "null",   "any"};
    schema_add_types(out, types, words, "|");
}

/* ---- places and paths ---- */

/* Our default files are never at fault: reports the position of the provider instead. */
static struct place blame(const struct checker *checker, struct place place)
{
    return place_is_users(place) ? place : checker->fallback_place;
}

static size_t path_push(struct checker *checker, const struct value *key)
{
    size_t before = checker->path.len;
    if (before > 0) {
        buf_add_char(&checker->path, '.');
    }
    if (key->kind == VALUE_STRING) {
        buf_add(&checker->path, key->text);
    } else {
        buf_add_char(&checker->path, '?');
    }
    return before;
}

static void path_pop(struct checker *checker, size_t before)
{
    checker->path.len = before;
    checker->path.is_full = false;
}

/* ---- types ---- */

static bool is_integer(const struct value *value)
{
    return value->kind == VALUE_INT || value->kind == VALUE_BIG_INT ||
           (value->kind == VALUE_FLOAT && isfinite(value->number) &&
            floor(value->number) == value->number);
}

static bool has_type(const struct value *value, unsigned types)
{
    bool is_number = value->kind == VALUE_INT || value->kind == VALUE_BIG_INT ||
                     value->kind == VALUE_FLOAT;
    return (types & SCHEMA_ANY) || ((types & SCHEMA_STRING) && value->kind == VALUE_STRING) ||
           ((types & SCHEMA_INTEGER) && is_integer(value)) ||
           ((types & SCHEMA_NUMBER) && is_number) ||
           ((types & SCHEMA_BOOLEAN) && value->kind == VALUE_BOOL) ||
           ((types & SCHEMA_OBJECT) && value->kind == VALUE_MAP) ||
           ((types & SCHEMA_ARRAY) && value->kind == VALUE_LIST) ||
           ((types & SCHEMA_NULL) && value->kind == VALUE_NULL);
}

/* Suggests what the user most likely has to write instead. */
static void hint_type(struct checker *checker, struct diag *diag, const struct value *value,
                      unsigned types)
{
    double number;
    bool wants_number = types & (SCHEMA_INTEGER | SCHEMA_NUMBER);
    if (value->kind == VALUE_STRING && wants_number && number_parse(value->text, &number)) {
        diag_hint(checker->diags, diag, "remove the quotes");
    } else if (value->kind == VALUE_STRING && (types & SCHEMA_BOOLEAN) &&
               (str_is(value->text, "true") || str_is(value->text, "false"))) {
        diag_hint(checker->diags, diag, "remove the quotes");
    } else if (value->kind == VALUE_NULL && (types & SCHEMA_ARRAY)) {
        diag_hint(checker->diags, diag, "write [] for an empty list, or remove the key");
    } else if (value->kind == VALUE_NULL && (types & SCHEMA_OBJECT)) {
        diag_hint(checker->diags, diag, "write {} for an empty map, or remove the key");
    } else if (value->kind == VALUE_STRING && (types & SCHEMA_ARRAY)) {
        struct str text = value->text;
        bool is_short = text.len < 40 && str_find_char(text, '"') == SIZE_MAX;
        diag_hint(checker->diags, diag, "write it as a list: [%s%.*s%s]", is_short ? "\"" : "",
                  STR_ARG(is_short ? text : STR("...")), is_short ? "\"" : "");
    } else if (value->kind == VALUE_MAP && types == SCHEMA_STRING) {
        diag_hint(checker->diags, diag,
                  "put the text in quotes: without quotes, YAML reads text with \": \" as a map");
    } else if (value->kind == VALUE_NULL) {
        diag_hint(checker->diags, diag, "write a value, or remove the key");
    } else if ((types & SCHEMA_STRING) && value->kind != VALUE_LIST && value->kind != VALUE_MAP) {
        diag_hint(checker->diags, diag, "put it in quotes");
    }
}

static void report_type(struct checker *checker, const struct value *value, unsigned types)
{
    AUTO_BUF struct buf words;
    struct place place = blame(checker, value->place);
    buf_init(&words, 256);
    if (diag_has(checker->diags, "wrong-type", place)) {
        return; /* a value that was copied to several places is reported once */
    }
    schema_type_text(&words, types);
    struct diag *diag = diag_error(checker->diags, "wrong-type", blame(checker, value->place),
                                   "%.*s must be %.*s, not %s", STR_ARG(buf_str(&checker->path)),
                                   STR_ARG(buf_str(&words)), value_kind_text(value));
    hint_type(checker, diag, value, types);
}

static void check_items(struct checker *checker, const struct value *list,
                        const struct schema_key *key)
{
    for (size_t i = 0; i < list->list.count; i++) {
        const struct value *item = list->list.items[i];
        size_t before = checker->path.len;
        buf_addf(&checker->path, "[%zu]", i);
        if (!has_type(item, key->item_types)) {
            report_type(checker, item, key->item_types);
        } else if (key->object && item->kind == VALUE_MAP) {
            check_object(checker, item, key->object, item->place);
        }
        path_pop(checker, before);
    }
}

static void schema_check_choice(struct checker *checker, const struct value *value,
                                const char *const *choices)
{
    AUTO_BUF struct buf list;
    struct suggest suggest;
    struct str text = value_text(value);
    buf_init(&list, 512);
    suggest_start(&suggest, text);
    for (size_t i = 0; choices[i]; i++) {
        if (str_is(text, choices[i])) {
            return;
        }
        suggest_offer(&suggest, str_from(choices[i]));
        buf_addf(&list, "%s%s", i > 0 ? ", " : "", choices[i]);
    }
    struct diag *diag = diag_error(checker->diags, "unknown-choice", blame(checker, value->place),
                                   "%.*s cannot be \"%.*s\"", STR_ARG(buf_str(&checker->path)),
                                   STR_ARG(text));
    struct str best = suggest_best(&suggest);
    if (best.len > 0) {
        diag_hint(checker->diags, diag, "did you mean \"%.*s\"?", STR_ARG(best));
    } else {
        diag_hint(checker->diags, diag, "one of: %.*s", STR_ARG(buf_str(&list)));
    }
}

static void check_value(struct checker *checker, const struct schema_key *key,
                        const struct value_entry *entry)
{
    const struct value *value = entry->value;
    double number;
    if (!has_type(value, key->types)) {
        report_type(checker, value, key->types);
        return;
    }
    if ((key->flags & SCHEMA_NOT_NEGATIVE) && value_number(value, &number) && number < 0 &&
        !diag_has(checker->diags, "negative", blame(checker, value->place))) {
        diag_error(checker->diags, "negative", blame(checker, value->place),
                   "%.*s cannot be negative", STR_ARG(buf_str(&checker->path)));
    }
    if (key->choices) {
        schema_check_choice(checker, value, key->choices);
    }
    if (key->item_types && value->kind == VALUE_LIST) {
        check_items(checker, value, key);
    }
    if (key->object && value->kind == VALUE_MAP) {
        check_object(checker, value, key->object, entry->key->place);
    }
}

/* ---- keys ---- */

static const struct schema_key *schema_find_key(const struct schema_object *object, struct str name)
{
    const struct schema_key *any = NULL;
    for (size_t i = 0; i < object->count; i++) {
        if (str_is(name, object->keys[i].name)) {
            return &object->keys[i];
        }
        if (strcmp(object->keys[i].name, "*") == 0) {
            any = &object->keys[i];
        }
    }
    return any;
}

/* The title of the object in which this key would be valid; NULL if there is none. */
static const char *schema_home_of(const struct schema_object *object, struct str name)
{
    for (size_t i = 0; i < object->count; i++) {
        const struct schema_key *key = &object->keys[i];
        if (str_is(name, key->name)) {
            return object->title;
        }
        const char *below = key->object ? schema_home_of(key->object, name) : NULL;
        if (below) {
            return below;
        }
    }
    return NULL;
}

/* A missing key is attributed to a mistyped key only if both are in the same map. */
static const void *scope_of(const struct checker *checker, const struct schema_object *object,
                            const struct value *map)
{
    return object == checker->root ? NULL : map;
}

/* Suggests the intended key for a mistyped key of `map`, or where it belongs. */
static void hint_key(const struct checker *checker, struct diag *diag,
                     const struct schema_object *object, const struct value *map, struct str name)
{
    struct diag_list *diags = checker->diags;
    struct suggest suggest;
    suggest_start(&suggest, name);
    for (size_t i = 0; i < object->count; i++) {
        suggest_offer(&suggest, str_from(object->keys[i].name));
    }
    struct str best = suggest_best(&suggest);
    const char *home = schema_home_of(checker->root, name);
    if (diag_is_crowded(diags, diag->level)) {
        return; /* the finding would not be shown */
    }
    if (best.len == 0 && str_ends(name, "image") && schema_find_key(object, STR("worker_image"))) {
        best = STR("worker_image"); /* the docker section of a node type has only that one */
    }
    if (home && best.len == 0) {
        diag_hint(diags, diag, "it belongs in %s", home);
    } else if (best.len > 0) {
        diag_hint(diags, diag, "did you mean \"%.*s\"?", STR_ARG(best));
        diag->word = best;
        diag->scope = scope_of(checker, object, map);
    } else if (checker->root == &schema_root && catalog_param(CATALOG_EC2, name)) {
        diag_hint(diags, diag, "it belongs in the node_config of a node type");
    } else if (object->count <= 8) {
        AUTO_BUF struct buf list;
        buf_init(&list, 512);
        for (size_t i = 0; i < object->count; i++) {
            buf_addf(&list, "%s%s", i > 0 ? ", " : "", object->keys[i].name);
        }
        diag_hint(diags, diag, "known keys: %.*s", STR_ARG(buf_str(&list)));
    }
}

static void report_unknown_key(struct checker *checker, const struct schema_object *object,
                               const struct value *map, const struct value *key)
{
    struct place place = blame(checker, key->place);
    if (key->kind != VALUE_STRING) {
        struct diag *diag = diag_error(checker->diags, "unknown-key", place,
                                       "a key of %s must be text, not %s", object->title,
                                       value_kind_text(key));
        diag_hint(checker->diags, diag, "put it in quotes");
        return;
    }
    bool is_top = object == checker->root;
    struct diag *diag = diag_error(checker->diags, "unknown-key", place, "unknown key \"%.*s\"%s%s",
                                   STR_ARG(key->text), is_top ? "" : " in ",
                                   is_top ? "" : object->title);
    hint_key(checker, diag, object, map, key->text);
}

static void check_entry(struct checker *checker, const struct schema_object *object,
                        const struct value *map, const struct value_entry *entry)
{
    const struct schema_key *key = entry->key->kind == VALUE_STRING
                                       ? schema_find_key(object, entry->key->text)
                                       : NULL;
    if (!key) {
        if (object->extra == SCHEMA_EXTRA_ERROR) {
            report_unknown_key(checker, object, map, entry->key);
        }
        return;
    }
    size_t before = path_push(checker, entry->key);
    check_value(checker, key, entry);
    path_pop(checker, before);
}

static void schema_report_missing(struct checker *checker, const struct schema_key *key,
                                  const void *scope, struct place place)
{
    struct str path = buf_str(&checker->path);
    struct diag *diag = diag_error(checker->diags, "missing-key", blame(checker, place),
                                   "%.*s%s\"%s\" is missing", STR_ARG(path),
                                   path.len > 0 ? ": " : "", key->name);
    diag_hint(checker->diags, diag, "add: %s", key->example);
    diag_mark_missing(diag, scope, str_from(key->name));
}

/* Ray's only rule that involves two keys. */
static void check_proxy(struct checker *checker, const struct value *auth)
{
    const struct value *use_id = value_get_c(auth, "ssh_proxy_use_node_id");
    if (value_is(use_id, VALUE_BOOL) && use_id->boolean &&
        !value_get_c(auth, "ssh_proxy_command")) {
        diag_error(checker->diags, "missing-key", blame(checker, use_id->place),
                   "auth.ssh_proxy_use_node_id needs auth.ssh_proxy_command");
    }
}

static void check_object(struct checker *checker, const struct value *value,
                         const struct schema_object *object, struct place key_place)
{
    for (size_t i = 0; i < object->count; i++) {
        if ((object->keys[i].flags & SCHEMA_REQUIRED) &&
            !value_get_c(value, object->keys[i].name)) {
            schema_report_missing(checker, &object->keys[i], scope_of(checker, object, value),
                                  key_place);
        }
    }
    for (size_t i = 0; i < value->map.count; i++) {
        check_entry(checker, object, value, &value->map.entries[i]);
    }
}

void schema_check(const struct value *root, struct diag_list *diags, struct place fallback_place)
{
    struct checker checker = {&schema_root, diags, fallback_place, {0}};
    buf_init(&checker.path, PATH_MAX_BYTES);
    check_object(&checker, root, &schema_root, fallback_place);
    if (value_is(value_get_c(root, "auth"), VALUE_MAP)) {
        check_proxy(&checker, value_get_c(root, "auth"));
    }
    buf_clear(&checker.path);
}

void schema_check_as(const struct schema_object *object, const struct value *root,
                     struct diag_list *diags)
{
    struct checker checker = {object, diags, root->place, {0}};
    buf_init(&checker.path, PATH_MAX_BYTES);
    if (root->kind == VALUE_MAP) {
        check_object(&checker, root, object, root->place);
    } else {
        diag_error(diags, "wrong-type", root->place, "%s must be a map of keys, not %s",
                   object->title, value_kind_text(root));
    }
    buf_clear(&checker.path);
}

/* ---- unused keys ---- */

static void warn_unread(struct diag_list *diags, const struct value *provider,
                        const struct value_entry *entry, const struct schema_key *key)
{
    AUTO_BUF struct buf names;
    struct place place = entry->key->place;
    buf_init(&names, 256);
    if (!key) {
        struct diag *diag = diag_warn(diags, "ignored-key", place,
                                      "unknown key \"%.*s\" in provider",
                                      STR_ARG(value_text(entry->key)));
        const struct checker checker = {&schema_root, diags, place, {0}};
        hint_key(&checker, diag, &schema_provider, provider, value_text(entry->key));
        return;
    }
    if (key->flags & SCHEMA_INTERNAL) {
        diag_warn(diags, "ignored-key", place, "%s is ignored: only the launcher sets it",
                  key->name);
        return;
    }
    schema_provider_names(&names, key->readers);
    diag_warn(diags, "ignored-key", place, "provider %.*s ignores %s, which is a key of %.*s",
              STR_ARG(value_text(value_get_c(provider, "type"))), key->name,
              STR_ARG(buf_str(&names)));
}

static void check_provider_unread(const struct value *provider, struct diag_list *diags)
{
    const struct value *type = value_get_c(provider, "type");
    unsigned bit = schema_provider_bit(value_text(type));
    if (bit == FOR_EXTERNAL || (type && bit == 0)) {
        return; /* a plug-in may read any key; an unknown provider was already reported */
    }
    for (size_t i = 0; i < provider->map.count; i++) {
        const struct value_entry *entry = &provider->map.entries[i];
        if (entry->key->kind != VALUE_STRING) {
            continue;
        }
        const struct schema_key *key = schema_find_key(&schema_provider, entry->key->text);
        bool is_read = key && !(key->flags & SCHEMA_INTERNAL) &&
                       (bit == 0 || key->readers == 0 || (key->readers & bit));
        if (!is_read) {
            warn_unread(diags, provider, entry, key);
        }
    }
}

void schema_check_unread(const struct value *root, struct diag_list *diags)
{
    const struct value *provider = value_get_c(root, "provider");
    const struct value_entry *no_restart = value_entry_c(root, "no_restart");
    if (value_is(provider, VALUE_MAP)) {
        check_provider_unread(provider, diags);
    }
    if (no_restart) {
        diag_warn(diags, "ignored-key", no_restart->key->place,
                  "no_restart is ignored: only the launcher sets it");
    }
}
