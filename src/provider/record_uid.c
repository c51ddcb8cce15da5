/* record_uid.c: compares the uids of the record, the journal and the instances. */
#include "provider/record_uid.h"

#include "provider/answer.h"
#include "provider/host_record.h"
#include "provider/machine_tags.h"

size_t record_uids(const struct machine *machines, size_t count, struct str cluster,
                   struct str *uids)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        struct str uid = machine_tag_value(&machines[i], TAG_CLUSTER_UID);
        bool is_new = uid.len > 0 && machine_is_live(&machines[i]) &&
                      str_eq(machine_tag_value(&machines[i], "ray-cluster-name"), cluster);
        for (size_t j = 0; j < found && is_new; j++) {
            is_new = !str_eq(uids[j], uid);
        }
        if (is_new) {
            uids[found++] = uid;
        }
    }
    return found;
}

bool record_uid_contradicts(const json_t *record, struct str known)
{
    return record && known.len > 0 && !str_eq(host_record_text(record, "uid"), known);
}

bool record_uid_check(const json_t *record, struct str cluster, struct str known,
                      const struct str *uids, size_t count, struct provider_answer *answer)
{
    struct str name = str_sub(cluster, 0, 80);
    if (count > 1) {
        return answer_fail(answer, OUTCOME_INVALID, ERR_EXISTS,
                           "%zu clusters have the name %.*s: uid %.*s and %.*s. Rename this "
                           "cluster, or run shoal down for the other one",
                           count, STR_ARG(name), STR_ARG(uids[0]), STR_ARG(uids[1]));
    }
    if (record_uid_contradicts(record, known) && count == 1 && str_eq(uids[0], known)) {
        return answer_fail(answer, OUTCOME_INVALID, ERR_EXISTS,
                           "the record of cluster %.*s has uid %.*s, but its instances have uid "
                           "%.*s. Run shoal down to terminate them",
                           STR_ARG(name), STR_ARG(host_record_text(record, "uid")), STR_ARG(known));
    }
    return true;
}
