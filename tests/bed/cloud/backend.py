"""moto inside this process: the only file that depends on its internals.

`Moto.call` passes a request as if it had come over HTTP. The other methods read facts that no API
returns completely (group rules, roles of profiles, policies), or correct what moto would do wrong.
"""

import io
import json
import os
import threading
import urllib.parse

from . import settings
from .wire import Refusal

os.environ.update({
    "MOTO_IAM_LOAD_MANAGED_POLICIES": "true",
    "MOTO_ENABLE_AMI_VALIDATION": "true",
    "MOTO_EC2_ENABLE_INSTANCE_TYPE_VALIDATION": "true",
    "MOTO_AMIS_PATH": str(settings.STATE / "amis.json"),
})


def write_amis():
    """moto reads its images from a file when it is first imported."""
    settings.STATE.mkdir(parents=True, exist_ok=True)
    entries = [{
        "ami_id": ami.id, "architecture": ami.arch, "name": ami.name, "description": ami.name,
        "owner_id": ami.owner, "public": True, "image_type": "machine", "hypervisor": "xen",
        "virtualization_type": "hvm", "state": "available", "platform": None, "tags": {},
        "root_device_name": "/dev/sda1", "root_device_type": "ebs", "sriov": "simple"}
        for ami in settings.AMIS]
    (settings.STATE / "amis.json").write_text(json.dumps(entries), encoding="utf-8")


def disks_of_image(ami):
    """As Canonical's images: the disk that moto gives to an instance that names none."""
    return [{"DeviceName": ami.root_device_name or "/dev/sda1", "Ebs": {
        "DeleteOnTermination": True, "SnapshotId": ami.ebs_snapshot.id, "VolumeSize": 8,
        "VolumeType": "gp2"}}]


class Moto:
    def __init__(self):
        write_amis()
        from moto.backends import get_backend
        from moto.ec2.models.amis import Ami
        from moto.ec2.models.instance_types import INSTANCE_TYPES
        from moto.moto_server.werkzeug_app import (DomainDispatcherApplication,
                                                   create_backend_app)
        Ami.block_device_mappings = property(disks_of_image)
        self.types = INSTANCE_TYPES
        self.app = DomainDispatcherApplication(create_backend_app)
        self.get_backend = get_backend
        self.lock = threading.RLock()
        self.tunables = settings.Tunables()  # those of the cloud, once there is one

    # ---- requests ----

    def call(self, method, target, headers, body):
        """(status, [(header, value)], body bytes) of moto's answer."""
        path, _, query = target.partition("?")
        environ = {
            "REQUEST_METHOD": method, "PATH_INFO": urllib.parse.unquote(path, "latin-1"),
            "RAW_URI": target, "REQUEST_URI": target, "QUERY_STRING": query, "SCRIPT_NAME": "",
            "SERVER_NAME": "bed", "SERVER_PORT": str(settings.API_PORT),
            "SERVER_PROTOCOL": "HTTP/1.1", "CONTENT_LENGTH": str(len(body)),
            "wsgi.input": io.BytesIO(body), "wsgi.errors": io.StringIO(), "wsgi.version": (1, 0),
            "wsgi.url_scheme": "http", "wsgi.multithread": True, "wsgi.multiprocess": False,
            "wsgi.run_once": False, "REMOTE_ADDR": settings.LOOPBACK}
        for name, value in headers.items():
            key = name.upper().replace("-", "_")
            if key == "CONTENT_TYPE":
                environ[key] = value
            elif key not in ("CONTENT_LENGTH", "TRANSFER_ENCODING", "EXPECT"):
                environ["HTTP_" + key] = value
        answer = {}

        def start(status, fields, _info=None):
            answer["status"], answer["headers"] = int(status.split()[0]), fields

        with self.lock:
            chunks = self.app(environ, start)
            data = b"".join(chunks)
            if hasattr(chunks, "close"):
                chunks.close()
        return answer["status"], answer["headers"], data

    def ec2(self, region, params):
        """(status, body) of an EC2 action that we build ourselves."""
        scope = f"Credential={settings.ADMIN_KEY}/20200101/{region}/ec2/aws4_request"
        headers = {"Content-Type": "application/x-www-form-urlencoded; charset=utf-8",
                   "Host": f"ec2.{region}.amazonaws.com",
                   "Authorization": f"AWS4-HMAC-SHA256 {scope}, SignedHeaders=host, Signature=0"}
        body = urllib.parse.urlencode({"Version": "2016-11-15", **params}).encode()
        status, _, data = self.call("POST", "/", headers, body)
        return status, data

    # ---- facts ----

    def backend(self, region):
        return self.get_backend("ec2")[settings.ACCOUNT][region]

    def iam(self):
        return self.get_backend("iam")[settings.ACCOUNT][self.tunables.partition]

    def encrypts(self):
        """Are all new volumes encrypted?"""
        return bool(self.tunables.ebs_key or self.tunables.ebs_encrypted)

    def subnet_owner(self):
        return settings.SUBNET_OWNER if self.tunables.shared_subnets else settings.ACCOUNT

    def regions(self):
        """The regions of the account's partition."""
        if self.tunables.partition == "aws":
            return list(settings.VPCS)[:self.tunables.regions]
        return [name for name in settings.OTHER_VPCS
                if settings.partition_of(name) == self.tunables.partition]

    def instance(self, region, ident):
        return self.backend(region).get_instance(ident)

    def filtered(self, work, filters):
        """What moto lists for these filters; an unknown filter is refused as AWS would."""
        with self.lock:
            try:
                return work(filters=filters or None)
            except Exception as error:  # moto's own exceptions; they have a code
                if not hasattr(error, "error_type") and not hasattr(error, "code"):
                    raise
                raise Refusal(getattr(error, "error_type", "InvalidParameterValue"),
                              f"The filter '{', '.join(filters)}' is invalid") from error

    def matching(self, region, filters):
        """Ids of the instances that match these filters, oldest first."""
        found = self.filtered(self.backend(region).all_reservations, filters)
        return [instance.id for reservation in found for instance in reservation.instances]

    def templates(self, region, filters):
        return self.filtered(self.backend(region).describe_launch_templates, filters)

    def offerings(self, region, kind):
        return self.backend(region).describe_instance_type_offerings(kind)

    def zones(self, region):
        """Names of a region's zones, including those without a subnet of ours."""
        return [zone.name for zone in self.backend(region).describe_availability_zones()]

    def subnets(self, region):
        return [subnet for of_zone in self.backend(region).subnets.values()
                for subnet in of_zone.values()]

    def subnet(self, region, ident):
        return next((s for s in self.subnets(region) if s.id == ident), None)

    def default_subnet(self, region, zone=None):
        found = [s for s in self.subnets(region) if s.default_for_az
                 and zone in (None, s.availability_zone)]
        return min(found, key=lambda s: s.availability_zone, default=None)

    def default_vpc(self, region):
        return next((v.id for v in self.backend(region).vpcs.values() if v.is_default), "")

    def image(self, region, ident):
        return self.backend(region).amis.get(ident)

    def groups(self, region):
        """{id: group} of a region."""
        return {group.id: group for of_vpc in self.backend(region).groups.values()
                for group in of_vpc.values()}

    def group_rules(self, region):
        """{id: [ingress rule]} in the format of `network`."""
        rules = {}
        for ident, group in self.groups(region).items():
            rules[ident] = [{"protocol": rule.ip_protocol, "from": rule.from_port,
                             "to": rule.to_port, "cidr": rule.cidr_ipv4,
                             "group": rule.source_group.get("GroupId")}
                            for rule in group.ingress_rules]
        return rules

    def groups_of(self, region, ident):
        """Ids of the groups that an instance is in now."""
        instance = self.instance(region, ident)
        found = {group.id for nic in instance.nics.values() for group in nic.group_set}
        found |= {group.id for group in instance.security_groups}
        if not found:
            found = {group.id for group in self.groups(region).values()
                     if group.name == "default" and group.vpc_id == instance.vpc_id}
        return sorted(found)

    def public_key(self, region, name):
        pair = self.backend(region).key_pairs.get(name) if name else None
        return pair.material_public.decode() if pair else None

    def template(self, region, ident, name, version):
        """The data of a launch template's version; {} if the version is missing, None if the
        template is.
        """
        backend = self.backend(region)
        ident = ident or backend.launch_template_name_to_ids.get(name)
        found = backend.launch_templates.get(ident)
        if not found:
            return None
        have = [v for v in found.versions if not getattr(v, "is_deleted", False)]
        number = {"$Latest": have[-1].number, "$Default": found.default_version_number}.get(
            version or "$Default", version)
        return next((v.data for v in have if str(v.number) == str(number)), {})

    def profile(self, name):
        """(arn, id, role name or None) of an instance profile, or None."""
        for profile in self.iam().instance_profiles.values():
            if name in (profile.name, profile.arn):
                return profile.arn, profile.id, next((r.name for r in profile.roles), None)
        return None

    def profile_tags(self, name):
        """The tags of an instance profile, or None when it does not exist."""
        found = [p for p in self.iam().instance_profiles.values() if p.name == name]
        return found[0].tags if found else None

    def policies_of(self, kind, name):
        """Policy documents of a role or user, or None when it does not exist."""
        iam = self.iam()
        if kind == "role":
            owner = next((r for r in iam.roles.values() if r.name == name), None)
        else:
            owner = iam.users.get(name)
        if owner is None:
            return None
        texts = [version.document for policy in owner.managed_policies.values()
                 for version in policy.versions if version.is_default]
        inline = owner.policies
        texts += list(inline.values()) if isinstance(inline, dict) else [p.document for p in inline]
        return [json.loads(text) if isinstance(text, str) else text for text in texts]

    def path_of(self, kind, name):
        """The path of a role or instance profile; "/" when it does not exist."""
        if name == "AWSServiceRoleForEC2Spot":
            return "/aws-service-role/spot.amazonaws.com/"
        iam = self.iam()
        all_ones = iam.roles if kind == "role" else iam.instance_profiles
        return next((one.path for one in all_ones.values() if one.name == name), "/") or "/"

    def tags_of(self, region, ident):
        return dict(self.backend(region).tags.get(ident, {}))

    # ---- changes to moto ----

    def forget(self, region, ident):
        """Remove a terminated instance from the listing."""
        with self.lock:
            reservations = self.backend(region).reservations
            for key, reservation in list(reservations.items()):
                left = [i for i in reservation.instances if i.id != ident]
                if len(left) < len(reservation.instances):
                    reservation.instances = left
                    if not left:
                        del reservations[key]

    def reset(self):
        """Remove what callers created. A full reset of moto takes seconds."""
        iam = self.iam()
        with self.lock:
            for made in (iam.roles, iam.users, iam.instance_profiles):
                made.clear()
            for region in self.regions():
                backend = self.backend(region)
                for made in (backend.reservations, backend.volumes, backend.enis,
                             backend.key_pairs, backend.launch_templates,
                             backend.launch_template_name_to_ids,
                             backend.launch_template_insert_order):
                    made.clear()
                for of_vpc in backend.groups.values():
                    for ident in [i for i, g in of_vpc.items() if g.name != "default"]:
                        del of_vpc[ident]

    def open_default_group(self, region, vpc):
        """Allow the members of a VPC's default group to reach each other, which moto does not."""
        group = next(g for g in self.groups(region).values()
                     if g.vpc_id == vpc and g.name == "default")
        if not group.ingress_rules:
            self.ec2(region, {"Action": "AuthorizeSecurityGroupIngress", "GroupId": group.id,
                              "IpPermissions.1.IpProtocol": "-1",
                              "IpPermissions.1.Groups.1.GroupId": group.id})

    def open_to_the_world(self, backend, vpc, subnets):
        """Public subnets have a route to an internet gateway; the others only the VPC's own
        table.
        """
        gateway = backend.create_internet_gateway()
        backend.attach_internet_gateway(gateway.id, vpc.id)
        table = backend.create_route_table(vpc.id)
        backend.create_route(table.id, "0.0.0.0/0", gateway_id=gateway.id)
        for subnet in subnets:
            backend.associate_route_table(table.id, subnet_id=subnet.id)

    def seed(self, vpcs=None):
        """Replace moto's default VPCs with ours, and keep images only in our regions."""
        from moto.ec2.models.instance_types import INSTANCE_TYPE_OFFERINGS
        for region, cidr in (vpcs or settings.VPCS).items():
            if region in settings.OTHER_VPCS:  # the same types as in Oregon
                for rows in INSTANCE_TYPE_OFFERINGS.values():
                    rows[region] = [{**row, "Location": row["Location"].replace(
                        settings.REGION, region)} for row in rows[settings.REGION]]
            backend = self.backend(region)
            for ami in settings.AMIS:
                if ami.region not in ("", region):
                    backend.amis.pop(ami.id, None)
            for vpc in list(backend.vpcs.values()):
                for subnet in self.subnets(region):
                    backend.delete_subnet(subnet.id)
                backend.delete_vpc(vpc.id)
            vpc = backend.create_vpc(cidr_block=cidr, is_default=True)
            self.open_default_group(region, vpc.id)
            public = []
            for spec in (s for s in settings.SUBNETS if s.region == region):
                subnet = backend.create_subnet(vpc_id=vpc.id, cidr_block=spec.cidr,
                                               availability_zone=spec.zone)
                subnet.default_for_az = spec.public
                subnet.map_public_ip_on_launch = spec.public
                subnet.add_tag("Name", spec.name)
                public += [subnet] if spec.public else []
            self.open_to_the_world(backend, vpc, public)
