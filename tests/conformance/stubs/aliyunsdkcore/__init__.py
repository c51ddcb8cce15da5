"""As much of Aliyun's SDK as Ray's class uses. Instances get addresses late."""

import json
import uuid

from cloud_file import cloud, module


class ClientException(Exception):
    pass


class ServerException(Exception):
    pass


def matches(row, asked):
    wanted = {tag["Key"]: tag["Value"] for tag in asked.get("Tags", [])}
    return (row["InstanceId"] in asked.get("InstanceIds", [row["InstanceId"]])
            and wanted.items() <= row["tags"].items())


def shown(row):
    tags = [{"TagKey": key, "TagValue": value} for key, value in row["tags"].items()]
    return {**row, "Tags": {"Tag": tags}, "Status": "Running",
            "PublicIpAddress": {"IpAddress": ["198.18.0.5"]},
            "VpcAttributes": {"PrivateIpAddress": {"IpAddress": ["10.0.0.5"]}}}


class AcsClient:
    def __init__(self, **_):
        pass

    def do_action_with_exception(self, request):
        with cloud() as data:
            if data.get("down"):
                raise ServerException("InternalError")
            return json.dumps(self.answer(request.action, request.fields, data))

    def answer(self, action, asked, data):
        rows = data.setdefault("instances", {})
        if action == "DescribeInstances":
            return {"Instances": {"Instance": [shown(r) for r in rows.values()
                                               if matches(r, asked)]}}
        if action == "RunInstances":
            ids = [f"i-{uuid.uuid4().hex[:8]}" for _ in range(asked["Amount"])]
            rows.update({i: {"InstanceId": i, "tags": {
                t["Key"]: t["Value"] for t in asked["Tags"]}} for i in ids})
            return {"InstanceIdSets": {"InstanceIdSet": ids}}
        if action == "TagResources":
            for i in asked["ResourceIds"]:
                rows[i]["tags"].update({t["Key"]: t["Value"] for t in asked["Tags"]})
        elif action in ("DeleteInstances", "DeleteInstance"):
            for i in asked.get("InstanceIds") or [asked.get("InstanceId")]:
                del rows[i]
        elif action == "ImportKeyPair":
            data["key"] = asked["PublicKeyBody"]
        one = {"Vpcs": ("Vpc", "VpcId"), "VSwitches": ("VSwitch", "VSwitchId"),
               "SecurityGroups": ("SecurityGroup", "SecurityGroupId")}
        name = action.removeprefix("Describe")
        if name in one:
            return {name: {one[name][0]: [{one[name][1]: "x-1"}]}}
        return {"KeyPairs": {"KeyPair": []}}


module("aliyunsdkcore.client", AcsClient=AcsClient)
client = __import__("sys").modules["aliyunsdkcore.client"]
module("aliyunsdkcore.acs_exception")
module("aliyunsdkcore.acs_exception.exceptions", ClientException=ClientException,
       ServerException=ServerException)
