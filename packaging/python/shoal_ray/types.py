"""The types of what commands print with `-o json`. Made by make_types.py from the JSON Schema.

A later version of the command may add keys.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any, Dict, List, Literal, Optional, Protocol, TypedDict, Union, overload

Word = Union[str, "os.PathLike[str]"]


class Error(TypedDict):
    """What a command prints if it fails before it has a result."""

    error: str
    error_kind: str


class Failure(TypedDict):
    """Why a node failed."""

    step: str
    command: str
    config_path: str
    output: str
    cause: str
    hint: str
    exit_status: int


class NodeUses(TypedDict):
    used: float
    total: float


class Node(TypedDict):
    """A node of a cluster. Times are milliseconds since 1970; 0 means none."""

    name: str
    head: bool
    id: str
    type: str
    instance_type: str
    zone: str
    spot: bool
    public_ip: str
    private_ip: str
    phase: Literal["requested", "booting", "connecting", "copying", "setting-up", "waiting",
        "starting", "joining", "ready", "terminating", "terminated", "failed"]
    since_ms: int
    requested_ms: int
    kept_until_ms: int
    step: int
    steps: int
    detail: str
    reason: str
    dollars_per_hour: Union[float, None]
    ray_id: str
    idle_since_ms: int
    activity: str
    draining: bool
    outdated: bool
    uses: Dict[str, NodeUses]
    failure: Union[Failure, None]


class Demand(TypedDict):
    """A group of pending requests."""

    source: Literal["tasks", "placement_group", "request_resources", "training"]
    shape: str
    labels: str
    job: str
    count: int
    unschedulable: int
    infeasible: bool
    reason: str
    since_ms: int


class Event(TypedDict):
    number: int
    at_ms: int
    kind: Literal["launch", "join", "drain", "terminate", "spot_interruption", "failure",
        "launch_failed", "infeasible", "autoscaler"]
    node: str
    text: str
    reason: str


class Status(TypedDict):
    """shoal status. With --watch, one object per line."""

    cluster: str
    shoal_version: str
    ray_version: str
    ray_address: str
    ray_gone: bool
    autoscaler_state: Literal["unknown", "active", "standby", "crash_looping"]
    autoscaler_message: str
    ray_autoscaler: bool
    min_workers_blocked: str
    scale_up_blocked: str
    scale_down_blocked: str
    idle_stop: str
    goal: Literal["run", "down"]
    stopped_workers: int
    ray_nodes: int
    desired_nodes: int
    converged: bool
    waiting_for: str
    waiting_for_lease: bool
    handover_serial: int
    now_ms: int
    ray_seen_ms: int
    dollars_per_hour: Union[float, None]
    max_dollars_per_hour: Union[float, None]
    running_jobs: Union[int, None]
    pending: int
    unschedulable: int
    demand_count: int
    nodes: List[Node]
    demands: List[Demand]
    ray_status: str


class Top(TypedDict):
    """shoal top."""

    cluster: str
    shoal_version: str
    ray_version: str
    ray_address: str
    ray_gone: bool
    autoscaler_state: Literal["unknown", "active", "standby", "crash_looping"]
    autoscaler_message: str
    ray_autoscaler: bool
    min_workers_blocked: str
    scale_up_blocked: str
    scale_down_blocked: str
    idle_stop: str
    goal: Literal["run", "down"]
    stopped_workers: int
    ray_nodes: int
    desired_nodes: int
    converged: bool
    waiting_for: str
    waiting_for_lease: bool
    handover_serial: int
    now_ms: int
    ray_seen_ms: int
    dollars_per_hour: Union[float, None]
    max_dollars_per_hour: Union[float, None]
    running_jobs: Union[int, None]
    pending: int
    unschedulable: int
    demand_count: int
    nodes: List[Node]
    demands: List[Demand]
    ray_status: str
    dollars_so_far: float
    all_prices_known: bool
    events: List[Event]


class Logs(TypedDict):
    """shoal logs: one object per line."""

    node: str
    line: str


class ExplainExplanations(TypedDict):
    question: str
    answer: List[str]
    fix: str


class Explain(TypedDict):
    """shoal explain."""

    explanations: List[ExplainExplanations]


class ValidateFindings(TypedDict):
    level: Literal["error", "warning"]
    code: str
    line: int
    column: int
    width: int
    text: str
    hint: str


class Validate(TypedDict):
    """shoal validate."""

    file: str
    errors: int
    warnings: int
    truncated: bool
    findings: List[ValidateFindings]


class CheckFindingsRows(TypedDict):
    name: str
    where: str
    why: str
    remedy: str
    path: str
    line: int
    column: int


class CheckFindings(TypedDict):
    level: Literal["fine", "warning", "error"]
    subject: str
    text: str
    remedy: str
    path: str
    line: int
    column: int
    rows: List[CheckFindingsRows]


class Check(TypedDict):
    """shoal check."""

    file: str
    provider: str
    region: str
    asked: bool
    errors: int
    warnings: int
    findings: List[CheckFindings]
    not_checked: List[str]


class ConfigHashesRuntime(TypedDict):
    head: str
    worker: str


class ConfigHashes(TypedDict):
    """shoal config --hashes."""

    launch: Dict[str, str]
    runtime: ConfigHashesRuntime
    file_mounts_contents: str


class _PlanSteps(TypedDict):
    action: Literal["launch", "start", "drain", "replace"]
    head: bool
    type: str
    instance_type: str
    spot: bool
    count: int
    id: str
    reason: str


class PlanSteps(_PlanSteps, total=False):
    dollars_per_hour: float


class _Plan(TypedDict):
    cluster: str
    where: str
    changes: bool
    steps: List[PlanSteps]
    update: bool
    ray_restarts: int


class Plan(_Plan, total=False):
    """shoal plan. A price that is not known is left out."""

    running_jobs: int
    dollars_per_hour_now: float
    dollars_per_hour_after: float


class _Up(TypedDict):
    cluster: str
    where: str
    nodes: List[Node]


class Up(_Up, total=False):
    """shoal up and shoal start. With "error", the launch failed and the fields after it are
        missing."""

    error: str
    error_kind: str
    up_to_date: bool
    node_count: int
    failed_count: int
    missing_count: int
    cpus: float
    ray_version: str
    head_address: str
    took_ms: int


class DownLeft(TypedDict):
    kind: str
    id: str
    note: str


class _Down(TypedDict):
    cluster: str
    where: str
    nodes: List[Node]


class Down(_Down, total=False):
    """shoal down and shoal stop. With "error", the fields after it are missing."""

    error: str
    error_kind: str
    terminated_instances: int
    stopped_instances: int
    kept_instances: int
    removed_resources: int
    dollars: Union[float, None]
    left: List[DownLeft]
    nothing_left: bool
    took_ms: int


class GetHeadIp(TypedDict):
    """shoal get-head-ip."""

    head_ip: str
    id: str
    public_ip: str
    private_ip: str


class GetWorkerIps(TypedDict):
    """shoal get-worker-ips."""

    worker_ips: List[str]


class LsClustersNodes(TypedDict):
    pending: int
    running: int
    stopping: int
    stopped: int
    ending: int


class LsClustersInstances(TypedDict):
    id: str
    type: str
    zone: str
    state: str
    market: Literal["spot", "on-demand"]
    head: bool
    since: Union[str, None]
    dollars_per_hour: Union[float, None]
    price_from: Union[str, None]
    price_at: Union[str, None]


class LsClustersVolumes(TypedDict):
    id: str
    kind: str
    gb: int
    instance: Union[str, None]


class LsClustersResources(TypedDict):
    kind: str
    id: str


class LsClusters(TypedDict):
    name: Union[str, None]
    uid: Union[str, None]
    provider: Literal["aws", "gcp"]
    project: Union[str, None]
    region: Union[str, None]
    state: str
    made_by: Literal["shoal", "ray"]
    has_head: bool
    since: Union[str, None]
    dollars_per_hour: Union[float, None]
    dollars_are_complete: bool
    dollars_per_hour_of_volumes: Union[float, None]
    expires_at: Union[str, None]
    expired: bool
    remedy: Union[str, None]
    nodes: LsClustersNodes
    instances: List[LsClustersInstances]
    volumes: List[LsClustersVolumes]
    resources: List[LsClustersResources]


class LsGaps(TypedDict):
    project: Union[str, None]
    region: Union[str, None]
    what: str
    kind: str
    code: Union[str, None]
    text: str


class LsSkipped(TypedDict):
    project: Union[str, None]
    region: Union[str, None]
    what: str
    kind: str
    code: Union[str, None]
    text: str


class Ls(TypedDict):
    """shoal ls."""

    account: Union[str, None]
    at: Union[str, None]
    regions: List[str]
    projects: List[str]
    complete: bool
    dollars_per_hour: Union[float, None]
    dollars_are_complete: bool
    clusters: List[LsClusters]
    gaps: List[LsGaps]
    skipped: List[LsSkipped]


class GcLeftoversResources(TypedDict):
    kind: str
    id: str


class GcLeftovers(TypedDict):
    name: str
    provider: Literal["aws", "gcp"]
    project: Union[str, None]
    region: str
    uid: str
    expired: bool
    instances: List[str]
    resources: List[GcLeftoversResources]
    volumes: List[str]
    deleted: bool
    error: str


class Gc(TypedDict):
    """shoal gc."""

    complete: bool
    leftovers: List[GcLeftovers]


class Version(TypedDict):
    """shoal version. "commit" is empty if the build did not name one."""

    version: str
    ray: str
    catalog: str
    commit: str
    build: Dict[str, str]
    libraries: Dict[str, str]


class SimulatePrices(TypedDict):
    region: str
    date: str
    spot_share: float
    text: str


class SimulatePlannersWaitSeconds(TypedDict):
    p50: float
    p90: float
    p99: float
    max: float


class SimulatePlannersTypes(TypedDict):
    type: str
    instance_type: str
    market: Literal["spot", "on-demand"]
    price: Union[float, None]
    node_hours: float
    cost: Union[float, None]


class SimulatePlannersClassesWaitSeconds(TypedDict):
    p50: float
    p90: float
    p99: float
    max: float


SimulatePlannersClasses = TypedDict("SimulatePlannersClasses", {
    "class": str,
    "arrived": int,
    "started": int,
    "finished": int,
    "lost": int,
    "wait_seconds": SimulatePlannersClassesWaitSeconds,
})


class SimulatePlannersLines(TypedDict):
    seconds: float
    text: str


class _SimulatePlanners(TypedDict):
    planner: str
    first_node_seconds: Union[float, None]
    most_nodes: int
    most_nodes_seconds: Union[float, None]
    wait_seconds: SimulatePlannersWaitSeconds
    arrived: int
    started: int
    finished: int
    lost: int
    node_hours: float
    cost: Union[float, None]
    cost_is_partial: bool
    utilization: Union[float, None]
    launches: int
    refused: int
    preemptions: int
    ended: int
    types: List[SimulatePlannersTypes]
    classes: List[SimulatePlannersClasses]
    events: int
    trace: str


class SimulatePlanners(_SimulatePlanners, total=False):
    lines: List[SimulatePlannersLines]


class SimulateComparisonsSpread(TypedDict):
    seeds: int
    cost_mean: Union[float, None]
    cost_min: Union[float, None]
    cost_max: Union[float, None]
    wait_p90_seconds_mean: float
    wait_p90_seconds_min: float
    wait_p90_seconds_max: float


class SimulateComparisons(TypedDict):
    planner: str
    against: str
    cost: Union[float, None]
    cost_share: Union[float, None]
    wait_p90_seconds: float
    spread: SimulateComparisonsSpread
    text: str


class Simulate(TypedDict):
    """shoal simulate. Costs are in dollars."""

    cluster: str
    provider: str
    workload: str
    hours: float
    faults: str
    seed: int
    prices: SimulatePrices
    planners: List[SimulatePlanners]
    comparisons: List[SimulateComparisons]


class TrainJobSlots(TypedDict):
    slot: int
    state: Literal["pending", "preparing", "ready", "training", "ended"]
    rank: Union[int, None]
    node: str
    host: str
    checkpoint: int


class TrainJob(TypedDict):
    """A training job. Times are seconds since 1970."""

    job: str
    phase: Literal["waiting", "training", "saving", "recovering", "complete", "failed", "stopped",
        "interrupted"]
    why: str
    since: float
    generation: int
    replicas: int
    min: int
    max: int
    step: int
    steps_per_s: float
    samples_per_s: Union[float, None]
    dollars_per_hour: Union[float, None]
    checkpoint: int
    checkpoint_step: Union[int, None]
    stored: int
    slots: List[TrainJobSlots]


class _TrainEvent(TypedDict):
    event: Literal["run", "generation", "rate", "message", "end"]
    time: float


class TrainEvent(_TrainEvent, total=False):
    """An event of a training job. Which keys it has depends on event."""

    message: str
    cause: str
    generation: int
    step: int
    replicas: int
    replicas_before: int
    checkpoint: int
    steps_repeated: int
    steps_per_s: float
    pause_s: float
    save_s: float
    transfer_s: float
    start_s: float
    rendezvous_s: float
    load_s: float


class _Train(TypedDict):
    time: float


class Train(_Train, total=False):
    """shoal train: one object per line, an event (generation, end) or a message. A message has no
        event."""

    event: Literal["run", "generation", "rate", "message", "end"]
    message: str
    cause: str
    generation: int
    step: int
    replicas: int
    replicas_before: int
    checkpoint: int
    steps_repeated: int
    steps_per_s: float
    pause_s: float
    save_s: float
    transfer_s: float
    start_s: float
    rendezvous_s: float
    load_s: float


class TrainLs(TypedDict):
    """shoal train ls."""

    jobs: List[TrainJob]


class TrainStatusSlots(TypedDict):
    slot: int
    state: Literal["pending", "preparing", "ready", "training", "ended"]
    rank: Union[int, None]
    node: str
    host: str
    checkpoint: int


class TrainStatusPauses(TypedDict):
    count: int
    total_s: float
    save_s: float
    transfer_s: float
    start_s: float
    rendezvous_s: float
    load_s: float
    steps_repeated: int


class TrainStatus(TypedDict):
    """shoal train status."""

    job: str
    phase: Literal["waiting", "training", "saving", "recovering", "complete", "failed", "stopped",
        "interrupted"]
    why: str
    since: float
    generation: int
    replicas: int
    min: int
    max: int
    step: int
    steps_per_s: float
    samples_per_s: Union[float, None]
    dollars_per_hour: Union[float, None]
    checkpoint: int
    checkpoint_step: Union[int, None]
    stored: int
    slots: List[TrainStatusSlots]
    pauses: TrainStatusPauses
    events: List[TrainEvent]


class Query(Protocol):
    @overload
    def __call__(self, verb: Literal["check"], /, *words: Word,
                 input: Optional[str] = ..., timeout: Optional[float] = ...,
                 cwd: Optional[Word] = ...,
                 env: Optional[Mapping[str, str]] = ...) -> Check: ...

    @overload
    def __call__(self, verb: Literal["down"], /, *words: Word,
                 input: Optional[str] = ..., timeout: Optional[float] = ...,
                 cwd: Optional[Word] = ...,
                 env: Optional[Mapping[str, str]] = ...) -> Down: ...

    @overload
    def __call__(self, verb: Literal["explain"], /, *words: Word,
                 input: Optional[str] = ..., timeout: Optional[float] = ...,
                 cwd: Optional[Word] = ...,
                 env: Optional[Mapping[str, str]] = ...) -> Explain: ...

    @overload
    def __call__(self, verb: Literal["gc"], /, *words: Word,
                 input: Optional[str] = ..., timeout: Optional[float] = ...,
                 cwd: Optional[Word] = ...,
                 env: Optional[Mapping[str, str]] = ...) -> Gc: ...

    @overload
    def __call__(self, verb: Literal["get-head-ip"], /, *words: Word,
                 input: Optional[str] = ..., timeout: Optional[float] = ...,
                 cwd: Optional[Word] = ...,
                 env: Optional[Mapping[str, str]] = ...) -> GetHeadIp: ...

    @overload
    def __call__(self, verb: Literal["get-worker-ips"], /, *words: Word,
                 input: Optional[str] = ..., timeout: Optional[float] = ...,
                 cwd: Optional[Word] = ...,
                 env: Optional[Mapping[str, str]] = ...) -> GetWorkerIps: ...

    @overload
    def __call__(self, verb: Literal["ls"], /, *words: Word,
                 input: Optional[str] = ..., timeout: Optional[float] = ...,
                 cwd: Optional[Word] = ...,
                 env: Optional[Mapping[str, str]] = ...) -> Ls: ...

    @overload
    def __call__(self, verb: Literal["plan"], /, *words: Word,
                 input: Optional[str] = ..., timeout: Optional[float] = ...,
                 cwd: Optional[Word] = ...,
                 env: Optional[Mapping[str, str]] = ...) -> Plan: ...

    @overload
    def __call__(self, verb: Literal["simulate"], /, *words: Word,
                 input: Optional[str] = ..., timeout: Optional[float] = ...,
                 cwd: Optional[Word] = ...,
                 env: Optional[Mapping[str, str]] = ...) -> Simulate: ...

    @overload
    def __call__(self, verb: Literal["start"], /, *words: Word,
                 input: Optional[str] = ..., timeout: Optional[float] = ...,
                 cwd: Optional[Word] = ...,
                 env: Optional[Mapping[str, str]] = ...) -> Up: ...

    @overload
    def __call__(self, verb: Literal["status"], /, *words: Word,
                 input: Optional[str] = ..., timeout: Optional[float] = ...,
                 cwd: Optional[Word] = ...,
                 env: Optional[Mapping[str, str]] = ...) -> Status: ...

    @overload
    def __call__(self, verb: Literal["stop"], /, *words: Word,
                 input: Optional[str] = ..., timeout: Optional[float] = ...,
                 cwd: Optional[Word] = ...,
                 env: Optional[Mapping[str, str]] = ...) -> Down: ...

    @overload
    def __call__(self, verb: Literal["top"], /, *words: Word,
                 input: Optional[str] = ..., timeout: Optional[float] = ...,
                 cwd: Optional[Word] = ...,
                 env: Optional[Mapping[str, str]] = ...) -> Top: ...

    @overload
    def __call__(self, verb: Literal["train"], part: Literal["ls"], /, *words: Word,
                 input: Optional[str] = ..., timeout: Optional[float] = ...,
                 cwd: Optional[Word] = ...,
                 env: Optional[Mapping[str, str]] = ...) -> TrainLs: ...

    @overload
    def __call__(self, verb: Literal["train"], part: Literal["status"], /, *words: Word,
                 input: Optional[str] = ..., timeout: Optional[float] = ...,
                 cwd: Optional[Word] = ...,
                 env: Optional[Mapping[str, str]] = ...) -> TrainStatus: ...

    @overload
    def __call__(self, verb: Literal["up"], /, *words: Word,
                 input: Optional[str] = ..., timeout: Optional[float] = ...,
                 cwd: Optional[Word] = ...,
                 env: Optional[Mapping[str, str]] = ...) -> Up: ...

    @overload
    def __call__(self, verb: Literal["validate"], /, *words: Word,
                 input: Optional[str] = ..., timeout: Optional[float] = ...,
                 cwd: Optional[Word] = ...,
                 env: Optional[Mapping[str, str]] = ...) -> Validate: ...

    @overload
    def __call__(self, verb: Literal["version"], /, *words: Word,
                 input: Optional[str] = ..., timeout: Optional[float] = ...,
                 cwd: Optional[Word] = ...,
                 env: Optional[Mapping[str, str]] = ...) -> Version: ...

    @overload
    def __call__(self, *words: Word,
                 input: Optional[str] = ..., timeout: Optional[float] = ...,
                 cwd: Optional[Word] = ...,
                 env: Optional[Mapping[str, str]] = ...) -> Any: ...


class Stream(Protocol):
    @overload
    def __call__(self, verb: Literal["events"], /, *words: Word,
                 cwd: Optional[Word] = ...,
                 env: Optional[Mapping[str, str]] = ...) -> Iterator[Event]: ...

    @overload
    def __call__(self, verb: Literal["logs"], /, *words: Word,
                 cwd: Optional[Word] = ...,
                 env: Optional[Mapping[str, str]] = ...) -> Iterator[Logs]: ...

    @overload
    def __call__(self, verb: Literal["status"], /, *words: Word,
                 cwd: Optional[Word] = ...,
                 env: Optional[Mapping[str, str]] = ...) -> Iterator[Status]: ...

    @overload
    def __call__(self, verb: Literal["train"], /, *words: Word,
                 cwd: Optional[Word] = ...,
                 env: Optional[Mapping[str, str]] = ...) -> Iterator[Train]: ...

    @overload
    def __call__(self, *words: Word,
                 cwd: Optional[Word] = ...,
                 env: Optional[Mapping[str, str]] = ...) -> Iterator[Any]: ...
