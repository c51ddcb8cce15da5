"""The requests of Aliyun's SDK: an action and its fields."""

from cloud_file import module

NAMES = """AllocatePublicIpAddress AuthorizeSecurityGroup CreateInstance CreateKeyPair
CreateSecurityGroup CreateVpc CreateVSwitch DeleteInstance DeleteInstances DeleteKeyPairs
DescribeInstances DescribeKeyPairs DescribeSecurityGroups DescribeVpcs DescribeVSwitches
ImportKeyPair RunInstances StartInstance StopInstance StopInstances TagResources"""


def request(action):
    class Request:
        def __init__(self):
            self.action, self.fields = action, {}

        def __getattr__(self, name):
            return lambda value=None: self.fields.update({name.removeprefix("set_"): value})

        def get_action_name(self):
            return self.action
    return Request


module("aliyunsdkecs.request")
module("aliyunsdkecs.request.v20140526")
for each in NAMES.split():
    module(f"aliyunsdkecs.request.v20140526.{each}Request", **{f"{each}Request": request(each)})
