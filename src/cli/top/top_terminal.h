/*
 * top_terminal.h: the terminal of `shoal top`: alternate screen, unbuffered keys, updates of
 * changed lines only. The terminal is restored however the program ends, except by SIGKILL.
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
    void (*changed)(void *context); /* size changed; draw again */
    void (*gone)(void *context);    /* terminal closed */
};

/* True if standard input and output are a suitable terminal. */
bool top_terminal_is_there(void);

/* Only one may be open. */
bool top_terminal_open(struct loop *loop, const struct top_terminal_hooks *hooks,
                       struct top_terminal **ret_terminal, struct err *err) MUST_USE;
void top_terminal_close(struct top_terminal *terminal); /* NULL is allowed */

/* The lines of one screen, separated by newlines. */
void top_terminal_show(struct top_terminal *terminal, struct str lines);
