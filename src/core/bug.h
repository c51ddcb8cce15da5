/*
 * bug.h: deliberate bugs, to see that the simulator has teeth.
 *
 * Only builds with -Dteeth=true have them; in every other build BUG() is the constant false and
 * the compiler removes what stands behind it. tests/yard/test_teeth.py switches each one on and
 * asks for a seed that notices.
 */
#pragma once

#define BUG_LIST(X)                                                                                \
    X(fresh_number_per_retry) /* an unanswered launch is asked for again under a new number */     \
    X(other_zone_per_retry)   /* an unanswered launch is asked for again in another zone */        \
    X(lost_answer_is_refusal) /* no answer to a launch is taken for no machines */                 \
    X(forgets_older_calls)    /* a refusal settles a launch although an older call is under way */ \
    X(expects_the_rest)       /* a partial launch leaves records that nobody settles */            \
    X(keeps_asking_refused)   /* an offering without capacity does not cool down */                \
    X(storms)                 /* failed calls are repeated at once */                              \
    X(acts_without_lease)     /* the lease is not looked at */                                     \
    X(launches_unseen)        /* launches before anything was listed */                            \
    X(trusts_first_listing) /* after a take-over the first listing is believed to be everything */ \
    X(repeats_after_take_over) /* launches of an earlier reign are asked for again */              \
    X(ends_while_gcs_away)     /* while Ray cannot be asked, idle nodes end unasked */             \
    X(believes_cut_listing)    /* absence from an incomplete listing counts */                     \
    X(absence_too_soon)        /* absence from a listing counts before the horizon */              \
    X(not_found_is_gone)       /* a terminate that finds nothing is taken for the end */           \
    X(hopes_it_ended)          /* no answer to a terminate is taken for success */                 \
    X(counts_only_known)       /* launches without an answer do not count against the limits */    \
    X(ending_counts_not)       /* nodes that are ending do not count against the limits */         \
    X(idle_kill_of_new)        /* a node is idle from the moment it was asked for */               \
    X(ends_without_asking)     /* idle nodes end without a drain */                                \
    X(lost_drain_is_consent)   /* no answer to a drain is taken for consent */                     \
    X(refusal_is_consent)      /* a refused drain is taken for consent */                          \
    X(absent_is_dead)          /* a node that Ray does not list is taken for dead */               \
    X(waits_for_ever)          /* deadlines never pass */                                          \
    X(adopts_by_name)          /* the shell takes machines with our name for ours */

enum bug {
    BUG_NONE,
#define X(name) BUG_##name,
    BUG_LIST(X)
#undef X
        BUG_COUNT,
};

#ifdef SHOAL_TEETH
#define BUG(core, name) ((core)->settings->bug == (uint32_t)BUG_##name)
#else
#define BUG(core, name) ((void)(core), false)
#endif
