/*
 * top_terminal.h: the terminal while `shoal top` has it: another screen, keys without Enter, lines
 * that are written only where they have changed. However the program ends, short of SIGKILL, the
 * terminal is as it was before.
 */
#pragma once

#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"
#include "io/loop.h"

#include <stdbool.h>

struct top_terminal;

struct top_terminal_hooks {
    void *context;
    void (*keys)(void *context, struct str bytes);
    void (*changed)(void *context); /* its size; draw again */
    void (*gone)(void *context);    /* whoever looked at it */
};

/* Is there one, on standard input and output, that can show it? */
bool top_terminal_is_there(void);

/* One at a time. */
bool top_terminal_open(struct loop *loop, const struct top_terminal_hooks *hooks,
                       struct top_terminal **ret_terminal, struct err *err) MUST_USE;
void top_terminal_close(struct top_terminal *terminal); /* NULL is fine */

/* Lines of one screen, with their ends between them. */
void top_terminal_show(struct top_terminal *terminal, struct str lines);
