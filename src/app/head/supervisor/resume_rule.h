/*
 * resume_rule.h: must Ray on the head be started after a reboot? Pure.
 *
 * The service records in which boot it last saw Ray on the head. A Ray that was stopped by hand in
 * this boot is left alone. A Ray that never ran is started by `up`.
 */
#pragma once

#include "base/str.h"

#include <stdbool.h>

struct resume_view {
    struct str boot;  /* current boot; empty if unknown */
    struct str seen;  /* boot in which Ray last answered; empty if never */
    struct str tried; /* boot in which this rule last started Ray; empty if never */
    bool is_alive;    /* Ray on the head answers */
};

bool resume_is_due(const struct resume_view *view);
