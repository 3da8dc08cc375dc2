"""Every event type, its fields, meanings and units: the one place. Tables, comments and docs are made from these.

A field's type decides how a captured text is converted: `int`, `float`, `str`, `bool` ("1", "true", "yes", "enabled"
are true). Names end in their base unit: `_bytes`, `_s`, `_ratio`. `| None` marks what a wording may leave out.
"""

from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Annotated, ClassVar, get_args, get_origin

__all__ = ["EVENT_TYPES", "Event", "Field", "Kind", "Part", "event_fields"]


class Kind(StrEnum):
    """What an amount of memory holds."""

    WEIGHTS = "weights"
    KV_CACHE = "kv_cache"
    RECURRENT_STATE = "recurrent_state"
    COMPUTE = "compute"
    OUTPUT = "output"
    CUDA_GRAPHS = "cuda_graphs"
    ACTIVATION_PEAK = "activation_peak"
    NON_TORCH = "non_torch"
    HEADROOM = "headroom"
    ENCODER_CACHE = "encoder_cache"
    LORA = "lora"
    CONTROL_VECTOR = "control_vector"
    CHECKPOINT = "checkpoint"
    COLLECTIVES = "collectives"
    RUNTIME = "runtime"


class Part(StrEnum):
    """What inside a load a line is about."""

    TARGET = "target"
    DRAFT = "draft"
    MTP = "mtp"
    VISION = "vision"
    AUDIO = "audio"
    LORA = "lora"
    CONTROL_VECTOR = "control_vector"
    RUNTIME = "runtime"


@dataclass(frozen=True, kw_only=True)
class Event:
    """One typed fact read from one record."""

    table: ClassVar[str] = "event"


# -- lives and loads ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class ProcessStarted(Event):
    """A program announced itself."""

    table: ClassVar[str] = "process_started"
    version: Annotated[str | None, "Version or build as the program prints it."] = None
    pid: Annotated[int | None, "Process id printed in the line; a container's, perhaps."] = None


@dataclass(frozen=True, kw_only=True)
class VersionReported(Event):
    """A program said which version it is."""

    table: ClassVar[str] = "version_reported"
    version: Annotated[str, "Version or build number, as printed."]
    model: Annotated[str | None, "Model named in the same line."] = None


@dataclass(frozen=True, kw_only=True)
class VerbosityReported(Event):
    """The effective log level."""

    table: ClassVar[str] = "verbosity_reported"
    level: Annotated[str, "Level as printed: a number or a name."]


@dataclass(frozen=True, kw_only=True)
class ArgumentsReported(Event):
    """A command line, or one argument of it, or a dump of settings."""

    table: ClassVar[str] = "arguments_reported"
    text: Annotated[str, "Arguments as printed."]


@dataclass(frozen=True, kw_only=True)
class SettingReported(Event):
    """One named setting with its effective value."""

    table: ClassVar[str] = "setting_reported"
    name: Annotated[str, "Name as the program prints it."]
    value: Annotated[str, "Value as printed."]
    detail: Annotated[str | None, "What else the line says of it."] = None
    size_bytes: Annotated[int | None, "The value in bytes, where it is a size: never memory that is held."] = None


@dataclass(frozen=True, kw_only=True)
class DeviceSeen(Event):
    """A device that the program can use, with what was free on it."""

    table: ClassVar[str] = "device_seen"
    device: Annotated[str, "Name the program gives it, such as CUDA0; relative to the process."]
    description: Annotated[str | None, "Product name."] = None
    pci_bus_id: Annotated[str | None, "PCI bus id, if printed: the key to the physical card."] = None
    uuid: Annotated[str | None, "UUID, if printed: as good a key."] = None
    total_bytes: Annotated[int | None, "Memory in all."] = None
    free_bytes: Annotated[int | None, "Memory free at that moment, without the process's own context."] = None
    used_bytes: Annotated[int | None, "Memory in use at that moment, everybody's."] = None
    overhead_bytes: Annotated[int | None, "What the program keeps free of it for others."] = None


@dataclass(frozen=True, kw_only=True)
class LoadBegan(Event):
    """A model load begins."""

    table: ClassVar[str] = "load_began"
    model: Annotated[str | None, "Name, path or blob of the model, as printed."] = None
    port: Annotated[int | None, "Port that the runner will listen on."] = None
    arguments: Annotated[str | None, "Command line of the runner."] = None


@dataclass(frozen=True, kw_only=True)
class ModelIdentified(Event):
    """A line that says which model a load holds."""

    table: ClassVar[str] = "model_identified"
    model: Annotated[str, "Name, path or blob, as printed."]
    what: Annotated[str, "Which of its names this is: path, name, architecture, draft, blob."] = "name"


@dataclass(frozen=True, kw_only=True)
class LoadReady(Event):
    """A load is complete and serves."""

    table: ClassVar[str] = "load_ready"
    seconds_s: Annotated[float | None, "How long it took, if printed."] = None
    port: Annotated[int | None, "Port it listens on, if printed."] = None
    slots: Annotated[int | None, "Requests it can serve at once."] = None
    slot_tokens: Annotated[int | None, "Tokens that one of them can have."] = None


@dataclass(frozen=True, kw_only=True)
class LoadEnded(Event):
    """A load ends, or is about to."""

    table: ClassVar[str] = "load_ended"
    reason: Annotated[str, "exit, sleep, killed, crashed, failed, evicted, stopped, superseded, aborted, unknown."]
    model: Annotated[str | None, "Model named by the line."] = None
    status: Annotated[int | None, "Exit status."] = None
    port: Annotated[int | None, "Port named by the line."] = None
    pid: Annotated[int | None, "Process id named by the line."] = None
    seconds_s: Annotated[float | None, "How long it was given to end by itself."] = None
    detail: Annotated[str | None, "How its process ended, in the line's words."] = None


@dataclass(frozen=True, kw_only=True)
class MarkerSeen(Event):
    """A line that only moves the state: a phase, part, context or block begins or ends."""

    table: ClassVar[str] = "marker_seen"
    what: Annotated[str, "Name of what begins or ends."]
    detail: Annotated[str | None, "Captured detail, such as the speculation method."] = None


# -- memory ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class BufferAllocated(Event):
    """The program says that it holds an amount on a device."""

    table: ClassVar[str] = "buffer_allocated"
    kind: Annotated[Kind, "What the amount holds."]
    size_bytes: Annotated[int, "Size; the log rounds it."]
    device: Annotated[str | None, "Device as logged; none when the line's writer implies it."] = None
    tokens: Annotated[
        int | None, "Tokens that a cache of this size holds, if the line says: the engine's, not a rank's."
    ] = None


@dataclass(frozen=True, kw_only=True)
class MemoryEstimated(Event):
    """A forecast: planned, projected or a worst case. Never an allocation."""

    table: ClassVar[str] = "memory_estimated"
    what: Annotated[str, "What the forecast is for."]
    size_bytes: Annotated[int, "Amount forecast."]
    kind: Annotated[Kind | None, "Kind of item it would become, if it is one kind."] = None
    device: Annotated[str | None, "Device, if it is for one."] = None
    available_bytes: Annotated[int | None, "What the program held against it."] = None
    total_bytes: Annotated[int | None, "Device memory in all."] = None
    target_bytes: Annotated[int | None, "What the program wants to leave free."] = None


@dataclass(frozen=True, kw_only=True)
class BreakdownReported(Event):
    """One row of a program's own memory table."""

    table: ClassVar[str] = "breakdown_reported"
    device: Annotated[str, "Device of the row."]
    total_bytes: Annotated[int | None, "Device memory in all."] = None
    free_bytes: Annotated[int | None, "Free at that moment."] = None
    self_bytes: Annotated[int | None, "Sum of the program's own three columns."] = None
    model_bytes: Annotated[int | None, "Weights."] = None
    context_bytes: Annotated[int | None, "Cache and state."] = None
    compute_bytes: Annotated[int | None, "Compute buffers."] = None
    unaccounted_bytes: Annotated[int | None, "The rest as the program computes it; may be negative or wrapped."] = None


@dataclass(frozen=True, kw_only=True)
class CacheDescribed(Event):
    """The shape of a cache: a summary of allocations, never to be added to them."""

    table: ClassVar[str] = "cache_described"
    size_bytes: Annotated[int | None, "Logical size."] = None
    cells: Annotated[int | None, "Cells (tokens) per stream."] = None
    layers: Annotated[int | None, "Layers with a cache."] = None
    sequences: Annotated[int | None, "Sequences."] = None
    k_type: Annotated[str | None, "Data type of K."] = None
    k_bytes: Annotated[int | None, "Size of K."] = None
    v_type: Annotated[str | None, "Data type of V."] = None
    v_bytes: Annotated[int | None, "Size of V."] = None
    device: Annotated[str | None, "Device that holds all of it, where only the rest of the log proves it."] = None


@dataclass(frozen=True, kw_only=True)
class LayersOffloaded(Event):
    """How many layers went to devices. A count corroborates; it is no identity."""

    table: ClassVar[str] = "layers_offloaded"
    offloaded: Annotated[int, "Layers on devices."]
    total: Annotated[int, "Layers in all, the output layer included."]


@dataclass(frozen=True, kw_only=True)
class BufferReleased(Event):
    """The program says that it gave an amount back, or what a buffer had become when it was freed."""

    table: ClassVar[str] = "buffer_released"
    size_bytes: Annotated[int, "Amount given back."]
    device: Annotated[str | None, "Device as logged."] = None
    remaining_bytes: Annotated[int | None, "What is still in use on the device, everybody's."] = None
    kind: Annotated[Kind | None, "What it held."] = None


@dataclass(frozen=True, kw_only=True)
class PoolSized(Event):
    """The KV pool of an engine, in tokens or bytes."""

    table: ClassVar[str] = "pool_sized"
    tokens: Annotated[int | None, "Tokens the pool holds, in the meaning of that version."] = None
    budget_bytes: Annotated[int | None, "Bytes given to the pool on one device."] = None
    blocks: Annotated[int | None, "Blocks."] = None
    concurrency: Annotated[float | None, "Requests of full length at once, as printed."] = None
    request_tokens: Annotated[int | None, "Length of a full request: the denominator of concurrency."] = None
    device: Annotated[str | None, "Device of the budget; none where the figure is the engine's."] = None


@dataclass(frozen=True, kw_only=True)
class MemoryProfiled(Event):
    """An engine's own account of a device's memory; which fields a wording has depends on its version."""

    table: ClassVar[str] = "memory_profiled"
    total_bytes: Annotated[int | None, "Device memory in all."] = None
    free_bytes: Annotated[int | None, "Free when the engine began."] = None
    utilization_ratio: Annotated[float | None, "Share of the device asked for."] = None
    requested_bytes: Annotated[int | None, "Bytes asked for."] = None
    weights_bytes: Annotated[int | None, "Weights."] = None
    activation_bytes: Annotated[int | None, "Peak activation beyond the weights."] = None
    non_torch_bytes: Annotated[int | None, "Increase outside the allocator."] = None
    consumed_bytes: Annotated[int | None, "Drop of free memory since the baseline, weights included."] = None
    non_kv_bytes: Annotated[int | None, "Everything but the cache."] = None
    graphs_bytes: Annotated[int | None, "CUDA graphs, measured."] = None
    kv_bytes: Annotated[int | None, "Budget of the cache."] = None
    allocated_bytes: Annotated[int | None, "Held by the allocator."] = None
    reserved_bytes: Annotated[int | None, "Reserved by the allocator and not allocated."] = None
    free_after_bytes: Annotated[int | None, "Free at the line's own moment, later than when the engine began."] = None
    device: Annotated[str | None, "Device of the account."] = None


@dataclass(frozen=True, kw_only=True)
class RankAssigned(Event):
    """A worker's place among the devices of its engine."""

    table: ClassVar[str] = "rank_assigned"
    rank: Annotated[int, "Global rank."]
    world_size: Annotated[int, "Workers in all."]
    local_rank: Annotated[int | None, "Index into the visible devices of the node."] = None
    pid: Annotated[int | None, "Process id printed in the tag."] = None


# -- speculation and requests ---------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class SpeculationConfigured(Event):
    """Speculative decoding is set up, or said to be off."""

    table: ClassVar[str] = "speculation_configured"
    method: Annotated[str | None, "Method; none when the line says that there is none."] = None
    n_max: Annotated[int | None, "Depth: most tokens drafted at once."] = None
    p_min: Annotated[float | None, "Probability under which a draft is cut short; 0 where none is."] = None
    active: Annotated[bool | None, "Whether the line says that it is on or off."] = None


@dataclass(frozen=True, kw_only=True)
class DraftAccepted(Event):
    """Drafted and accepted tokens of one request or one interval."""

    table: ClassVar[str] = "draft_accepted"
    accepted: Annotated[int | None, "Tokens accepted."] = None
    drafted: Annotated[int | None, "Tokens drafted."] = None
    ratio: Annotated[float | None, "Rate as printed, 0 to 1."] = None
    mean_length: Annotated[float | None, "Mean length as printed."] = None
    positions: Annotated[str | None, "Rates per position, as printed."] = None
    slot: Annotated[int | None, "Slot."] = None
    task: Annotated[int | None, "Task."] = None
    scope: Annotated[str, "What the counts cover: request, interval or load (cumulative)."] = "request"
    method: Annotated[str | None, "Method named by the line."] = None
    drafts: Annotated[int | None, "Verification steps."] = None
    drafts_accepted: Annotated[int | None, "Those of which anything was accepted: no rate of tokens."] = None


@dataclass(frozen=True, kw_only=True)
class RequestTimed(Event):
    """One timing line of a request."""

    table: ClassVar[str] = "request_timed"
    what: Annotated[str, "prompt, decode or total: never one for another."]
    elapsed_s: Annotated[float, "Time taken."]
    tokens: Annotated[int, "Tokens handled in that time."]
    per_s: Annotated[float | None, "Rate as printed: newer builds leave the first token out of it."] = None
    slot: Annotated[int | None, "Slot."] = None
    task: Annotated[int | None, "Task."] = None


@dataclass(frozen=True, kw_only=True)
class RequestMoved(Event):
    """A request began, ended or changed place in its server."""

    table: ClassVar[str] = "request_moved"
    what: Annotated[str, "launched, released, idle, cancelled, received, aborted."]
    slot: Annotated[int | None, "Slot."] = None
    task: Annotated[int | None, "Task."] = None
    tokens: Annotated[int | None, "Tokens held or asked for."] = None
    cached: Annotated[int | None, "Tokens taken from a cache."] = None
    slot_tokens: Annotated[int | None, "Tokens that its slot can have."] = None


@dataclass(frozen=True, kw_only=True)
class PromptSaved(Event):
    """A prompt's state was copied to host memory: a per-request save, not an allocation of the load."""

    table: ClassVar[str] = "prompt_saved"
    tokens: Annotated[int, "Length of the prompt."]
    size_bytes: Annotated[int, "Size of the copy, in host memory."]
    draft_bytes: Annotated[int | None, "Share of the draft context in it."] = None


@dataclass(frozen=True, kw_only=True)
class RequestServed(Event):
    """An access line."""

    table: ClassVar[str] = "request_served"
    address: Annotated[str | None, "Client address."] = None
    method: Annotated[str | None, "HTTP method."] = None
    path: Annotated[str | None, "Path."] = None
    status: Annotated[int | None, "HTTP status."] = None
    elapsed_s: Annotated[float | None, "Latency."] = None
    stamp: Annotated[str | None, "Local time of its end, without a zone, where that is all that the line says."] = None


@dataclass(frozen=True, kw_only=True)
class TurnMeasured(Event):
    """One turn of a load test, as its client saw it."""

    table: ClassVar[str] = "turn_measured"
    session: Annotated[int | None, "Session, from 1, if the line says."] = None
    turn: Annotated[int, "Turn in the session, from 1."]
    elapsed_s: Annotated[float, "Time of the whole turn."]
    used_bytes: Annotated[int, "Used on all cards when the turn was over."]
    first_token_s: Annotated[float, "Time to the first token; that of the whole turn if none came."]
    tokens_per_s: Annotated[float, "Decoding; 0 if it could not be measured."]
    tokens: Annotated[int | None, "Tokens generated."] = None
    status: Annotated[int, "HTTP status; 0 if no answer came."]
    error: Annotated[str, "What went wrong, or nothing."]


@dataclass(frozen=True, kw_only=True)
class BlocksMeasured(Event):
    """One row of a benchmark's table of drafted blocks, in its own definitions (queries/block_tables.sql)."""

    table: ClassVar[str] = "blocks_measured"
    prompt: Annotated[str, "Name of the prompt; MEAN for the means of the rows."]
    tokens: Annotated[int, "Tokens asked for."]
    steps: Annotated[int | None, "Verification steps."] = None
    mean_length: Annotated[float, "Mean length as printed."]
    ratio: Annotated[float, "Share as printed, 0 to 1."]
    per_s: Annotated[float, "Tokens a second as printed."]


@dataclass(frozen=True, kw_only=True)
class CheckReported(Event):
    """What a probe or script says of one thing that it checked of a server, in its own words."""

    table: ClassVar[str] = "check_reported"
    probe: Annotated[str | None, "Probe or script, if it says."] = None
    model: Annotated[str | None, "Model that it names."] = None
    check: Annotated[str | None, "What was checked, if the line says."] = None
    result: Annotated[str | None, "Result as printed."] = None
    amount: Annotated[float | None, "What it measured."] = None
    unit: Annotated[str | None, "Of what that is a number."] = None
    reason: Annotated[str | None, "Why, in its words."] = None


@dataclass(frozen=True, kw_only=True)
class CardAtTurn(Event):
    """What was used on a card when a turn of a load test was over."""

    table: ClassVar[str] = "card_at_turn"
    session: Annotated[int, "Session, from 1."]
    turn: Annotated[int, "Turn in the session, from 1."]
    gpu_index: Annotated[int, "Index of the card."]
    used_bytes: Annotated[int, "Used on it."]


@dataclass(frozen=True, kw_only=True)
class EngineMeasured(Event):
    """A periodic line of engine statistics: windowed averages, not rates of a request."""

    table: ClassVar[str] = "engine_measured"
    prompt_tokens_per_s: Annotated[float | None, "Prompt throughput over the window."] = None
    generated_tokens_per_s: Annotated[float | None, "Generation throughput over the window."] = None
    running: Annotated[int | None, "Requests running."] = None
    waiting: Annotated[int | None, "Requests waiting."] = None
    kv_usage_ratio: Annotated[float | None, "Share of the pool in use."] = None
    prefix_hit_ratio: Annotated[float | None, "Prefix cache hits."] = None
    preemptions: Annotated[int | None, "Preemptions in the window."] = None
    engine: Annotated[int | None, "Number of the engine among several of one server."] = None


# -- supervision ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class SchedulerDecided(Event):
    """A supervisor's own line about which models may stay."""

    table: ClassVar[str] = "scheduler_decided"
    what: Annotated[str, "evict, fit, place, view, request, queue, expire, reload, reject, retry, limit, count, wait."]
    model: Annotated[str | None, "Model the line names."] = None
    victim: Annotated[str | None, "Model that has to go, if named."] = None
    predicted_bytes: Annotated[int | None, "Need as predicted."] = None
    available_bytes: Annotated[int | None, "What the supervisor thinks is available."] = None
    count: Annotated[int | None, "Models resident, or a limit."] = None
    reason: Annotated[str | None, "Reason in the line's words."] = None
    device: Annotated[str | None, "Device that the line is about, as printed."] = None
    seconds_s: Annotated[float | None, "How long it waited, or will."] = None
    total_bytes: Annotated[int | None, "Memory of the device in all."] = None
    detail: Annotated[str | None, "The line's own figures, as printed."] = None


# -- failures -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class AllocationFailed(Event):
    """An allocation was refused."""

    table: ClassVar[str] = "allocation_failed"
    size_bytes: Annotated[int | None, "Amount asked for."] = None
    device: Annotated[str | None, "Device name or ordinal, as printed."] = None
    free_bytes: Annotated[int | None, "Free on the device."] = None
    total_bytes: Annotated[int | None, "Device memory in all."] = None
    process_bytes: Annotated[int | None, "Held by the process itself."] = None
    allocated_bytes: Annotated[int | None, "Held by its allocator."] = None
    reserved_bytes: Annotated[int | None, "Reserved and not allocated."] = None
    reserved_total_bytes: Annotated[int | None, "Reserved by its allocator, what is allocated included."] = None
    pool_bytes: Annotated[int | None, "Share of the allocated that private pools hold, such as CUDA graphs."] = None
    message: Annotated[str | None, "The line's words."] = None


@dataclass(frozen=True, kw_only=True)
class StartRefused(Event):
    """A program refused to start, with its numbers."""

    table: ClassVar[str] = "start_refused"
    reason: Annotated[str, "free_memory, kv_too_small, no_blocks, configuration."]
    needed_bytes: Annotated[int | None, "Needed."] = None
    available_bytes: Annotated[int | None, "There."] = None
    total_bytes: Annotated[int | None, "Device memory in all."] = None
    utilization_ratio: Annotated[float | None, "Share asked for."] = None
    requested_tokens: Annotated[int | None, "Length asked for."] = None
    possible_tokens: Annotated[int | None, "Length that would fit, as the program estimates."] = None
    device: Annotated[str | None, "Device name or ordinal, as printed."] = None
    message: Annotated[str | None, "The line's words."] = None


@dataclass(frozen=True, kw_only=True)
class FailureReported(Event):
    """A line that tells of a failure."""

    table: ClassVar[str] = "failure_reported"
    failure: Annotated[str, "Class: cuda_error, assertion, load_failed, engine_died, worker_died, warning, …"]
    message: Annotated[str, "The line's words."]
    rank: Annotated[str, "root, wrapper or consequence: which of these a line can be."] = "root"


@dataclass(frozen=True, kw_only=True)
class ServiceChanged(Event):
    """A service manager's line about a unit, or a kernel's about a process or card."""

    table: ClassVar[str] = "service_changed"
    what: Annotated[str, "What happened, such as started, exited, failed, oom_killed, xid, suspended, suppressed."]
    unit: Annotated[str | None, "Unit."] = None
    invocation: Annotated[str | None, "Invocation id."] = None
    code: Annotated[str | None, "exited, killed, dumped."] = None
    status: Annotated[str | None, "Exit status, signal or result, as printed."] = None
    pid: Annotated[int | None, "Process id."] = None
    process: Annotated[str | None, "Process name."] = None
    device: Annotated[str | None, "PCI bus id of a card."] = None
    number: Annotated[int | None, "Xid, restarts, or messages suppressed."] = None
    size_bytes: Annotated[int | None, "Host memory: peak of a unit, or resident in a process that was killed."] = None


EVENT_TYPES: tuple[type[Event], ...] = (
    ProcessStarted,
    VersionReported,
    VerbosityReported,
    ArgumentsReported,
    SettingReported,
    DeviceSeen,
    LoadBegan,
    ModelIdentified,
    LoadReady,
    LoadEnded,
    MarkerSeen,
    BufferAllocated,
    MemoryEstimated,
    BreakdownReported,
    CacheDescribed,
    LayersOffloaded,
    BufferReleased,
    PoolSized,
    MemoryProfiled,
    RankAssigned,
    SpeculationConfigured,
    DraftAccepted,
    RequestTimed,
    RequestMoved,
    PromptSaved,
    RequestServed,
    TurnMeasured,
    BlocksMeasured,
    CheckReported,
    CardAtTurn,
    EngineMeasured,
    SchedulerDecided,
    AllocationFailed,
    StartRefused,
    FailureReported,
    ServiceChanged,
)


@dataclass(frozen=True)
class Field:
    """One field of an event type, as the catalogue and the tables need it."""

    name: str
    type: type
    optional: bool
    meaning: str


_FIELDS: dict[str, dict[str, Field]] = {}


def event_fields(event_type: type[Event]) -> dict[str, Field]:
    """Give the fields of an event type by name, in order of declaration."""
    if event_type.__name__ not in _FIELDS:
        _FIELDS[event_type.__name__] = _fields_of(event_type)
    return _FIELDS[event_type.__name__]


def _fields_of(event_type: type[Event]) -> dict[str, Field]:
    found: dict[str, Field] = {}
    for declared in fields(event_type):
        hint = declared.type  # what was written, not its text: this module's annotations are not postponed
        assert get_origin(hint) is Annotated, f"{event_type.__name__}.{declared.name} has no meaning"
        inner, meaning = get_args(hint)
        alternatives = [one for one in (get_args(inner) or (inner,)) if one is not type(None)]
        found[declared.name] = Field(
            declared.name, alternatives[0], len(alternatives) != len(get_args(inner) or (inner,)), meaning
        )
    return found
