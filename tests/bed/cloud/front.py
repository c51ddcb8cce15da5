"""The front of AWS: authenticates callers, applies faults and AWS's rules, and lets moto do the
rest.

`Cloud` holds the state and handles one call from arrival to reply. What an action does beyond moto
is in `launch`, `instances`, `templates`, `places`, `prices` and `services`; the table below maps
actions to functions.
"""

import collections
import copy
import json
import re
import threading
import time

from . import (accounts, backend, faults, identity, instances, launch, limits, nodes, paging,
               places, prices, services, settings, templates)
from .wire import UNSIGNED, Refusal, Reply, parse, refuse, understand

ACTIONS = {
    ("ec2", "RunInstances"): launch.run_instances,
    ("ec2", "CreateFleet"): launch.create_fleet,
    ("ec2", "CreateLaunchTemplate"): templates.create_template,
    ("ec2", "CreateLaunchTemplateVersion"): templates.create_version,
    ("ec2", "DescribeLaunchTemplates"): templates.describe_templates,
    ("ec2", "DescribeLaunchTemplateVersions"): templates.describe_versions,
    ("ec2", "DeleteLaunchTemplate"): templates.delete_template,
    ("ec2", "DeleteLaunchTemplateVersions"): templates.delete_versions,
    ("ec2", "DescribeRegions"): places.describe_regions,
    ("ec2", "DescribeInstanceTypeOfferings"): places.describe_offerings,
    ("ec2", "DescribeSubnets"): places.describe_subnets,
    ("ec2", "DescribeKeyPairs"): places.describe_keys,
    ("ec2", "DescribeSecurityGroups"): places.describe_groups,
    ("ec2", "DescribeInstances"): instances.describe_instances,
    ("ec2", "DescribeInstanceStatus"): instances.describe_instance_status,
    ("ec2", "DescribeInstanceTypes"): instances.describe_types,
    ("ec2", "DescribeSpotInstanceRequests"): instances.describe_spot_requests,
    ("ec2", "TerminateInstances"): instances.terminate_instances,
    ("ec2", "StopInstances"): instances.stop_instances,
    ("ec2", "StartInstances"): instances.start_instances,
    ("ec2", "RebootInstances"): instances.reboot_instances,
    ("ec2", "GetConsoleOutput"): instances.console_output,
    ("ec2", "ModifyInstanceMetadataOptions"): instances.metadata_options,
    ("ec2", "ModifyInstanceAttribute"): instances.modify_attribute,
    ("ec2", "ModifyNetworkInterfaceAttribute"): instances.change_groups,
    ("ec2", "CreateTags"): instances.create_tags,
    ("ec2", "AuthorizeSecurityGroupIngress"): instances.change_groups,
    ("ec2", "RevokeSecurityGroupIngress"): instances.change_groups,
    ("ec2", "CreateSecurityGroup"): instances.create_group,
    ("ec2", "DeleteSecurityGroup"): instances.delete_group,
    ("ec2", "GetEbsEncryptionByDefault"): accounts.encryption_by_default,
    ("ec2", "GetEbsDefaultKmsKeyId"): accounts.default_key,
    ("ec2", "DescribeSpotPriceHistory"): prices.spot_history,
    ("pricing", "GetProducts"): prices.get_products,
    ("sts", "GetCallerIdentity"): services.caller_identity,
    ("sts", "AssumeRole"): services.assume_role,
    ("sts", "AssumeRoleWithWebIdentity"): services.assume_role,
    ("sts", "GetSessionToken"): services.session_token,
    ("iam", "CreateAccessKey"): services.create_access_key,
    ("iam", "CreateInstanceProfile"): services.create_profile,
    ("iam", "RemoveRoleFromInstanceProfile"): services.empty_profile,
    ("iam", "PutRolePolicy"): services.put_role_policy,
    ("iam", "ListInstanceProfileTags"): services.profile_tags,
    ("iam", "GetRole"): services.get_role,
    ("iam", "CreateServiceLinkedRole"): services.create_linked_role,
    ("iam", "SimulatePrincipalPolicy"): accounts.simulate,
    ("ssm", "GetParameter"): services.get_parameter,
    ("ssm", "GetParameters"): services.get_parameters,
    ("servicequotas", "GetServiceQuota"): services.get_quota,
    ("servicequotas", "GetAWSDefaultServiceQuota"): services.get_default_quota,
    ("servicequotas", "ListServiceQuotas"): services.list_quotas,
    ("sso", "GetRoleCredentials"): services.role_credentials,
}
# `instances.overlay` shows what these change.
LOOKS_UNCHANGED = {"RunInstances", "CreateFleet", "TerminateInstances", "StopInstances",
                   "StartInstances", "RebootInstances", "AuthorizeSecurityGroupIngress",
                   "RevokeSecurityGroupIngress", "CreateLaunchTemplate", "ImportKeyPair"}
MOTO_PAGE = 100  # it lists fewer reservations per page, with a token that we do not follow
SERVICES = {"ec2", "iam", "sts", "ssm", "s3", "pricing", "servicequotas", "sso"}


class Cloud:
    def __init__(self, moto=None, make_nodes=nodes.Nodes):
        """`moto`: an instance that already has its seed data."""
        self.tunables = settings.Tunables()
        self.moto = moto or backend.Moto()
        if not moto:
            self.moto.seed()
        self.moto.tunables = self.tunables
        self.faults = faults.Faults()
        self.identities = identity.Identities(self.moto)
        self.buckets = limits.Buckets()
        self.nodes = make_nodes(self.moto, self.tunables)
        self.launching = threading.RLock()
        self.tokens = {}
        self.profiles_made = {}
        self.policies_put = {}   # role: [(when a policy was put, the policies before)]
        self.delayed = []        # [(when, work)]: effects that callers do not see yet
        self.type_lists = {}
        self.items = {}
        self.counts = collections.Counter()  # (service, action, who)
        self.refused = collections.Counter()  # code
        self.log = (settings.STATE / "calls.jsonl").open("a", encoding="utf-8")
        self.log_lock = threading.Lock()

    def forget(self):
        """Remove everything that was created, as if the bed had just started."""
        with self.launching:
            self.nodes.by_id.clear()
            self.moto.reset()
            self.identities.reset()
            self.tokens.clear()
            self.items.clear()
            self.profiles_made.clear()
            self.policies_put.clear()
            self.delayed.clear()
            self.nodes.rewire()

    # ---- helpers for actions ----

    def overlay(self, item, node):
        instances.overlay(self, item, node)

    def describe_again(self, region, ids):
        return instances.describe_again(self, region, ids)

    def renderings(self, region, ids):
        """{id: (reservation, <item>)} as moto writes them; cached, because moto takes 5 ms for
        each.
        """
        found = {ident: self.items.get(ident) for ident in ids}  # other threads remove entries
        missing = [ident for ident in ids if not found[ident]]
        for begin in range(0, len(missing), MOTO_PAGE):
            part = missing[begin:begin + MOTO_PAGE]
            params = {f"InstanceId.{n}": ident for n, ident in enumerate(part, 1)}
            _, body = self.moto.ec2(region, {"Action": "DescribeInstances", **params})
            for reservation in parse(body).findall("reservationSet/item"):
                name = reservation.findtext("reservationId")
                for item in reservation.findall("instancesSet/item"):
                    ident = item.findtext("instanceId")
                    self.items[ident] = found[ident] = (name, item)
        return found

    def forget_renderings(self, call):
        """Called after a call that may have changed how instances look."""
        if call.service != "ec2" or call.action.startswith(("Describe", "Get")) or \
                call.action in LOOKS_UNCHANGED:
            return
        named = call.list("ResourceId") + call.list("InstanceId") + [call.get("InstanceId")]
        if any(named):
            for ident in named:
                self.items.pop(ident, None)
        else:
            self.items.clear()

    def pass_on(self, call):
        """moto's own answer."""
        status, fields, body = self.moto.call(call.method, call.target, call.headers, call.body)
        kept = {name: value for name, value in fields
                if name.lower() not in ("content-length", "date", "server", "connection")}
        return Reply(status, body, kept)

    def ask_ec2(self, call, params):
        """moto's answer to the call with other parameters."""
        status, body = self.moto.ec2(call.region, params)
        return Reply(status, body, {"Content-Type": "text/xml;charset=UTF-8"})

    def who(self, source):
        node = self.nodes.at(source)
        return node.id if node else "laptop"

    def count(self, service, action, who):
        self.counts[service, action, who] += 1

    # ---- delayed effects ----

    def delay(self, seconds, work):
        """An effect that is visible from the first call after this many seconds, in the order of
        calls.
        """
        with self.launching:
            self.delayed.append((time.monotonic() + seconds, work))

    def apply_due(self):
        while self.delayed and self.delayed[0][0] <= time.monotonic():
            with self.launching:
                if self.delayed and self.delayed[0][0] <= time.monotonic():
                    self.delayed.pop(0)[1]()

    def policies_in_force(self, who):
        """The policies of a role or user; of a role, without changes that are younger than
        `iam_lag`.
        """
        since = time.monotonic() - self.tunables.iam_lag
        young = [before for at, before in self.policies_put.get(who.name, ()) if at > since]
        if who.kind == "role" and young:
            return young[0]
        return self.moto.policies_of(who.kind, who.name) or []

    # ---- one call ----

    def answer(self, call):
        start, came_at = time.monotonic(), self.now()
        understand(call)
        self.apply_due()
        who = self.who(call.source)
        self.count(call.service, told_action(call), who)
        fault, told = None, ""
        try:
            self.admit(call)
            fault = self.faults.of_call(call)
            reply = self.with_fault(call, fault)
        except Refusal as refusal:
            reply, told = refuse(call, refusal), refusal.code
            self.refused[refusal.code] += 1
        self.write_log(call, who, reply, told, fault, time.monotonic() - start, came_at)
        return reply

    def now(self):
        """The cloud's clock."""
        return time.time() + self.tunables.clock

    def admit(self, call):
        """Check who calls, whether they may, and whether they call too often."""
        if call.service not in SERVICES:
            raise Refusal("UnknownEndpoint", f"The bed has no service {call.service!r}.", 404)
        if call.action in UNSIGNED or call.service == "sso":
            return
        places.check_region(self, call)
        call.identity = identity.check(self.identities, call, self.now())
        call.identity.partition = settings.partition_of(call.region)
        self.identities.authorize(call, self.policies_in_force)
        accounts.check_organization(self, call)
        if self.tunables.throttle:
            self.buckets.check(call)

    def carry_out(self, call):
        if told_action(call) != call.action and call.action != "RunInstances":
            paging.check_dry_run(call)
        action = ACTIONS.get((call.service, call.action))
        try:
            reply = action(self, call) if action else self.pass_on(call)
            call.lease = lease_in(call, reply)  # a fault may garble the reply, not the effect
            return reply
        finally:
            call.done_at = round(self.now(), 3)
            self.forget_renderings(call)

    def with_fault(self, call, fault):
        if fault is None:
            return self.carry_out(call)
        if fault.kind == "hold" and not fault.after:
            self.faults.hold(fault, call.action)
            self.admit(call)  # it arrives only now: its signature may be too old
        if fault.kind == "hold":
            try:
                return self.carry_out(call)
            finally:
                if fault.after:
                    self.faults.hold(fault, call.action)
        refusal = faults.refusal_of(fault, call)
        if refusal:
            raise refusal
        if fault.kind in ("hang", "reset") and not fault.after:
            return Reply(0, b"", manner=fault.kind, seconds=fault.seconds)
        if fault.kind == "redirect":
            return Reply(302, b"", {"Location": "http://198.18.0.1:9/"})
        reply = copy.copy(self.carry_out(call))  # the stored answer for a token stays complete
        if fault.kind == "garbage":
            return faults.garbage(fault.shape)
        if fault.kind == "loop" and call.get("NextToken"):
            reply.body = looped(reply.body, call.get("NextToken"))
        elif fault.kind in ("hang", "reset", "truncate"):
            reply.manner = fault.kind
        reply.seconds = fault.seconds
        return reply

    def write_log(self, call, who, reply, told, fault, seconds, came_at):
        row = {"at": round(time.time(), 3), "ms": round(seconds * 1000, 1), "who": who,
               "came_at": round(came_at, 3), "done_at": call.done_at,
               "lease": call.lease,
               "as": call.identity.label if call.identity else None, "service": call.service,
               "region": call.region, "action": told_action(call), "status": reply.status,
               "token": call.get("ClientToken"), "refused": told or None,
               "fault": fault.kind if fault else None}
        with self.log_lock:
            self.log.write(json.dumps({k: v for k, v in row.items() if v is not None}) + "\n")
            self.log.flush()


def lease_in(call, reply):
    """What a call says about a cluster's lease: a claim with its epoch, or a renewal."""
    if reply.status == 200 and call.action.startswith("CreateLaunchTemplate"):
        number = re.search(rb"<versionNumber>(\d+)", reply.body)
        return {"template": re.search(rb"<launchTemplateId>([^<]+)", reply.body)[1].decode(),
                "number": int(number[1]) if number else 1,
                "claim": call.get("VersionDescription")}
    if call.action == "CreateTags" and call.get("Tag.1.Key") == "shoal-lease-until":
        return {"template": call.get("ResourceId.1"), "end": call.get("Tag.1.Value")}
    return None


def told_action(call):
    """RunInstancesDryRun: dry runs are counted separately."""
    is_dry = call.service == "ec2" and call.get("DryRun") == "true"
    return call.action + ("DryRun" if is_dry else "")


def looped(body, token):
    begin, end = body.find(b"<nextToken>"), body.find(b"</nextToken>")
    if begin < 0:
        return body
    return body[:begin + len(b"<nextToken>")] + token.encode() + body[end:]
