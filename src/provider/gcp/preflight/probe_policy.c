/* probe_policy.c: policies of the organization that refuse what a launch asks for. Google answers a
 * launch that violates one with HTTP 412 (conditionNotMet). */
#include "provider/gcp/preflight/probe.h"

#include "provider/host_record.h"

enum policy { POLICY_OS_LOGIN, POLICY_PUBLIC, POLICY_GUEST_ATTRIBUTES, POLICY_SHIELDED };

static const struct {
    const char *constraint;
    const char *problem;
    const char *remedy;
} policies[] = {
    [POLICY_OS_LOGIN] = {"constraints/compute.requireOsLogin",
                         "requires OS Login, and refuses instances with keys in their metadata, "
                         "which Shoal connects with",
                         "use a project that is exempt from this policy"},
    [POLICY_PUBLIC] = {"constraints/compute.vmExternalIpAccess",
                       "restricts public addresses, and the instances of this file have them",
                       "write `use_internal_ips: true` in `provider`, and no accessConfigs in "
                       "networkInterfaces; or ask for an exemption"},
    [POLICY_GUEST_ATTRIBUTES] = {"constraints/compute.disableGuestAttributesAccess",
                                 "disables guest-attributes, from which Shoal reads the ssh host "
                                 "keys of instances",
                                 "use a project that is exempt from this policy"},
    [POLICY_SHIELDED] =
        {"constraints/compute.requireShieldedVm",
         "requires shielded VMs, and a node type of this file does not ask for one",
         "write `shieldedInstanceConfig: {enableSecureBoot: true, enableVtpm: true, "
         "enableIntegrityMonitoring: true}` in each node_config"},
};

struct str probe_policy(size_t index)
{
    return index < ARRAY_LEN(policies) ? str_from(policies[index].constraint) : STR("");
}

/* A list of allowed instances cannot contain one that does not exist yet. */
static bool policy_is_enforced(const json_t *reply)
{
    const json_t *list = json_object_get(reply, "listPolicy");
    return json_is_true(json_object_get(json_object_get(reply, "booleanPolicy"), "enforced")) ||
           str_is(host_record_text(list, "allValues"), "DENY") ||
           json_array_size(json_object_get(list, "allowedValues")) > 0;
}

static bool policy_concerns(const struct probe *probe, enum policy policy)
{
    for (size_t i = 0; i < probe->provider->cluster->type_count; i++) {
        if ((policy == POLICY_PUBLIC && probe_addresses(probe, i) > 0) ||
            (policy == POLICY_SHIELDED && !probe_is_shielded(probe, i))) {
            return true;
        }
    }
    return policy == POLICY_OS_LOGIN || policy == POLICY_GUEST_ATTRIBUTES;
}

void probe_judge_policies(struct probe *probe)
{
    for (size_t i = 0; i < ARRAY_LEN(policies); i++) {
        struct str constraint = str_from(policies[i].constraint);
        const struct probe_answer *answer = probe_find(probe, PROBE_ORG_POLICY, constraint, 0);
        if (answer && policy_is_enforced(answer->body) && policy_concerns(probe, (enum policy)i)) {
            struct finding *finding = probe_add(probe, FINDING_ERROR, "organization",
                                                "your organization %s (%s)", policies[i].problem,
                                                policies[i].constraint);
            finding->path = STR("provider.project_id");
            finding->remedy = str_from(policies[i].remedy);
        }
    }
}
