/*
 * type_zones.h: the zones that offer each node type, as text for the journal and the handover.
 *
 * The preflight on the laptop finds them. A process that runs no preflight (the head's service,
 * `down`) must use the same zones, or the journal would contain launches into zones that it does
 * not know. One line per type: its name, a tab, and its zones in order, separated by blanks.
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"
#include "config/config.h"
#include "provider/provider.h"

/* Requires preflight(). Omits types without information. */
struct str type_zones_ask(struct provider *provider, const struct config *config,
                          struct arena *arena);
/* The resources that every own machine of this type has at least; one CPU if unknown. */
struct resource_set type_zones_resources(struct str text, struct str type, struct arena *arena);
/* The zones of one type, to be split with str_cut(); empty if unknown. */
struct str type_zones_find(struct str text, struct str type);

/* The images that the preflight chose, in the same form: one image for each type. */
struct str type_images_ask(struct provider *provider, const struct config *config,
                           struct arena *arena);
/* The disks and public addresses of each type, which cost money, in the same form
 * (hourly_price.h). */
struct str type_disks_ask(struct provider *provider, const struct config *config,
                          struct arena *arena);
