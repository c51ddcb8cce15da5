/* top_keys.c: decodes escape sequences and handles keys. */
#include "cli/top/top_keys.h"

#include <stdio.h>
#include <string.h>

/* ---- reading ---- */

/* The part after "ESC [": "A", "5~". Terminals use both forms. */
static enum top_key_kind sequence_kind(struct str words)
{
    static const struct {
        const char *words;
        enum top_key_kind kind;
    } rows[] = {
        {"A", TOP_KEY_UP},         {"B", TOP_KEY_DOWN},  {"H", TOP_KEY_HOME},
        {"F", TOP_KEY_END},        {"1~", TOP_KEY_HOME}, {"4~", TOP_KEY_END},
        {"7~", TOP_KEY_HOME},      {"8~", TOP_KEY_END},  {"5~", TOP_KEY_PAGE_UP},
        {"6~", TOP_KEY_PAGE_DOWN},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (str_is(words, rows[i].words)) {
            return rows[i].kind;
        }
    }
    return TOP_KEY_OTHER;
}

static struct top_key read_escape(struct str *bytes)
{
    bool is_sequence = bytes->len > 0 && (bytes->ptr[0] == '[' || bytes->ptr[0] == 'O');
    if (!is_sequence) {
        return (struct top_key){.kind = TOP_KEY_ESCAPE};
    }
    size_t end = 1;
    while (end < bytes->len && (bytes->ptr[end] < '@' || bytes->ptr[end] > '~')) {
        end++;
    }
    end = end < bytes->len ? end + 1 : end;
    struct str words = str_sub(*bytes, 1, end);
    *bytes = str_sub(*bytes, end, bytes->len);
    return (struct top_key){.kind = sequence_kind(words)};
}

bool top_key_read(struct str *bytes, struct top_key *ret_key)
{
    enum { ESCAPE = 0x1b, ERASE = 0x7f, ERASE_OLD = 0x08 };
    if (bytes->len == 0) {
        return false;
    }
    char c = bytes->ptr[0];
    *bytes = str_sub(*bytes, 1, bytes->len);
    if (c == ESCAPE) {
        *ret_key = read_escape(bytes);
    } else if (c == '\r' || c == '\n') {
        *ret_key = (struct top_key){.kind = TOP_KEY_ENTER};
    } else if (c == ERASE || c == ERASE_OLD) {
        *ret_key = (struct top_key){.kind = TOP_KEY_ERASE};
    } else if (c >= ' ' && c <= '~') {
        *ret_key = (struct top_key){.kind = TOP_KEY_LETTER, .letter = c};
    } else {
        *ret_key = (struct top_key){.kind = TOP_KEY_OTHER};
    }
    return true;
}

/* ---- the list ---- */

enum { TO_FIRST = INT32_MIN, TO_LAST = INT32_MAX };

static void top_keys_choose(struct top_view *look, const struct top_model *model, int64_t by)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    size_t count;
    const struct node_view **list = top_list(model, look, &arena, &count);
    if (count > 0) {
        int64_t at = (int64_t)top_list_chosen(look, list, count) + by;
        at = at < 0 ? 0 : at >= (int64_t)count ? (int64_t)count - 1 : at;
        snprintf(look->chosen, sizeof(look->chosen), "%.*s", STR_ARG(list[at]->name));
    }
}

static void scroll_log(struct top_view *look, int64_t by)
{
    int64_t behind = (int64_t)look->behind - by; /* drawing clamps the other end */
    look->behind = behind > 0 ? (size_t)behind : 0;
}

static enum top_action top_keys_open_log(struct top_view *look, const char *name)
{
    top_log_clear(&look->log);
    snprintf(look->log.name, sizeof(look->log.name), "%s", name);
    look->pane = TOP_LOG;
    look->behind = 0;
    return TOP_OPEN_LOG;
}

static enum top_action press_letter(struct top_view *look, char letter)
{
    switch (letter) {
    case 'q':
    case 'Q':
        return TOP_QUIT;
    case 'l':
        return top_keys_open_log(look, "service");
    case '/':
        look->is_typing = true;
        break;
    case 's':
        look->sort = (enum top_sort)((look->sort + 1) % TOP_SORT_COUNT);
        break;
    case 'r':
        look->is_reversed = !look->is_reversed;
        break;
    case '?':
    case 'h':
        look->pane = TOP_HELP;
        break;
    default:
        break;
    }
    return TOP_STAY;
}

static enum top_action press_enter(struct top_view *look, const struct top_model *model)
{
    top_keys_choose(look, model, 0); /* the marked one, even if the selection was never moved */
    return look->chosen[0] ? top_keys_open_log(look, look->chosen) : TOP_STAY;
}

/* How far a key moves the selection; false if it is not such a key. */
static bool movement(const struct top_view *look, struct top_key key, int64_t *ret_by)
{
    int64_t page = look->page > 1 ? (int64_t)look->page - 1 : 1;
    bool is_down = key.kind == TOP_KEY_DOWN || (key.kind == TOP_KEY_LETTER && key.letter == 'j');
    bool is_up = key.kind == TOP_KEY_UP || (key.kind == TOP_KEY_LETTER && key.letter == 'k');
    *ret_by = is_down                         ? 1
              : is_up                         ? -1
              : key.kind == TOP_KEY_PAGE_UP   ? -page
              : key.kind == TOP_KEY_PAGE_DOWN ? page
              : key.kind == TOP_KEY_HOME      ? TO_FIRST
              : key.kind == TOP_KEY_END       ? TO_LAST
                                              : 0;
    return *ret_by != 0;
}

/* ---- the panes ---- */

static void type_filter(struct top_view *look, struct top_key key)
{
    size_t len = strlen(look->filter);
    if (key.kind == TOP_KEY_LETTER && len < TOP_FILTER_MAX) {
        look->filter[len] = key.letter;
        look->filter[len + 1] = '\0';
    } else if (key.kind == TOP_KEY_ERASE && len > 0) {
        look->filter[len - 1] = '\0';
    } else if (key.kind == TOP_KEY_ENTER) {
        look->is_typing = false;
    } else if (key.kind == TOP_KEY_ESCAPE) {
        look->is_typing = false;
        look->filter[0] = '\0';
    }
}

static enum top_action press_in_log(struct top_view *look, struct top_key key)
{
    int64_t by;
    bool is_back = key.kind == TOP_KEY_ESCAPE ||
                   (key.kind == TOP_KEY_LETTER && (key.letter == 'q' || key.letter == 'Q'));
    if (is_back) {
        look->pane = TOP_NODES;
        top_log_clear(&look->log);
        return TOP_CLOSE_LOG;
    }
    if (movement(look, key, &by)) {
        scroll_log(look, by);
    }
    return TOP_STAY;
}

static enum top_action press_in_list(struct top_view *look, const struct top_model *model,
                                     struct top_key key)
{
    int64_t by;
    if (movement(look, key, &by)) {
        top_keys_choose(look, model, by);
    } else if (key.kind == TOP_KEY_ENTER) {
        return press_enter(look, model);
    } else if (key.kind == TOP_KEY_ESCAPE) {
        look->filter[0] = '\0';
    } else if (key.kind == TOP_KEY_LETTER) {
        return press_letter(look, key.letter);
    }
    return TOP_STAY;
}

enum top_action top_press(struct top_view *look, const struct top_model *model, struct top_key key)
{
    if (look->is_typing) {
        type_filter(look, key);
        return TOP_STAY;
    }
    if (look->pane == TOP_HELP) {
        look->pane = TOP_NODES;
        return TOP_STAY;
    }
    return look->pane == TOP_LOG ? press_in_log(look, key) : press_in_list(look, model, key);
}
