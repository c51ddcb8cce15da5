/*
 * kin.h: nodes that are interchangeable for a batch, so that one trial speaks for all of them.
 *
 * Two relations meet here. Running nodes are kin when nothing a trial or a score reads differs:
 * merging them is our own shortcut and must not show. Nodes that do not run yet are kin when Ray
 * says so: it tries only the first of those with equal type, kind, free amounts and labels, even
 * if requests placed earlier would give another one a better score.
 */
#pragma once

#include "core/plan/batch.h"
#include "core/plan/fleet.h"

uint64_t kin_hash(const struct fleet_node *node, enum demand_source source);

bool kin_same(const struct batch *batch, const struct fleet_node *a, const struct fleet_node *b,
              enum demand_source source, uint32_t gpu);

/* Do kin also share what was placed on them, so that their scores are equal? */
bool kin_same_history(const struct fleet_node *a, const struct fleet_node *b,
                      enum demand_source source);
