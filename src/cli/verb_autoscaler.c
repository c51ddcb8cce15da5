/* verb_autoscaler.c: the service that runs a cluster from its head. */
#include "app/head/service.h"
#include "cli/output.h"

struct autoscaler_fields {
    const char *folder;
    bool is_background;
    bool is_supervisor;
};

static const struct option options[] = {
    {"folder", 0, OPTION_TEXT, offsetof(struct autoscaler_fields, folder), "FOLDER", NULL,
     "Where the service keeps what it knows. The default is ~/.shoal/cluster."},
    {"background", 0, OPTION_FLAG, offsetof(struct autoscaler_fields, is_background), NULL, NULL,
     "Start it in the background, with a supervisor that starts it again when it dies, and return "
     "when it answers. One that runs already takes in the newest configuration."},
    {"supervise", 0, OPTION_FLAG, offsetof(struct autoscaler_fields, is_supervisor), NULL, NULL,
     "Be that supervisor, in the foreground, as a unit of systemd is."},
};

static const struct example examples[] = {
    {"shoal autoscaler --background", "What the set-up of a head does."},
};

static int run(const struct cli *cli, const void *fields)
{
    const struct autoscaler_fields *given = fields;
    struct err err = {0};
    if (given->is_supervisor) {
        int status = service_supervise(given->folder, &err);
        return status == 0 || err.kind == ERR_NONE ? status : output_error(cli, &err);
    }
    if (!given->is_background) {
        return service_run(&(struct service_setup){.folder = given->folder});
    }
    return service_start(given->folder, &err) ? 0 : output_error(cli, &err);
}

const struct verb verb_autoscaler = {
    .name = "autoscaler",
    .summary = "run a cluster from its head; shoal up starts it there",
    .description =
        "The service of a cluster: launches the workers that there should be, sets them up, sees "
        "who joins Ray, and answers the other verbs. It runs on the head, where shoal up starts it "
        "and hands the cluster over; nobody needs to start it by hand.\n\n"
        "What it knows is in ~/.shoal/cluster, what it says in service.log there. It may be killed "
        "at any time: its supervisor starts it again, and it goes on where it was. One that dies "
        "ten times within a minute is started once more, frozen: it answers and does nothing until "
        "shoal up, or SIGHUP to its supervisor, lets it act again. Where systemd may be asked the "
        "supervisor is a transient unit, shoal-NUMBER; SHOAL_NO_SYSTEMD=1 leaves systemd alone.",
    .options = options,
    .option_count = ARRAY_LEN(options),
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
    .exit_status = "0 after it was told to stand down, or once it answers in the background; 1 "
                   "when it cannot run; 2 for a wrong command line.",
    .fields_size = sizeof(struct autoscaler_fields),
    .run = run,
};
