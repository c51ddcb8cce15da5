"""Preemption of spot instances: a notice in the metadata, soft off, and hard off a while later."""



def preempt(cloud, record):
    """Begin it now. Returns the seconds until soft off."""
    scheduling = record.value["scheduling"]
    if not scheduling["preemptible"]:
        raise ValueError(f"{record.path} is not a spot instance")
    if record.value["status"] != "RUNNING":
        raise ValueError(f"{record.path} is {record.value['status']}, not RUNNING")
    notice = int(scheduling.get("preemptionNoticeDuration", {}).get("seconds", 0))
    record.preempted = True
    cloud.state.notify_all()
    cloud.later(notice, soft_off, cloud, record, record.life)
    return notice


def soft_off(cloud, record, life):
    with cloud.state:
        if record.life != life:
            return
        operation = cloud.operations.new(None, "compute.instances.preempted", record,
                                         statusMessage="Instance was preempted.")
        record.life += 1
        record.value["status"] = "STOPPING"
        cloud.state.notify_all()
        cloud.later(cloud.tunables.preempt, hard_off, cloud, record, record.life, operation)


def hard_off(cloud, record, life, operation):
    if record.value["scheduling"]["instanceTerminationAction"] == "DELETE":
        if record.life == life:
            cloud.instances.gone(record, operation)
    else:
        cloud.instances.stopped(record, life, operation)
    with cloud.state:
        cloud.operations.finish(operation)  # if the instance went another way
