/* fuzz_top.c: lines of the head's service and keys, on screens of any size. */
#include "fuzz.h"

#include "base/utf8.h"
#include "cli/top/top_draw.h"
#include "cli/top/top_keys.h"

enum { NOW_MS = 1000000, SCREEN_BYTES_MAX = 1 << 22 };

/* Styles take no room; nothing else may be in it that a terminal acts on. */
static void check_line(struct str line, size_t columns)
{
    size_t width = 0;
    while (line.len > 0) {
        size_t plain = str_find_char(line, '\033');
        struct str piece = str_sub(line, 0, plain == SIZE_MAX ? line.len : plain);
        for (size_t i = 0; i < piece.len; i++) {
            if ((unsigned char)piece.ptr[i] < ' ' || piece.ptr[i] == 0x7f) {
                fuzz_fail("no letter moves anything", piece);
            }
        }
        width += utf8_width(piece);
        line = str_sub(line, piece.len, line.len);
        size_t end = str_find_char(line, 'm');
        if (line.len > 0 && (end == SIZE_MAX || end > 6)) {
            fuzz_fail("only styles are set", line);
        }
        line = str_sub(line, end == SIZE_MAX ? line.len : end + 1, line.len);
    }
    if (width > columns) {
        fuzz_fail("no line is wider than the screen", STR(""));
    }
}

static void draw(const struct top_model *model, struct top_view *look)
{
    AUTO_BUF struct buf out;
    size_t lines = 1;
    buf_init(&out, SCREEN_BYTES_MAX);
    top_draw(&out, model, look);
    struct str rest = buf_str(&out);
    for (size_t i = 0; i < rest.len; i++) {
        lines += rest.ptr[i] == '\n';
    }
    if (look->lines > 0 && lines != look->lines) {
        fuzz_fail("a screen has as many lines as it has", rest);
    }
    while (rest.len > 0) {
        check_line(str_cut(&rest, '\n'), look->columns);
    }
}

static void press(struct top_view *look, const struct top_model *model, struct str keys)
{
    struct top_key key;
    while (top_key_read(&keys, &key)) {
        if (top_press(look, model, key) == TOP_OPEN_LOG) {
            top_log_add(&look->log, keys);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str rest = {(const char *)data, size};
    struct top_model model;
    struct top_view look = {.now_ms = NOW_MS};
    struct arena arena;
    struct ctl_line line;
    struct err err;
    if (size < 2) {
        return 0;
    }
    top_model_init(&model);
    arena_init(&arena);
    look.columns = data[0];
    look.lines = data[1] % 64;
    look.colour = data[1] >= 128;
    rest = str_sub(rest, 2, rest.len);
    for (size_t i = 0; i < 24 && rest.len > 0; i++) {
        struct str text = str_cut(&rest, '\n');
        if (!str_starts(text, "{")) {
            press(&look, &model, text);
        } else if (ctl_line_read(text, &arena, &line, &err)) {
            top_model_apply(&model, &line, NOW_MS);
        }
        top_model_prune(&model, NOW_MS + (int64_t)i * 5000);
        draw(&model, &look);
    }
    top_log_clear(&look.log);
    top_model_clear(&model);
    arena_clear(&arena);
    return 0;
}
