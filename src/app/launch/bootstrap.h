/*
 * bootstrap.h: the configuration that is sent to the head: ~/ray_bootstrap_config.yaml, as Ray
 * writes it and Ray's tools read it.
 *
 * It is the prepared tree without the laptop's own settings: how the laptop reaches the head, and
 * all credentials. The source of each mount is the copy on the head.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "config/config.h"

enum bootstrap_reader {
    BOOTSTRAP_FOR_RAY,
    /* Names a private key only if the file does; a launch needs to know the difference. */
    BOOTSTRAP_FOR_SERVICE,
};

/* Writes JSON, which is also valid YAML. */
bool bootstrap_config(const struct config *config, enum bootstrap_reader reader, bool no_restart,
                      struct arena *arena, struct str *ret_json, struct err *err) MUST_USE;
