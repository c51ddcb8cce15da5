/*
 * equivalence.h: finds nodes that are interchangeable for a batch, so that one trial covers them
 * all.
 *
 * There are two relations. Running nodes are equivalent if everything that a trial or a score reads
 * is equal: merging them is our optimization and must not change results. Pending nodes are
 * equivalent by Ray's rule: Ray tries only the first of those with equal type, kind, free amounts
 * and labels, even if requests placed earlier would give another one a better score.
 */
#pragma once

#include "core/plan/batch.h"
#include "core/plan/fleet.h"

uint64_t kin_hash(const struct fleet_node *node, enum demand_source source);

bool kin_same(const struct batch *batch, const struct fleet_node *a, const struct fleet_node *b,
              enum demand_source source, uint32_t gpu);

/* Do equivalent nodes also have the same placed requests, so that their scores are equal? */
bool kin_same_history(const struct fleet_node *a, const struct fleet_node *b,
                      enum demand_source source);
