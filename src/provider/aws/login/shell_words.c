/* shell_words.c: quotes and backslashes as Python's shlex.split() takes them. */
#include "provider/aws/login/shell_words.h"

#include "base/buf.h"

struct words {
    struct arena *arena;
    struct str *items;
    size_t count;
    size_t capacity;
    struct buf word;
    bool is_open; /* a word has begun, be it with empty quotes */
};

static void end_word(struct words *words)
{
    void *items = words->items;
    if (!words->is_open) {
        return;
    }
    arena_grow(words->arena, &items, words->count, &words->capacity, sizeof(struct str));
    words->items = items;
    words->items[words->count++] = arena_str(words->arena, buf_str(&words->word));
    buf_clear(&words->word);
    words->is_open = false;
}

/* From behind the opening quote; the place of the closing one, or the text's end. */
static size_t read_quoted(struct words *words, struct str text, size_t at, char quote)
{
    for (; at < text.len && text.ptr[at] != quote; at++) {
        char c = text.ptr[at];
        if (c == '\\' && quote == '"' && at + 1 < text.len) {
            /* Between double quotes a backslash counts before itself and the quote only. */
            c = text.ptr[++at];
            buf_add_c(&words->word, c == '\\' || c == '"' ? "" : "\\");
        }
        buf_add_char(&words->word, c);
    }
    return at;
}

static bool read_words(struct words *words, struct str text)
{
    for (size_t at = 0; at < text.len; at++) {
        char c = text.ptr[at];
        if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
            end_word(words);
            continue;
        }
        words->is_open = true;
        if (c == '\'' || c == '"') {
            at = read_quoted(words, text, at + 1, c);
        } else if (c == '\\') {
            at++;
            buf_add(&words->word, str_sub(text, at, at + 1));
        } else {
            buf_add_char(&words->word, c);
        }
        if (at >= text.len) {
            return false;
        }
    }
    end_word(words);
    return true;
}

bool shell_words(struct str text, struct arena *arena, struct str **ret_words, size_t *ret_count)
{
    struct words words = {.arena = arena};
    buf_init(&words.word, text.len);
    bool ok = read_words(&words, text);
    buf_clear(&words.word);
    if (ok) {
        *ret_words = words.items;
        *ret_count = words.count;
    }
    return ok;
}
