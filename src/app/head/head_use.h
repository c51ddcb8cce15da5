/*
 * head_use.h: what people do on the head outside Ray, from /proc: ssh sessions, remote editors and
 * notebooks. For idle_stop.
 *
 * A process counts while it runs, whether anybody uses it or not: from outside, reading code in an
 * editor looks like not being there, and stopping the head would lose the state of a kernel. The
 * reason is shown by `shoal status`, so a forgotten notebook can be found and ended.
 */
#pragma once

#include <stddef.h>

struct head_use {
    size_t logins;    /* ssh sessions with a terminal, or with a program that is not Shoal's */
    size_t editors;   /* processes of VS Code (and its relatives) and JetBrains IDEs */
    size_t notebooks; /* Jupyter servers */
};

/* `proc` is "/proc", except in tests. Processes that cannot be read are left out. */
struct head_use head_use_scan(const char *proc);
