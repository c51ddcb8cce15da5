/* verb_autoscaler.c: `shoal autoscaler`. */
#include "cli/autoscaler_run.h"

static const struct option options[] = {
    {"folder", 0, OPTION_TEXT, offsetof(struct autoscaler_fields, folder), "FOLDER", NULL,
     "The state directory of the service. The default is ~/.shoal/cluster."},
    {"background", 0, OPTION_FLAG, offsetof(struct autoscaler_fields, is_background), NULL, NULL,
     "Start the service in the background with a supervisor that restarts it when it dies, and "
     "return when it answers. If the service is already running, it loads the new configuration."},
    {"supervise", 0, OPTION_FLAG, offsetof(struct autoscaler_fields, is_supervisor), NULL, NULL,
     "Run the supervisor in the foreground, for a systemd unit."},
};

static const struct example examples[] = {
    {"shoal autoscaler --background", "Start the service as shoal up does."},
};

const struct verb verb_autoscaler = {
    .name = "autoscaler",
    .summary = "run the autoscaler on the head; shoal up starts it",
    .description =
        "Runs the service that manages a cluster: it launches workers, sets them up, watches "
        "them join Ray, and answers the other commands. It runs on the head. shoal up starts it "
        "there and hands the cluster over to it, so you do not need to start it yourself.\n\n"
        "Its state is in ~/.shoal/cluster, and its log is ~/.shoal/cluster/service.log. It can "
        "be killed at any time: its supervisor restarts it, and it continues where it stopped. "
        "If it dies ten times within a minute, it is restarted in a paused state: it answers "
        "requests but changes nothing until shoal up, or SIGHUP to its supervisor, reactivates "
        "it. If systemd is available, the supervisor runs as a transient unit, shoal-NUMBER; set "
        "SHOAL_NO_SYSTEMD=1 to prevent that.",
    VERB_ROWS(option),
    VERB_ROWS(example),
    .exit_status = "0 if the service was asked to stop or, with --background, answers; 1 if it "
                   "cannot run; 2 for a usage error.",
    .fields_size = sizeof(struct autoscaler_fields),
    .run = autoscaler_run,
};
