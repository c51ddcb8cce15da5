/*
 * mutant.h: deliberate bugs that the simulator must detect.
 *
 * Only builds with -DSHOAL_MUTANTS (tests/sim/meson.build) have them; elsewhere MUTANT() is the
 * constant false and the compiler removes the code behind it. tests/sim/test_mutants.py enables
 * each one and expects some seed to detect it.
 */
#pragma once

#define MUTANT_LIST(X)                                                                             \
    X(fresh_number_per_retry) /* repeats an unanswered launch under a new number */                \
    X(other_zone_per_retry)   /* repeats an unanswered launch in another zone */                   \
    X(lost_answer_is_refusal) /* treats a launch without a reply as failed */                      \
    X(forgets_older_calls)    /* a refusal settles a launch although an older call is in flight */ \
    X(expects_the_rest)       /* a partial launch leaves records that are never settled */         \
    X(keeps_asking_refused)   /* an offering without capacity does not cool down */                \
    X(storms)                 /* repeats failed calls at once */                                   \
    X(acts_without_lease)     /* ignores the lease */                                              \
    X(launches_unseen)        /* launches before the first listing */                              \
    X(trusts_first_listing)   /* after a take-over, trusts the first listing as complete */        \
    X(repeats_after_take_over) /* repeats launches of an earlier lease period */                   \
    X(ends_while_gcs_away)     /* terminates idle nodes undrained while the GCS is down */         \
    X(believes_cut_listing)    /* treats absence from an incomplete listing as proof */            \
    X(absence_too_soon)        /* treats absence from a listing as proof before the horizon */     \
    X(not_found_is_gone)       /* treats a not-found terminate as terminated */                    \
    X(hopes_it_ended)          /* treats a terminate without a reply as success */                 \
    X(counts_only_known)       /* does not count unanswered launches against the limits */         \
    X(ending_counts_not)       /* does not count terminating nodes against the limits */           \
    X(idle_kill_of_new)        /* treats a node as idle from its request on */                     \
    X(ends_without_asking)     /* terminates idle nodes without a drain */                         \
    X(lost_drain_is_consent)   /* treats a drain without a reply as accepted */                    \
    X(refusal_is_consent)      /* treats a refused drain as accepted */                            \
    X(absent_is_dead)          /* treats a node that Ray does not list as dead */                  \
    X(waits_for_ever)          /* deadlines never pass */                                          \
    X(adopts_by_name)          /* the shell adopts machines that only have our name */             \
    X(ignores_outdated)        /* does not count instances that the file does not describe */      \
    X(kills_outdated)          /* terminates them without a drain */                               \
    X(never_stops)             /* keeps launching a type whose setup always fails */

enum bug {
    MUTANT_NONE,
#define X(name) MUTANT_##name,
    MUTANT_LIST(X)
#undef X
        MUTANT_COUNT,
};

#ifdef SHOAL_MUTANTS
#define MUTANT(core, name) ((core)->settings->bug == (uint32_t)MUTANT_##name)
#else
#define MUTANT(core, name) ((void)(core), false)
#endif
