/* sim_process.h: a process with a production controller, over all its restarts. */
#pragma once

#include "app/control/controller.h"
#include "virtual_loop.h"

struct world;
struct sim_journal;

enum sim_role { ROLE_LAPTOP, ROLE_HEAD };

struct sim_report; /* what was last reported about a node */

/* A command on the laptop or the service on the head, over all its restarts. */
struct sim_process {
    struct world *world;
    enum sim_role role;
    uint32_t starts;
    bool is_alive;
    bool is_dead; /* killed inside a callback: has no effect any more, and is closed after it */
    bool has_started;
    struct virtual_clocks clocks;
    int64_t boot_wall_ms; /* wall time at the start of the world, as a boot sets it */
    struct cloud_session session;
    struct provider *provider;
    struct journal *journal;
    struct controller *controller;
    struct str folder;
    uint32_t folder_number;
    struct arena memory; /* of this start */
    struct str holder;
    struct loop_timer *poll; /* looks at Ray and at setups */
    struct sim_report *reports;
    struct demand *demands;
    size_t demand_count;
    int64_t full_until_ms; /* its disk */
    bool stops_next;       /* close it after this callback: it has finished */
    bool lost_lease;
    /* head: what was handed over to it */
    struct str handover; /* JSON; empty if none so far */
    bool is_handover_taken;
    /* laptop */
    int64_t handover_ms; /* when it hands over; 0 if not planned */
    int64_t exits_ms;    /* after the handover; 0 if not planned */
    uint32_t calls[16];  /* in this minute, by verb */
    int64_t calls_minute;
};

void sim_process_start(struct sim_process *process);
/* Like kill -9: what is in flight stays in flight. */
void sim_process_kill(struct sim_process *process);
/* Closes it because it asked for that, or because it was killed inside a callback. */
void sim_process_reap(struct sim_process *process);
/* May kill the process here; true if it is dead. */
bool sim_process_dies(struct sim_process *process);
const char *sim_process_name(const struct sim_process *process);

/* Journals are in memory. One that is kept survives the processes that write it. */
void sim_journals_init(void);
struct sim_journal *sim_journal_keep(struct str folder);
void sim_journal_drop(struct sim_journal *journal);
bool sim_journal_open(struct sim_process *process);
void sim_journal_remove_folder(const char *folder, unsigned number);

/* sim_handover.c: the laptop stops acting and writes the records for the head's service. */
void sim_handover_send(struct sim_process *laptop, struct sim_process *head);
/* The service stores the records in its journal; false: it cannot start. */
bool sim_handover_take(struct sim_process *head, struct controller_setup *setup);
