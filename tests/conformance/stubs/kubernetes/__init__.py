"""As much of the Kubernetes client as Ray's class for vSphere uses: one VMRayCluster."""

from types import SimpleNamespace as Thing

from cloud_file import cloud, module


class ApiException(Exception):
    def __init__(self, status):
        super().__init__(f"({status})")
        self.status = status


class Objects:
    def __init__(self, _):
        pass

    def get_namespaced_custom_object(self, group, version, namespace, plural, name):
        with cloud() as data:
            if data.get("down"):
                raise ApiException(503)
            found = data.get("cluster")
            if not found:
                raise ApiException(404)
            if "services" in plural:
                return {"status": {"loadBalancer": {"ingress": [{"ip": "198.18.0.6"}]}}}
            workers = found["spec"].get("autoscaler_desired_workers", {})
            found["status"] = {
                "head_node_status": {"vm_status": "running", "ip": "198.18.0.6"},
                "current_workers": {w: {"vm_status": "running", "ip": "198.18.0.7"}
                                    for w in workers}}
            return found

    def create_namespaced_custom_object(self, group, version, namespace, plural, body):
        with cloud() as data:
            data["cluster"] = body

    def patch_namespaced_custom_object(self, group, version, namespace, plural, name, body, **_):
        with cloud() as data:
            workers = data["cluster"]["spec"].setdefault("autoscaler_desired_workers", {})
            for key, value in body["spec"]["autoscaler_desired_workers"].items():
                if value is None:
                    workers.pop(key, None)
                else:
                    workers[key] = value

    def delete_namespaced_custom_object(self, group, version, namespace, plural, name):
        with cloud() as data:
            data.pop("cluster")


exceptions = Thing(ApiException=ApiException)
client = module("kubernetes.client", ApiClient=lambda *_: None, CustomObjectsApi=Objects,
                CoreV1Api=lambda *_: Thing(create_namespaced_secret=lambda **_: None),
                V1ObjectMeta=lambda **_: None, V1Secret=lambda **_: None, exceptions=exceptions)
config = module("kubernetes.config", load_kube_config=lambda: None)
