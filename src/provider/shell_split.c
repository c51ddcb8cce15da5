/* shell_split.c: quotes and backslashes like Python's shlex.split(). */
#include "provider/shell_split.h"

#include "base/buf.h"

struct shell_split_state {
    struct arena *arena;
    struct str *items;
    size_t count;
    size_t capacity;
    struct buf word;
    bool is_open; /* a word has started, possibly with empty quotes */
};

static void end_word(struct shell_split_state *words)
{
    if (!words->is_open) {
        return;
    }
    ARENA_PUSH(words->arena, words->items, words->count,
               words->capacity) = arena_str(words->arena, buf_str(&words->word));
    buf_clear(&words->word);
    words->is_open = false;
}

/* Reads from after the opening quote; returns the offset of the closing one, or the end of the
 * text. */
static size_t read_quoted(struct shell_split_state *words, struct str text, size_t at, char quote)
{
    for (; at < text.len && text.ptr[at] != quote; at++) {
        char c = text.ptr[at];
        if (c == '\\' && quote == '"' && at + 1 < text.len) {
            /* In double quotes a backslash escapes only itself and the quote. */
            c = text.ptr[++at];
            buf_add_c(&words->word, c == '\\' || c == '"' ? "" : "\\");
        }
        buf_add_char(&words->word, c);
    }
    return at;
}

static bool read_words(struct shell_split_state *words, struct str text)
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

bool shell_split(struct str text, struct arena *arena, struct str **ret_words, size_t *ret_count)
{
    struct shell_split_state words = {.arena = arena};
    buf_init(&words.word, text.len);
    bool ok = read_words(&words, text);
    buf_clear(&words.word);
    if (ok) {
        *ret_words = words.items;
        *ret_count = words.count;
    }
    return ok;
}
