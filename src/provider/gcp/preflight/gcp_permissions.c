/* gcp_permissions.c: one row for each permission. */
#include "provider/gcp/preflight/gcp_permissions.h"

#include "base/attr.h"
#include "base/utf8.h"

#define LEASE "keep the cluster's lease, which is an instance template"
#define RULES "let ssh and the nodes through the firewall"
#define NETWORK "connect instances to the network"
#define LOOK "read what the cluster file names"

const struct gcp_permission gcp_permissions[] = {
    {"compute.acceleratorTypes.get", LOOK, false},
    {"compute.disks.create", "create the disks of instances", false},
    {"compute.disks.setLabels", "label the disks of instances", false},
    {"compute.firewalls.create", RULES, false},
    {"compute.firewalls.delete", RULES, false},
    {"compute.firewalls.get", RULES, false},
    {"compute.firewalls.list", RULES, false},
    {"compute.firewalls.update", RULES, false},
    {"compute.globalOperations.get", "wait for changes", false},
    {"compute.globalOperations.list", "see whether an instance was deleted", false},
    {"compute.images.get", LOOK, true},
    {"compute.images.getFromFamily", LOOK, true},
    {"compute.images.useReadOnly", "use an image of the project", true},
    {"compute.instanceTemplates.create", LEASE, false},
    {"compute.instanceTemplates.delete", LEASE, false},
    {"compute.instanceTemplates.get", LEASE, false},
    {"compute.instanceTemplates.list", LEASE, false},
    {"compute.instances.create", "create instances", false},
    {"compute.instances.delete", "delete instances", false},
    {"compute.instances.get", "read instances", false},
    {"compute.instances.getGuestAttributes", "read the ssh host keys of instances", false},
    {"compute.instances.list", "list instances", false},
    {"compute.instances.setLabels", "label instances", false},
    {"compute.instances.setMetadata", "set the ssh keys of instances", false},
    {"compute.instances.setServiceAccount", "give the head its service account", false},
    {"compute.instances.setTags", "apply the firewall rules to instances", false},
    {"compute.instances.start", "start stopped instances", false},
    {"compute.instances.stop", "stop instances", false},
    {"compute.machineTypes.get", LOOK, false},
    {"compute.networks.get", LOOK, true},
    {"compute.networks.updatePolicy", RULES, true},
    {"compute.projects.get", LOOK, false},
    {"compute.regions.get", LOOK, false},
    {"compute.subnetworks.get", LOOK, true},
    {"compute.subnetworks.use", NETWORK, true},
    {"compute.subnetworks.useExternalIp", "give instances public addresses", true},
    {"compute.zoneOperations.get", "wait for changes", false},
    {"compute.zoneOperations.list", "see how a launch ended whose reply was lost", false},
    {GCP_ACT_AS, "use the head's service account", true},
    {"iam.serviceAccounts.get", LOOK, true},
};

const size_t gcp_permission_count = ARRAY_LEN(gcp_permissions);

void gcp_role_write(struct str cluster, struct buf *out)
{
    buf_add_c(out, "title: Shoal\ndescription: \"Launches Ray clusters such as ");
    utf8_add_visible(out, str_sub(cluster, 0, 100), false);
    buf_add_c(out, ".\"\nstage: GA\nincludedPermissions:");
    for (size_t i = 0; i < ARRAY_LEN(gcp_permissions); i++) {
        buf_addf(out, "\n- %s", gcp_permissions[i].name);
    }
    buf_add_c(out, "\n- compute.disks.list"); /* only for `ls` and `gc` */
}
