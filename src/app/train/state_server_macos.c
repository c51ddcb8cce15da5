/* state_server_macos.c: training runs on the nodes of a cluster, which have Linux. */
#include "app/train/state_server.h"

bool state_server_start(const char *root, struct str token, int *ret_pid, uint16_t *ret_port,
                        struct err *err)
{
    (void)root;
    (void)token;
    (void)ret_pid;
    (void)ret_port;
    return err_set(err, ERR_USAGE,
                   "training runs on the nodes of a cluster, which have Linux, and not on macOS; "
                   "name the cluster file: shoal train cluster.yaml -f SCRIPT");
}
