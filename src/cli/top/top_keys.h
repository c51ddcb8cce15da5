/* top_keys.h: keys and their effects. Pure. */
#pragma once

#include "cli/top/top_view.h"

enum top_key_kind {
    TOP_KEY_LETTER,
    TOP_KEY_UP,
    TOP_KEY_DOWN,
    TOP_KEY_PAGE_UP,
    TOP_KEY_PAGE_DOWN,
    TOP_KEY_HOME,
    TOP_KEY_END,
    TOP_KEY_ENTER,
    TOP_KEY_ESCAPE,
    TOP_KEY_ERASE,
    TOP_KEY_OTHER,
};

struct top_key {
    enum top_key_kind kind;
    char letter; /* visible ASCII, for TOP_KEY_LETTER */
};

/* Consumes one key from the terminal's input; false if there is none left. */
bool top_key_read(struct str *bytes, struct top_key *ret_key);

/* What the caller has to do. */
enum top_action { TOP_STAY, TOP_QUIT, TOP_OPEN_LOG, TOP_CLOSE_LOG };

/* TOP_OPEN_LOG is for look->log.name. */
enum top_action top_press(struct top_view *look, const struct top_model *model, struct top_key key);
