/*
 * type_zones.h: where each node type can be had, as a text that is written down and handed over.
 *
 * A survey finds it out, on the laptop; whoever works on the cluster without a survey of their own
 * (the head's service, `down`) must count the same places, or launches that were written down would
 * be of places that they do not know. A line for each type: its name, a tab, its zones with blanks
 * between, the first one first.
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"
#include "config/config.h"
#include "provider/provider.h"

/* Needs survey(). Types of which nothing is known have no line. */
struct str type_zones_ask(struct provider *provider, const struct config *config,
                          struct arena *arena);
/* The zones of one type, to be taken off with str_cut(); empty: not known. */
struct str type_zones_find(struct str text, struct str type);
