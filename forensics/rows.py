"""The tables that are not event types: one dataclass a table, one meaning a column. DDL is made from these."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

__all__ = ["ROW_TYPES", "Row"]


@dataclass(frozen=True, kw_only=True)
class Row:
    """One row of a table."""

    table: ClassVar[str]


@dataclass(frozen=True, kw_only=True)
class SourceRow(Row):
    """One input as it was read."""

    table: ClassVar[str] = "source"
    number: Annotated[int, "Place among the sources, from 0: they were read in this order."]
    source_id: Annotated[str, "Name of the source as given."]
    format: Annotated[str, "Format that its content showed."]
    size_bytes: Annotated[int, "Bytes after decompression."]
    digest: Annotated[str, "Root of the digests of its 1 MiB chunks."]
    records: Annotated[int, "Records found in it."]
    modified_us: Annotated[int | None, "When it was last written, where its times, or their year, rest on that."]


@dataclass(frozen=True, kw_only=True)
class ChunkRow(Row):
    """Digest of one chunk of a source: what tells a source that grew from one that was replaced."""

    table: ClassVar[str] = "chunk"
    source_id: Annotated[str, "Source."]
    number: Annotated[int, "Place of the chunk, from 0; each is 1 MiB, the last may be shorter."]
    digest: Annotated[str, "SHA-256 of its bytes."]


@dataclass(frozen=True, kw_only=True)
class InputRow(Row):
    """One file or folder that the case is made from, as it was given."""

    table: ClassVar[str] = "input"
    number: Annotated[int, "Place among the inputs, from 0: they are read in this order."]
    path: Annotated[str, "Path; absolute in a case file."]


@dataclass(frozen=True, kw_only=True)
class AboutRow(Row):
    """One thing to know about how the case was made."""

    table: ClassVar[str] = "about"
    name: Annotated[str, "schema, program, catalogue, or tz_us."]
    value: Annotated[str | None, "Its value."]


@dataclass(frozen=True, kw_only=True)
class PatternFileRow(Row):
    """A pattern file that the user brought: the case cannot be understood without it."""

    table: ClassVar[str] = "pattern_file"
    number: Annotated[int, "Place among them, from 0."]
    name: Annotated[str, "Path, as given."]
    text: Annotated[str, "What it says."]


@dataclass(frozen=True, kw_only=True)
class ProblemRow(Row):
    """Something that a reader or the analysis met, with what to do."""

    table: ClassVar[str] = "problem"
    source_id: Annotated[str, "Source it was met in."]
    severity: Annotated[str, "note, loss or error."]
    what: Annotated[str, "What was met."]
    remedy: Annotated[str, "What to do."]
    count: Annotated[int, "How often."]


@dataclass(frozen=True, kw_only=True)
class LineRow(Row):
    """A record that a pattern read, by its address, with its owner."""

    table: ClassVar[str] = "line"
    line_id: Annotated[str, "Identity made of source digest and offset."]
    source_id: Annotated[str, "Source."]
    offset: Annotated[int, "Byte offset in the source after decompression."]
    length: Annotated[int, "Bytes."]
    record: Annotated[int, "Place among the records of its source, from 0: in plain text the line number less one."]
    ordinal: Annotated[int, "Place among all matched lines."]
    time_us: Annotated[int | None, "µs since the epoch, UTC."]
    cursor: Annotated[str | None, "Journal cursor."]
    host: Annotated[str | None, "Host."]
    boot: Annotated[str | None, "Boot id."]
    unit: Annotated[str | None, "Unit, else the container that the collector names."]
    program: Annotated[str, "Program whose pattern read it."]
    pattern: Annotated[str, "Pattern."]
    event: Annotated[str, "Table of the event."]
    process_id: Annotated[str | None, "Process that wrote it."]
    load_id: Annotated[str | None, "Load that owns it."]
    part: Annotated[str | None, "Part of the load at that point."]
    phase: Annotated[str | None, "Phase of the load at that point."]
    scope: Annotated[str | None, "exact, inferred or ambiguous; none for an orphan."]
    rule: Annotated[str, "Rule that gave the owner, or the reason why there is none."]
    candidates: Annotated[str | None, "Loads that could have written an ambiguous line, separated by blanks."]
    suspect: Annotated[str | None, "Why the line is suspected to be forged."]
    carrier: Annotated[str | None, "The line whose text this one is part of."]
    text: Annotated[str, "Beginning of the line."]


@dataclass(frozen=True, kw_only=True)
class BookmarkRow(Row):
    """Where reading a log can go on when it has grown, and what had been counted by then."""

    table: ClassVar[str] = "bookmark"
    source_id: Annotated[str, "Source."]
    offset: Annotated[int, "Where the last block before the bookmark begins: from there on bytes are read again."]
    taken: Annotated[int, "Bytes that had been read when that block began."]
    records: Annotated[int, "Records before that block."]
    until: Annotated[int, "Records before the bookmark: all of these are known."]
    counts: Annotated[str, "What the scan had counted by then, in JSON."]
    carried: Annotated[str, "Records of that block that others carry, with those, in JSON."]


@dataclass(frozen=True, kw_only=True)
class WantedRow(Row):
    """A line before a bookmark that some pattern read: these are read again, and nothing between them."""

    table: ClassVar[str] = "wanted"
    source_id: Annotated[str, "Source."]
    record: Annotated[int, "Place among the records of its source."]
    offset: Annotated[int, "Byte offset in the source."]
    length: Annotated[int, "Bytes."]
    carrier: Annotated[int | None, "The record whose text it is part of."]


@dataclass(frozen=True, kw_only=True)
class ProcessRow(Row):
    """One life of a program."""

    table: ClassVar[str] = "process"
    process_id: Annotated[str, "Identity."]
    program: Annotated[str, "Program."]
    version: Annotated[str | None, "Version it reported."]
    verbosity: Annotated[str | None, "Log level it reported."]
    host: Annotated[str | None, "Host."]
    boot: Annotated[str | None, "Boot id."]
    unit: Annotated[str | None, "Unit; of a container its name; else what it is logged as."]
    pid: Annotated[int | None, "Process id, if trusted or joined."]
    label: Annotated[str | None, "Name, port or tag its supervisor knows it by."]
    parent_id: Annotated[str | None, "Supervisor that started it, if it writes to the same stream."]
    begun_us: Annotated[int | None, "First line."]
    ended_us: Annotated[int | None, "End, if seen."]
    arguments: Annotated[str | None, "Command line or settings, if printed."]
    joined_by: Annotated[str | None, "How it is known which holder of the samples it is; none if it is not."]
    join_scope: Annotated[str | None, "exact or inferred."]


@dataclass(frozen=True, kw_only=True)
class LoadRow(Row):
    """One model load: the unit of ownership."""

    table: ClassVar[str] = "load"
    load_id: Annotated[str, "Identity."]
    process_id: Annotated[str, "Process that holds it."]
    number: Annotated[int, "Place among the loads of the case, by time."]
    engine: Annotated[str, "Program that holds it."]
    model: Annotated[str | None, "Model, by the best name that the log gives."]
    label: Annotated[str | None, "What its supervisor calls it."]
    begun_us: Annotated[int | None, "When it began."]
    ready_us: Annotated[int | None, "When it got ready."]
    clocked_us: Annotated[int | None, "From begin to ready by the clock of the writer of both lines, if it has one."]
    closing_us: Annotated[int | None, "When its clean-up began."]
    ended_us: Annotated[int | None, "When it ended."]
    end_reason: Annotated[str | None, "How it ended."]
    begun_line: Annotated[str, "Line that began it."]
    ready_line: Annotated[str | None, "Line that says that it is ready."]
    ended_line: Annotated[str | None, "Line that ended it."]
    implied: Annotated[bool, "Whether it began before the source did."]


@dataclass(frozen=True, kw_only=True)
class PhaseRow(Row):
    """A phase of a load begins."""

    table: ClassVar[str] = "phase"
    load_id: Annotated[str, "Load."]
    phase: Annotated[str, "fit, allocate, serve, asleep or end."]
    at_us: Annotated[int | None, "When."]
    number: Annotated[int, "Place among the phases of its load, from 1: two may begin at one moment."]
    line_id: Annotated[str, "Line."]


@dataclass(frozen=True, kw_only=True)
class ItemRow(Row):
    """One amount that the log prints for a load, with what it is worth to the ledger."""

    table: ClassVar[str] = "item"
    load_id: Annotated[str, "Load."]
    process_id: Annotated[str, "Process."]
    line_id: Annotated[str, "Line."]
    logged: Annotated[str, "Device as logged."]
    part: Annotated[str, "Part."]
    kind: Annotated[str | None, "Kind; none for a forecast of several kinds."]
    size_bytes: Annotated[int, "Amount."]
    bound_bytes: Annotated[int, "Half of its last printed place."]
    basis: Annotated[str, "logged or estimated."]
    mark: Annotated[str, "counted, superseded, planned, summary, estimated, claimed or suspect."]
    why: Annotated[str, "Why it is not counted."]
    superseded_by: Annotated[str | None, "Line that replaces it."]
    at_us: Annotated[int | None, "When it was printed."]


@dataclass(frozen=True, kw_only=True)
class DeviceRow(Row):
    """What a logged device name stands for in one process: one row for each device it means."""

    table: ClassVar[str] = "device"
    process_id: Annotated[str, "Process; the names are relative to it."]
    logged: Annotated[str, "Name as logged."]
    device: Annotated[str, "Device that it stands for."]
    place: Annotated[str, "card, host, shared or remote."]
    spread: Annotated[bool, "Whether the logged figure is one of several equal shares."]
    card_id: Annotated[str | None, "Card, if known."]
    pid: Annotated[int | None, "The one host process that holds it, where that is known."]
    pci_bus_id: Annotated[str | None, "PCI bus id that the process printed."]
    joined_by: Annotated[str | None, "How the card is known."]
    join_scope: Annotated[str | None, "exact or inferred."]


@dataclass(frozen=True, kw_only=True)
class CardRow(Row):
    """One GPU."""

    table: ClassVar[str] = "card"
    card_id: Annotated[str, "UUID, else PCI bus id, else index."]
    gpu_uuid: Annotated[str | None, "UUID."]
    gpu_index: Annotated[int | None, "Index that the telemetry tool gives."]
    pci_bus_id: Annotated[str | None, "PCI bus id."]
    name: Annotated[str | None, "Product name."]
    driver: Annotated[str | None, "Driver version."]


@dataclass(frozen=True, kw_only=True)
class CardSampleRow(Row):
    """One card at one moment."""

    table: ClassVar[str] = "card_sample"
    line_id: Annotated[str, "Identity of the row of telemetry."]
    card_id: Annotated[str, "Card."]
    at_us: Annotated[int, "µs since the epoch, UTC."]
    total_bytes: Annotated[int | None, "Installed."]
    used_bytes: Annotated[int | None, "Used by contexts, without what the driver reserves."]
    free_bytes: Annotated[int | None, "Free."]
    reserved_bytes: Annotated[int | None, "Reserved by driver and firmware."]
    source_id: Annotated[str, "Source."]
    offset: Annotated[int, "Byte offset of the row."]
    length: Annotated[int, "Bytes of the row."]


@dataclass(frozen=True, kw_only=True)
class HolderSampleRow(Row):
    """What one process held on one card at one moment."""

    table: ClassVar[str] = "holder_sample"
    line_id: Annotated[str, "Identity of the row of telemetry."]
    card_id: Annotated[str, "Card."]
    pid: Annotated[int, "Process id on the host."]
    name: Annotated[str | None, "Process name."]
    at_us: Annotated[int, "µs since the epoch, UTC."]
    used_bytes: Annotated[int | None, "Held."]
    process_id: Annotated[str | None, "Process it was joined to."]
    source_id: Annotated[str, "Source."]
    offset: Annotated[int, "Byte offset of the row."]
    length: Annotated[int, "Bytes of the row."]


@dataclass(frozen=True, kw_only=True)
class MeasureRow(Row):
    """What was measured for a load on one device at a named moment."""

    table: ClassVar[str] = "measure"
    load_id: Annotated[str, "Load."]
    moment: Annotated[str, "last, ready, asleep or at."]
    device: Annotated[str, "Device of the process."]
    card_id: Annotated[str, "Card."]
    pid: Annotated[int | None, "Process id on the host."]
    at_us: Annotated[int, "When, µs UTC."]
    measured_bytes: Annotated[int, "Amount."]
    measured_by: Annotated[str, "process, card_less_baseline or card."]
    joined_by: Annotated[str, "How the process, and the device, were joined to the measurement."]
    join_scope: Annotated[str, "exact or inferred: the weaker of both."]
    rounding_bytes: Annotated[int, "Half of the last place of the measurement."]
    ready_bytes: Annotated[int | None, "The same at the first sample after it got ready."]
    line_id: Annotated[str, "Evidence: the row of telemetry."]


@dataclass(frozen=True, kw_only=True)
class ProfilePeakRow(Row):
    """The most that a process held on a card while its engine was profiled, before its cache pool was made."""

    table: ClassVar[str] = "profile_peak"
    load_id: Annotated[str, "Load."]
    device: Annotated[str, "Device."]
    peak_bytes: Annotated[int, "Highest sample between the begin of the load and the line that sizes the pool."]
    line_id: Annotated[str, "Evidence: the row of telemetry."]


@dataclass(frozen=True, kw_only=True)
class RuntimeRow(Row):
    """What a bare process holds on a card that no line names."""

    table: ClassVar[str] = "runtime"
    load_id: Annotated[str, "Load."]
    device: Annotated[str, "Device."]
    size_bytes: Annotated[int, "Amount: measured, or the middle of the interval."]
    low_bytes: Annotated[int, "Lower bound."]
    high_bytes: Annotated[int, "Upper bound."]
    basis: Annotated[str, "measured or inferred."]
    origin: Annotated[str, "Where the figure comes from."]
    note: Annotated[str, "The same in a few words."]
    line_id: Annotated[str | None, "Evidence, if measured."]


@dataclass(frozen=True, kw_only=True)
class LibraryRow(Row):
    """A library that a process loads on a card once its work asks for it: what settings of the load tell of that."""

    table: ClassVar[str] = "library"
    load_id: Annotated[str, "Load."]
    device: Annotated[str, "Device."]
    name: Annotated[str, "What it is."]
    setting: Annotated[str, "Name of a setting that asks for it."]
    value: Annotated[str, "Expression of the values with which it does."]
    from_tokens: Annotated[int, "Tokens of the smallest prompt with which it is loaded."]
    size_bytes: Annotated[int, "The middle of the interval."]
    low_bytes: Annotated[int, "Lower bound."]
    high_bytes: Annotated[int, "Upper bound."]
    origin: Annotated[str, "Where the figure comes from."]


@dataclass(frozen=True, kw_only=True)
class UnreadRow(Row):
    """A record that carries a size, a device or a token count and that no pattern read."""

    table: ClassVar[str] = "unread"
    line_id: Annotated[str, "Identity."]
    source_id: Annotated[str, "Source."]
    offset: Annotated[int, "Byte offset."]
    length: Annotated[int, "Bytes."]
    what: Annotated[str, "size, device or tokens: what it carries; the last was looked for in a sample only."]
    program: Annotated[str | None, "Program whose component the line names, if the catalogue knows one."]
    component: Annotated[str | None, "That component: the line is a wording of it that is not known."]
    template: Annotated[str, "Its wording: the line with its digits masked, and what differs in lines like it."]
    more: Annotated[int, "Later lines, the same but for digits, that are counted here and not kept."]
    text: Annotated[str, "Beginning of the line."]


@dataclass(frozen=True, kw_only=True)
class CountRow(Row):
    """What became of the records of a source."""

    table: ClassVar[str] = "scan_count"
    source_id: Annotated[str, "Source."]
    records: Annotated[int, "Records."]
    size_bytes: Annotated[int, "Bytes of their messages."]
    read_bytes: Annotated[int, "Of those, in records that a pattern read."]
    hit: Annotated[int, "Records with a literal: read + missed."]
    read: Annotated[int, "Records that a pattern read."]
    missed: Annotated[int, "Records that none read."]
    sized: Annotated[int, "Records with an amount of memory."]
    sized_read: Annotated[int, "Of those, read."]
    placed: Annotated[int, "Records that name a device and no amount."]
    placed_read: Annotated[int, "Of those, read."]
    sampled: Annotated[int, "Records looked at for token counts."]
    tokens: Annotated[int, "Of those, with a token count."]
    tokens_read: Annotated[int, "Of those, read."]
    unread_dropped: Annotated[int, "Unread records with an amount or a device of wordings of which none is kept."]
    carried: Annotated[int, "Records inside a foreign text."]


@dataclass(frozen=True, kw_only=True)
class TwinRow(Row):
    """Where another source holds a line too: the same stream as another collector kept it, counted once."""

    table: ClassVar[str] = "twin"
    line_id: Annotated[str, "Line that is counted."]
    source_id: Annotated[str, "Source that holds it too."]
    offset: Annotated[int, "Byte offset in that source after decompression."]
    length: Annotated[int, "Bytes."]


@dataclass(frozen=True, kw_only=True)
class SelfReportRow(Row):
    """What a service says that it holds or runs: one model, at one moment."""

    table: ClassVar[str] = "self_report"
    line_id: Annotated[str, "Identity of the bytes it was read from."]
    source_id: Annotated[str, "Source."]
    at_us: Annotated[int | None, "µs since the epoch, UTC; the capture's file time where it prints none."]
    kind: Annotated[str, "loaded (a model with its size), running (a model with its state) or settings."]
    model: Annotated[str | None, "Model as the service names it."]
    total_bytes: Annotated[int | None, "Size that it states, on all devices."]
    card_bytes: Annotated[int | None, "Size that it states, on cards."]
    bound_bytes: Annotated[int, "How far the stated figure reaches to either side."]
    context: Annotated[int | None, "Context length in tokens."]
    state: Annotated[str | None, "State, or how long it stays, in the service's words."]
    offset: Annotated[int, "Byte offset."]
    length: Annotated[int, "Bytes."]


@dataclass(frozen=True, kw_only=True)
class RequestCounterRow(Row):
    """A figure that a server counts itself: of one request, or since its start."""

    table: ClassVar[str] = "request_counter"
    line_id: Annotated[str, "Identity of the bytes it was read from; several figures may share it."]
    source_id: Annotated[str, "Source."]
    at_us: Annotated[int | None, "µs since the epoch, UTC; the capture's file time where it prints none."]
    name: Annotated[str, "Name, with the names around it before it."]
    labels: Annotated[str | None, "Labels, NAME=VALUE, separated by commas."]
    value: Annotated[float, "Value in the unit of the server."]
    offset: Annotated[int, "Byte offset."]
    length: Annotated[int, "Bytes."]


ROW_TYPES: tuple[type[Row], ...] = (
    SourceRow,
    ChunkRow,
    InputRow,
    AboutRow,
    PatternFileRow,
    ProblemRow,
    LineRow,
    BookmarkRow,
    WantedRow,
    ProcessRow,
    LoadRow,
    PhaseRow,
    ItemRow,
    DeviceRow,
    CardRow,
    CardSampleRow,
    HolderSampleRow,
    MeasureRow,
    ProfilePeakRow,
    RuntimeRow,
    LibraryRow,
    UnreadRow,
    CountRow,
    TwinRow,
    SelfReportRow,
    RequestCounterRow,
)
