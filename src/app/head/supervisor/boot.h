/*
 * boot.h: starts the service after a reboot of the head.
 *
 * With systemd the service is an enabled unit (systemd_unit.h), otherwise a cloud-init script that
 * runs at every boot. If neither can be used, `up` and `status` say so.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>

/* File in the folder. While it exists the service does not start at boot: `down` or `idle_stop`
 * stopped it, and a head that is started again must wait for `up`. */
#define BOOT_STOOD_DOWN "stood-down"

/* File in the folder: why the service will not start at boot. */
#define BOOT_MISSING "no-boot"

/* The script for cloud-init, which runs as root. */
struct str boot_script(struct str program, struct str folder, const char *user,
                       struct arena *arena);

/* Installs that script. */
bool boot_install_script(const char *folder, struct arena *arena, struct err *err) MUST_USE;

/* Sets whether the service may start at boot. False lasts until the next `up`. */
bool boot_set(const char *folder, bool may_start, struct err *err) MUST_USE;

/* Stores why the service will not start at boot; NULL if it will. */
bool boot_note(const char *folder, const char *why_not, struct err *err) MUST_USE;
struct str boot_why_not(const char *folder, struct arena *arena);

/* 24 digits that differ after each boot; empty if unknown. A restart of a container is a boot: the
 * kernel is the same, but its first process is not. */
struct str boot_id(struct arena *arena);
