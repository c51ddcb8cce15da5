"""As much of Azure's SDK as Ray's class uses. A deployment creates virtual machines."""

from types import SimpleNamespace as Thing

from cloud_file import cloud, module


class ResourceNotFoundError(Exception):
    pass


class HttpResponseError(Exception):
    pass


class Client:
    def __init__(self, *words):
        pass


class Later:
    def __init__(self, value=None):
        self.value = value

    def wait(self, timeout=None):
        pass

    def done(self):
        return True

    def result(self):
        return self.value


def machine(name, row):
    nics = [Thing(id=f"/nics/{name}-nic")]
    return Thing(name=name, tags=row["tags"], network_profile=Thing(network_interfaces=nics),
                 storage_profile=Thing(data_disks=[], os_disk=Thing(name=f"{name}-disk")))


class Machines:
    def list(self, resource_group_name):
        with cloud() as data:
            return [machine(*item) for item in data.get("vms", {}).items()]

    def get(self, resource_group_name, vm_name):
        with cloud() as data:
            if vm_name not in data.get("vms", {}):
                raise ResourceNotFoundError(vm_name)
            return machine(vm_name, data["vms"][vm_name])

    def instance_view(self, resource_group_name, vm_name):
        return Thing(as_dict=lambda: {"statuses": [{"code": "ProvisioningState/succeeded"},
                                                   {"code": "PowerState/running"}]})

    def begin_update(self, resource_group_name, vm_name, parameters):
        with cloud() as data:
            data["vms"][vm_name]["tags"] = parameters["tags"]

    def begin_delete(self, resource_group_name, vm_name):
        with cloud() as data:
            data["vms"].pop(vm_name, None)
        return Later()


class Deployments:
    def begin_create_or_update(self, resource_group_name, deployment_name, parameters):
        values = {k: v["value"] for k, v in parameters["properties"]["parameters"].items()}
        outputs = {key: {"value": f"/{key}/ray"} for key in ("msi", "nsg", "subnet")}
        with cloud() as data:
            if deployment_name == "ray-config":
                data["network"] = values["clusterId"]
            else:
                if values["vmSize"] == "Scarce":
                    raise HttpResponseError("SkuNotAvailable: no capacity for Scarce")
                for number in range(values["vmCount"]):
                    data.setdefault("vms", {})[f"{deployment_name}{number}"] = {
                        "tags": values["vmTags"], "publicKey": values["publicKey"]}
        return Later(Thing(properties=Thing(outputs=outputs)))


class Deletable:
    def begin_delete(self, **_):
        return Later()

    def get(self, **_):
        return Thing(ip_configurations=[Thing(private_ip_address="10.0.0.4",
                                              public_ip_address=Thing(id="/ips/one"))],
                     ip_address="198.18.0.4")


class Resources:
    def list_by_resource_group(self, *_):
        return []

    def get_by_id(self, *_):
        raise ResourceNotFoundError("none")

    def begin_delete_by_id(self, *_, **__):
        with cloud() as data:
            data.pop("network", None)
        return Later()


class Compute(Client):
    virtual_machines, disks = Machines(), Deletable()
    resource_skus = Thing(list=lambda: [])


class Network(Client):
    network_interfaces = public_ip_addresses = Deletable()


class Resource(Client):
    deployments, resources = Deployments(), Resources()
    resource_groups = Thing(create_or_update=lambda **_: None)


module("azure.common")
module("azure.common.credentials", get_cli_profile=lambda: None)
module("azure.core")
module("azure.core.exceptions", ResourceNotFoundError=ResourceNotFoundError,
       HttpResponseError=HttpResponseError)
module("azure.identity", DefaultAzureCredential=lambda **_: None, AzureCliCredential=Client)
module("azure.mgmt")
module("azure.mgmt.compute", ComputeManagementClient=Compute)
module("azure.mgmt.network", NetworkManagementClient=Network)
module("azure.mgmt.resource", ResourceManagementClient=Resource)
module("azure.mgmt.resource.resources")
module("azure.mgmt.resource.resources.models", DeploymentMode=Thing(incremental="Incremental"))
