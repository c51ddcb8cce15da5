/*
 * contact.h: the dead-man switch: a machine that has lost contact with its cluster shuts down.
 *
 * The switch is a shell script in the machine's user-data (setup/contact.sh), so it works from the
 * first boot and needs no other program. A worker that shuts down is terminated by the cloud,
 * or by the lease holder (machine.is_left).
 * docs/decisions/0016-contact.md defines contact.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"
#include "config/document/value.h"

#include <stdbool.h>
#include <stdint.h>

/* File on the machine: writing any text to it counts as contact; CONTACT_KEEP makes a head never
 * shut down. */
#define CONTACT_FILE "/run/shoal/contact"
#define CONTACT_KEEP "keep"

enum { CONTACT_CHECK_MS = 15 * 1000, CONTACT_USUAL_MINUTES = 15 };

/* metadata.shoal.contact_timeout_minutes in milliseconds; 0 if the switch is off. */
int64_t contact_timeout_ms(const struct value *shoal);

/* How many consecutive checks may fail; at least one. */
int64_t contact_checks(int64_t timeout_ms);

/* How often the cluster's service sends a message to workers that have not joined Ray. */
int64_t contact_every_ms(int64_t timeout_ms);

/* The script for cloud-init's boot hook; empty if the switch is off. */
struct str contact_hook(int64_t timeout_ms, bool is_head, struct arena *arena);

/* The same for Compute Engine, where a shutdown only stops a machine: a worker first tries to
 * delete itself. */
struct str contact_gce_hook(int64_t timeout_ms, bool is_head, struct arena *arena);

/* The same for an own machine, which is not shut down: the switch stops Ray and frees the host. */
struct str contact_watch(int64_t timeout_ms, struct arena *arena);

/* Writes `word` to CONTACT_FILE (`path`, which differs in tests) for the switch on this machine.
 * Also returns true if the file does not exist, because then there is no switch. */
bool contact_write(const char *path, struct str word, struct err *err) MUST_USE;
