/* secret_text.c: finds secrets in shell text. One left-to-right pass tracks quotes; each secret is
 * masked up to the end of its shell word. */
#include "base/secret_text.h"

#include "base/buf.h"

#include <string.h>

/* Longer names and passwords are ignored: the search must stay linear. */
enum { WORD_MAX = 32, NAME_MAX_BYTES = 100, PASSWORD_MAX_BYTES = 300 };

/* ---- names ---- */

static char secret_text_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static bool secret_text_is_letter(char c)
{
    return secret_text_lower(c) >= 'a' && secret_text_lower(c) <= 'z';
}

/* The next word of a name in lower case: API_KEY, api-key and ApiKey are "api", "key". */
static bool next_word(struct str *rest, char word[WORD_MAX + 1])
{
    size_t from = 0;
    while (from < rest->len && !secret_text_is_letter(rest->ptr[from])) {
        from++;
    }
    size_t to = from;
    while (to < rest->len && secret_text_is_letter(rest->ptr[to]) &&
           !(to > from && is_upper(rest->ptr[to]) && !is_upper(rest->ptr[to - 1]))) {
        to++;
    }
    size_t len = to - from > WORD_MAX ? WORD_MAX : to - from;
    for (size_t i = 0; i < len; i++) {
        word[i] = secret_text_lower(rest->ptr[from + i]);
    }
    word[len] = '\0';
    *rest = str_sub(*rest, to, rest->len);
    return len > 0;
}

static bool secret_text_is_one_of(const char *word, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(word, list[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* PGPASSWORD and SSHPASS are single words. */
static bool ends_with_secret(const char *word)
{
    static const char *const ends[] = {"password", "passwd", "secret", "token", "sshpass"};
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        if (str_ends(str_from(word), ends[i])) {
            return true;
        }
    }
    return false;
}

bool secret_is_name(struct str name)
{
    static const char *const secrets[] = {"password",    "passwd",  "passphrase", "pass",
                                          "secret",      "secrets", "token",      "credential",
                                          "credentials", "apikey",  "pat",        "pwd"};
    static const char *const keys[] = {"api", "access", "secret", "account", "auth", "license"};
    static const char *const pointers[] = {"file", "path", "dir", "name", "ttl", "type"};
    char word[WORD_MAX + 1];
    char before[WORD_MAX + 1] = "";
    bool found = false;
    while (next_word(&name, word)) {
        bool is_key = strcmp(word, "key") == 0 &&
                      secret_text_is_one_of(before, keys, ARRAY_LEN(keys));
        if (found && secret_text_is_one_of(word, pointers, ARRAY_LEN(pointers))) {
            return false; /* names the location of a secret, not the secret itself */
        }
        found = found || is_key || secret_text_is_one_of(word, secrets, ARRAY_LEN(secrets)) ||
                ends_with_secret(word);
        memcpy(before, word, sizeof(before));
    }
    return found;
}

/* ---- the end of a shell word ---- */

static size_t skip_to(struct str text, size_t at, char end)
{
    for (; at < text.len && text.ptr[at] != end; at++) {
        at += text.ptr[at] == '\\' && end != '\'' ? 1 : 0;
    }
    return at < text.len ? at + 1 : text.len;
}

/* The offset after the closing parenthesis of a $( that starts before `at`. */
static size_t skip_command(struct str text, size_t at)
{
    for (size_t depth = 1; at < text.len && depth > 0; at++) {
        depth += text.ptr[at] == '(' ? 1 : 0;
        depth -= text.ptr[at] == ')' ? 1 : 0;
    }
    return at;
}

/* The end of the word at `at`; `quote` is the enclosing quote, or 0. */
static size_t word_end(struct str text, size_t at, char quote)
{
    while (at < text.len) {
        char c = text.ptr[at];
        if (quote ? c == quote : strchr(" \t\n;&|)", c) != NULL) {
            break;
        }
        if (c == '\\' && quote != '\'') {
            at += 2;
        } else if (!quote && (c == '"' || c == '\'')) {
            at = skip_to(text, at + 1, c);
        } else if (c == '`' && quote != '\'') {
            at = skip_to(text, at + 1, '`');
        } else if (c == '$' && quote != '\'' && at + 1 < text.len && text.ptr[at + 1] == '(') {
            at = skip_command(text, at + 2);
        } else {
            at++;
        }
    }
    return at < text.len ? at : text.len;
}

/* ---- finding secrets ---- */

struct secret_text_scan {
    struct str text;
    size_t at;
    char quote;    /* the enclosing quote, or 0 */
    bool is_login; /* the text contains a login command, so -p is a password */
};

static bool secret_text_is_name_char(char c)
{
    return secret_text_is_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

/* The name that ends at the current position. */
static struct str name_before(const struct secret_text_scan *scan)
{
    size_t from = scan->at;
    while (from > 0 && scan->at - from < NAME_MAX_BYTES &&
           secret_text_is_name_char(scan->text.ptr[from - 1])) {
        from--;
    }
    return str_sub(scan->text, from, scan->at);
}

static bool follows(const struct secret_text_scan *scan, const char *words)
{
    size_t len = strlen(words);
    return scan->at >= len && memcmp(scan->text.ptr + scan->at - len, words, len) == 0;
}

/* True if a secret starts at the current position. */
static bool at_secret(const struct secret_text_scan *scan)
{
    char before = scan->at > 0 ? scan->text.ptr[scan->at - 1] : '\0';
    struct secret_text_scan name_end = *scan;
    if (before != '=' && before != ' ') {
        return false;
    }
    if (strchr(" -", scan->at < scan->text.len ? scan->text.ptr[scan->at] : ' ')) {
        return false;
    }
    name_end.at--;
    struct str name = name_before(&name_end);
    if (before == '=') {
        return secret_is_name(name);
    }
    bool is_option = str_starts(name, "--") && secret_is_name(name);
    bool is_login = str_is(name, "-p") && scan->is_login;
    return is_option || is_login || follows(scan, "Bearer ") || follows(scan, "Basic ");
}

struct span {
    size_t from, to;
};

/* The password of scheme://user:password@host, if "://" is at the current position. */
static bool find_url_password(const struct secret_text_scan *scan, struct span *ret_span)
{
    struct str rest = str_sub(scan->text, scan->at, scan->at + PASSWORD_MAX_BYTES);
    size_t colon = SIZE_MAX;
    if (!str_starts(rest, "://")) {
        return false;
    }
    for (size_t i = 3; i < rest.len && !strchr("/ \t\n\"'", rest.ptr[i]); i++) {
        if (rest.ptr[i] == ':' && colon == SIZE_MAX) {
            colon = i;
        } else if (rest.ptr[i] == '@' && colon != SIZE_MAX && i > colon + 1) {
            *ret_span = (struct span){scan->at + colon + 1, scan->at + i};
            return true;
        }
    }
    return false;
}

static bool secret_text_find_secret(const struct secret_text_scan *scan, struct span *ret_span)
{
    if (find_url_password(scan, ret_span)) {
        return true;
    }
    if (!at_secret(scan)) {
        return false;
    }
    *ret_span = (struct span){scan->at, word_end(scan->text, scan->at, scan->quote)};
    return ret_span->to > ret_span->from;
}

static void secret_text_step(struct secret_text_scan *scan)
{
    char c = scan->text.ptr[scan->at];
    if (c == '\\' && scan->quote != '\'') {
        scan->at++;
    } else if (scan->quote) {
        scan->quote = c == scan->quote ? '\0' : scan->quote;
    } else if (c == '"' || c == '\'') {
        scan->quote = c;
    }
    scan->at++;
}

struct str secret_mask_text(struct arena *arena, struct str text)
{
    AUTO_BUF struct buf out;
    struct secret_text_scan scan = {text, 0, '\0', str_find(text, "login") != SIZE_MAX};
    size_t done = 0;
    buf_init(&out, text.len * 9 + 64);
    while (scan.at < text.len) {
        struct span secret;
        if (!secret_text_find_secret(&scan, &secret)) {
            secret_text_step(&scan);
            continue;
        }
        buf_add(&out, str_sub(text, done, secret.from));
        buf_add_c(&out, SECRET_MASK);
        done = secret.to;
        scan.at = secret.to;
    }
    if (done == 0) {
        return text;
    }
    buf_add(&out, str_sub(text, done, text.len));
    return arena_str(arena, buf_str(&out));
}
