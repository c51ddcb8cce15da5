/* autoscaler_run.c: runs the service on a cluster's head. */
#include "cli/autoscaler_run.h"

#include "app/head/service.h"
#include "app/head/supervisor/supervise.h"
#include "cli/output.h"

int autoscaler_run(const struct cli *cli, const void *fields)
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
