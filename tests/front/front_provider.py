"""A node provider class of Ray for the machines of a front, written as users write theirs."""

import boto3
from ray.autoscaler.node_provider import NodeProvider


class FrontProvider(NodeProvider):
    def __init__(self, provider_config, cluster_name):
        super().__init__(provider_config, cluster_name)
        self.ec2 = boto3.client("ec2", region_name=provider_config["region"],
                                endpoint_url=provider_config["endpoint"],
                                **provider_config["keys"])
        self.nodes = {}

    def non_terminated_nodes(self, tag_filters):
        print("asking the cloud")  # not a reply
        wanted = {**tag_filters, "ray-cluster-name": self.cluster_name}
        pages = self.ec2.get_paginator("describe_instances").paginate(Filters=[
            {"Name": "instance-state-name", "Values": ["pending", "running"]}])
        found = {i["InstanceId"]: i for p in pages for r in p["Reservations"]
                 for i in r["Instances"]}
        self.nodes.update(found)
        return [n for n in found if wanted.items() <= self.node_tags(n).items()]

    def is_running(self, node_id):
        return self.nodes[node_id]["State"]["Name"] == "running"

    def is_terminated(self, node_id):
        return node_id not in self.non_terminated_nodes({})

    def node_tags(self, node_id):
        return {t["Key"]: t["Value"] for t in self.nodes[node_id].get("Tags", [])}

    def external_ip(self, node_id):
        return self.nodes[node_id].get("PublicIpAddress")

    def internal_ip(self, node_id):
        return self.nodes[node_id].get("PrivateIpAddress")

    def create_node(self, node_config, tags, count):
        tags = {**tags, "ray-cluster-name": self.cluster_name}
        self.ec2.run_instances(**node_config, MinCount=1, MaxCount=count, TagSpecifications=[{
            "ResourceType": "instance",
            "Tags": [{"Key": key, "Value": value} for key, value in tags.items()]}])

    def set_node_tags(self, node_id, tags):
        self.ec2.create_tags(Resources=[node_id], Tags=[
            {"Key": key, "Value": value} for key, value in tags.items()])

    def terminate_node(self, node_id):
        self.ec2.terminate_instances(InstanceIds=[node_id])


class Leaving(FrontProvider):
    def create_node(self, node_config, tags, count):
        print("no account")
        raise SystemExit("log in first: front login")
