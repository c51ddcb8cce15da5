/* secret.c: masking by name. A name that only points to a secret (a path, an id) is no secret. */
#include "config/secret.h"

#include "base/buf.h"

#include <string.h>

enum { WORD_MAX = 128 };

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

static bool is_word_char(char c)
{
    char l = lower(c);
    return (l >= 'a' && l <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

/* Does a key or a variable of this name hold a secret? */
static bool names_secret(struct str name)
{
    static const char *const parts[] = {"password", "passwd",     "secret",          "token",
                                        "api_key",  "access_key", "credential",      "apikey",
                                        "api-key",  "access-key", "private_key_data"};
    static const char *const innocent[] = {"gcp_credentials", "_file",     "_path",
                                           "secret_name",     "token_ttl", "httptokens"};
    char text[WORD_MAX + 1] = {0};
    for (size_t i = 0; i < name.len && i < WORD_MAX; i++) {
        text[i] = lower(name.ptr[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(innocent); i++) {
        if (strstr(text, innocent[i])) {
            return false;
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        if (strstr(text, parts[i])) {
            return true;
        }
    }
    return false;
}

/* The end of a shell word that begins at `from`, quotes respected. */
static size_t word_end(struct str text, size_t from)
{
    char quote = '\0';
    size_t at = from;
    for (; at < text.len; at++) {
        char c = text.ptr[at];
        if (quote) {
            quote = c == quote ? '\0' : quote;
        } else if (c == '"' || c == '\'') {
            quote = c;
        } else if (strchr(" \t\n;&|", c)) {
            break;
        }
    }
    return at;
}

/* The name that ends at `at`, not reaching back before `from`. */
static struct str name_before(struct str text, size_t from, size_t at)
{
    size_t start = at;
    while (start > from && is_word_char(text.ptr[start - 1])) {
        start--;
    }
    return str_sub(text, start, at);
}

/* NAME=value with the value masked, wherever NAME names a secret. */
static struct str mask_text(struct arena *arena, struct str text)
{
    AUTO_BUF struct buf out;
    buf_init(&out, text.len * 2 + 64);
    size_t done = 0;
    for (size_t at = 0; at < text.len; at++) {
        if (text.ptr[at] != '=' || !names_secret(name_before(text, done, at))) {
            continue;
        }
        buf_add(&out, str_sub(text, done, at + 1));
        buf_add_c(&out, SECRET_MASK);
        done = word_end(text, at + 1);
        at = done > at ? done - 1 : at;
    }
    if (done == 0) {
        return text;
    }
    buf_add(&out, str_sub(text, done, text.len));
    return arena_str(arena, buf_str(&out));
}

static struct value *mask(struct arena *arena, const struct value *value, bool is_secret);

static struct value *mask_map(struct arena *arena, const struct value *map, bool is_secret)
{
    struct value *copy = value_copy_shallow(arena, map);
    for (size_t i = 0; i < copy->map.count; i++) {
        struct value_entry *entry = &copy->map.entries[i];
        bool named = names_secret(value_text(entry->key));
        entry->value = mask(arena, entry->value, is_secret || named);
    }
    return copy;
}

static struct value *mask_list(struct arena *arena, const struct value *list, bool is_secret)
{
    struct value *copy = value_copy_shallow(arena, list);
    for (size_t i = 0; i < copy->list.count; i++) {
        copy->list.items[i] = mask(arena, copy->list.items[i], is_secret);
    }
    return copy;
}

static struct value *mask(struct arena *arena, const struct value *value, bool is_secret)
{
    if (value->kind == VALUE_MAP) {
        return mask_map(arena, value, is_secret);
    }
    if (value->kind == VALUE_LIST) {
        return mask_list(arena, value, is_secret);
    }
    struct value *copy = value_copy_shallow(arena, value);
    if (is_secret && value->kind != VALUE_NULL && value->kind != VALUE_BOOL) {
        copy->kind = VALUE_STRING;
        copy->text = STR(SECRET_MASK);
    } else if (value->kind == VALUE_STRING) {
        copy->text = mask_text(arena, value->text);
    }
    return copy;
}

struct value *secret_mask(struct arena *arena, const struct value *config)
{
    return mask(arena, config, false);
}
