"""The control port, on loopback only: commands of tests to a running cloud.

A request is POST /VERB with a JSON object. The reply is JSON; after a failure {"error": text}.
"""

import dataclasses
import json
import secrets

from cloud.listener import Server
from cloud.wire import Reply

from . import capacity, networks, policies, preemption, settings
from .errors import Refusal


class Control:
    def __init__(self, cloud, listener=Server):
        self.cloud, self.listener = cloud, listener
        self.metadata_servers = {}

    def answer(self, call):
        work = getattr(self, "do_" + call.target.strip("/").replace("-", "_"), None)
        try:
            if work is None:
                raise ValueError(f"no verb {call.target!r}")
            value, status = work(**json.loads(call.body or b"{}")), 200
        except (ValueError, TypeError, KeyError, LookupError, Refusal) as error:
            value, status = {"error": f"{type(error).__name__}: {error}"}, 400
        return Reply(status, json.dumps(value).encode(), {"Content-Type": "application/json"})

    def instance(self, name):
        found = [r for r in self.cloud.store.of_kind("instances", settings.PROJECT)
                 if name in (r.name, r.value["id"], r.path)]
        if len(found) != 1:
            raise LookupError(f"{len(found)} instances are called {name!r}")
        return found[0]

    # ---- queries ----

    def do_truth(self):
        """Everything that exists, even if a listing would hide it."""
        with self.cloud.state:
            found = {}
            for record in self.cloud.store.records.values():
                if record.kind not in ("operations", "images", "networks", "subnetworks"):
                    found.setdefault(record.kind, []).append(record.value)
            return {**found, "mismatches": self.cloud.operations.mismatches}

    def do_counts(self, clear=False):
        with self.cloud.state:
            rows = [{"service": s, "action": a, "who": w, "count": n}
                    for (s, a, w), n in sorted(self.cloud.counts.items())]
            refused = dict(self.cloud.refused)
            if clear:
                self.cloud.counts.clear()
                self.cloud.refused.clear()
        return {"calls": rows, "refused": refused}

    # ---- settings and faults ----

    def do_set(self, **fields):
        """Change tunables; return their old values."""
        with self.cloud.state:
            before = dataclasses.asdict(self.cloud.tunables)
            for name, value in fields.items():
                if name not in before:
                    raise ValueError(f"nothing is called {name!r}; there are: {' '.join(before)}")
                setattr(self.cloud.tunables, name, type(before[name])(value))
            self.cloud.state.notify_all()
        return before

    def do_fault(self, **fields):
        if fields.get("kind") in ("capacity", "no-sshd", "disk-full", "boot-delay", "dies"):
            raise ValueError(f"no fault {fields['kind']!r} here; for capacity use stockout")
        return dataclasses.asdict(self.cloud.faults.add(**fields))

    def do_mix(self, rate, seed=1, seconds=0.3):
        self.cloud.faults.reseed(seed)
        self.cloud.faults.mix(rate, seconds)
        return {}

    def do_held(self):
        """The actions of calls that a fault of kind `hold` has stopped."""
        return {"actions": [fault.held for fault in self.cloud.faults.all if fault.held]}

    def do_release(self):
        self.cloud.faults.release()
        return {}

    def do_clear(self):
        with self.cloud.state:
            self.cloud.faults.clear()
            self.cloud.capacity.stockouts.clear()
            self.cloud.iam.denied.clear()
            self.cloud.unreachable.clear()
            for name in tuple(self.cloud.policies):
                policies.enforce(self.cloud, name, False)
            self.cloud.late_exists = False
        return {}

    def do_stockout(self, **fields):
        """`left` more instances of a type, zone and model start, from `begin` to `end`."""
        with self.cloud.state:
            self.cloud.capacity.stockouts.append(capacity.Stockout(**fields))
        return {}

    def do_quota(self, metric, limit):
        with self.cloud.state:
            for limits in (self.cloud.capacity.quotas, self.cloud.capacity.global_quotas):
                if metric in limits:
                    limits[metric] = limit
                    return {}
        raise ValueError(f"no quota {metric!r}")

    def do_rate(self, group, limit):
        """Requests per minute of a group of methods."""
        with self.cloud.state:
            if group not in self.cloud.rates.limits:
                raise ValueError(f"no group {group!r}; there are: "
                                 f"{' '.join(self.cloud.rates.limits)}")
            self.cloud.rates.limits[group] = limit
        return {}

    def do_default_rules(self):
        """The firewall rules of a new project: ssh and ICMP from everywhere, all inside."""
        with self.cloud.state:
            networks.add_default_rules(self.cloud)
        return {}

    def do_unreachable(self, zone, on=True):
        with self.cloud.state:
            (self.cloud.unreachable.add if on else self.cloud.unreachable.discard)(zone)
        return {}

    def do_policy(self, constraint, on=True):
        """Enforce a constraint of the organization, such as requireOsLogin."""
        if constraint not in policies.NAMES:
            raise ValueError(f"no constraint {constraint!r}; there are: {' '.join(policies.NAMES)}")
        with self.cloud.state:
            policies.enforce(self.cloud, constraint, on)
        return {}

    def do_network(self, name, project=settings.PROJECT, auto=False):
        """Another network, with a subnetwork of its name in each region. In another project: a
        shared VPC, which instances may use, but firewall rules of this project cannot.
        """
        with self.cloud.state:
            if project != settings.PROJECT:
                self.cloud.hosts.add(project)
            networks.add(self.cloud, name, project, auto)
        return {}

    def do_template(self, name, properties):
        """An instance template of the user."""
        with self.cloud.state:
            self.cloud.store.add(f"projects/{settings.PROJECT}/global/instanceTemplates/{name}",
                                 {"name": name, "properties": properties}, "instanceTemplate")
        return {}

    def do_account(self, name=None, role=None, disabled=False):
        """The service account NAME@PROJECT with exactly this role in the project; without a name,
        the default account. New ones can be used at once.
        """
        with self.cloud.state:
            iam, resource = self.cloud.iam, f"projects/{settings.PROJECT}"
            email = settings.DEFAULT_ACCOUNT if name is None else \
                f"{name}@{settings.PROJECT}.iam.gserviceaccount.com"
            account = iam.account(email) or iam.add_account(email)
            account.born = float("-inf")
            account.value["disabled"] = disabled
            member = f"serviceAccount:{email}"
            rows = [{**b, "members": [m for m in b["members"] if m != member]}
                    for b in iam.policy(resource)["bindings"]]
            rows += [{"role": role, "members": [member]}] if role else []
            iam.put(resource, {"bindings": [b for b in rows if b["members"]]}, lag=0.0)
        return {"email": email}

    def do_late_exists(self, on=True):
        """Report a name that exists in the operation, as when two requests race."""
        self.cloud.late_exists = on
        return {}

    # ---- identities ----

    def do_mint(self, member=settings.ADMIN, scopes=(settings.CLOUD_SCOPE,), seconds=3600):
        with self.cloud.state:
            return {"token": self.cloud.tokens.mint(member, scopes, seconds)}

    def do_expire(self, member):
        with self.cloud.state:
            self.cloud.tokens.revoke(member)
        return {}

    def do_deny(self, member, permission):
        with self.cloud.state:
            self.cloud.iam.denied.append((member, permission))
        return {}

    def do_refresh_token(self, member=settings.ADMIN):
        """A credentials file of type authorized_user."""
        token = "1//" + secrets.token_urlsafe(32)
        with self.cloud.state:
            self.cloud.tokens.refresh[token] = member
        return {"type": "authorized_user", "client_id": settings.CLIENT_ID,
                "client_secret": settings.CLIENT_SECRET, "refresh_token": token}

    # ---- instances ----

    def do_preempt(self, instance):
        with self.cloud.state:
            return {"seconds": preemption.preempt(self.cloud, self.instance(instance))}

    def do_maintenance(self, instance, event="TERMINATE_ON_HOST_MAINTENANCE"):
        """The metadata's maintenance-event; NONE: it is over."""
        with self.cloud.state:
            self.instance(instance).maintenance = event
            self.cloud.state.notify_all()
        return {}

    def do_power_off(self, instance):
        """The machine switches itself off."""
        with self.cloud.state:
            self.cloud.instances.stopped_itself(self.instance(instance))
        return {}

    def do_metadata(self, instance):
        """The address of a metadata server for one instance, for GCE_METADATA_HOST."""
        with self.cloud.state:
            record = self.instance(instance)
        if record.path not in self.metadata_servers:
            self.metadata_servers[record.path] = self.listener(
                settings.LOOPBACK, 0, self.cloud.metadata.server(record))
        host, port = self.metadata_servers[record.path].server_address[:2]
        return {"host": f"{host}:{port}"}

    def do_reset(self):
        self.metadata_servers.clear()
        self.cloud.reset()
        return {}
