"""Turn the rows of a few questions into the explain-vram document: items, the signed rest, findings, what lacks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import duckdb

from .budget import budget_findings, budget_replays
from .coverage import coverage
from .document import choose_load
from .errors import FaultError
from .failures import explain_failure
from .gap import explain_gap
from .lines import lines_by_id, ordinals
from .missing import Programs, whats_missing
from .setaside import set_aside
from .units import MIB
from .verdict import next_step, verdict

__all__ = ["SCHEMA", "Rows", "document", "exit_code", "fetch", "iso", "mib"]

SCHEMA = "forensics.explain-vram/1"
Rows = list[dict[str, Any]]


def fetch(connection: duckdb.DuckDBPyConnection, sql: str, parameters: Sequence[object] = ()) -> Rows:
    """Rows of a query as dicts."""
    cursor = connection.execute(sql, list(parameters))
    names = [column[0] for column in cursor.description or ()]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def iso(us: int | None) -> str | None:
    """A time as ISO 8601, UTC, to the millisecond."""
    if us is None:
        return None
    return datetime.fromtimestamp(us / 1e6, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def mib(value: int | None) -> float | None:
    """Bytes as MiB, to four places: the exact twin stands beside it."""
    return None if value is None else round(value / MIB, 4)


def amount(name: str, value: int | None) -> dict[str, Any]:
    """An amount in MiB with its exact twin in bytes."""
    prefix = f"{name}_" if name else ""
    return {f"{prefix}mib": mib(value), f"{prefix}bytes": value}


def document(
    connection: duckdb.DuckDBPyConnection,
    programs: Programs,
    *,
    moment: str = "last",
    self_report: tuple[int, int, str] | None = None,
    only: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Build the document of explain-vram.

    Args:
        connection: A case with its questions installed.
        programs: What knows their remedies: the catalogue, or the texts of its files.
        moment: `last`, `ready`, `asleep` or `at`.
        self_report: Bytes, rounding bound and origin of what the service says it uses.
        only: Load ids to answer; all if None.

    Returns:
        The document, ready for any renderer.

    Raises:
        FaultError: The case contradicts itself.
    """
    cited: set[str] = set()
    wrong = fetch(connection, "SELECT * FROM ledger_faults")
    if wrong:
        raise FaultError([f"{one['what']}: load {one['load_id']}, line {one['line_id']}" for one in wrong])
    loads = fetch(
        connection,
        """
        SELECT loads.*, ready_line IS NOT NULL AS ready, begun_line, ready_line, ended_line
        FROM loads JOIN load USING (load_id) ORDER BY loads.number
        """,
    )
    wanted = [load for load in loads if only is None or load["load_id"] in only]
    devices = _devices(connection, moment, {load["load_id"] for load in wanted})
    told = _by_load(
        fetch(
            connection,
            "SELECT load_id, method, n_max, active FROM speculation_configured WHERE believed ORDER BY ordinal",
        )
    )
    answers = [_load(connection, load, devices, told.get(load["load_id"], []), cited) for load in wanted]
    if self_report is not None and answers:
        focus = max(answers, key=lambda one: (one["ready_at"] or "", one["begun_at"] or ""))
        explain_gap(connection, focus, self_report, cited)
    found: dict[str, Any] = {
        "schema": SCHEMA,
        "cards": _cards(connection, answers),
        "loads": answers,
        "ambiguous": _ambiguous(connection, cited),
        "missing": whats_missing(connection, programs, answers, moment),
        "set_aside": set_aside(connection, answers, loads, cited),
    }
    for replay in budget_replays(connection):
        for load in answers:
            if load["load_id"] == replay["load_id"]:
                load["findings"].extend(budget_findings([replay]))
    for load in answers:
        for finding in load["findings"]:
            cited.update(finding["for"], finding["against"])
    for load in answers:
        load["verdict"] = verdict(found, load)
    found["next"] = next_step(found, choose_load(found))
    found["coverage"] = coverage([connection])
    found["evidence"] = evidence(connection, cited)
    return found


def exit_code(found: Mapping[str, Any]) -> int:
    """0 if a load is answered or a failure is explained, 3 if the evidence is not enough for any."""
    for load in found["loads"]:
        if load["failure"] or any(device["items"] for device in load["devices"] if not _only_runtime(device)):
            return 0
    return 3


def _only_runtime(device: Mapping[str, Any]) -> bool:
    return all(item["kind"] == "runtime" for item in device["items"])


def _by_load(rows: Rows) -> dict[str, Rows]:
    found: dict[str, Rows] = {}
    for row in rows:
        found.setdefault(row["load_id"], []).append(row)
    return found


def _load(
    connection: duckdb.DuckDBPyConnection,
    load: Mapping[str, Any],
    held: Mapping[str, Sequence[Held]],
    told: Rows,
    cited: set[str],
) -> dict[str, Any]:
    load_id = load["load_id"]
    failure = explain_failure(connection, load, cited)
    lost = failure is not None and not load["ready"]
    devices = [] if lost else [_device(one, cited) for one in held.get(load_id, ())]
    answer = {
        "load_id": load_id,
        "number": load["number"],
        "engine": load["engine"],
        "engine_version": load["version"],
        "model": load["model"],
        "label": load["label"],
        "unit": load["unit"],
        "pid": load["pid"],
        "begun_at": iso(load["begun_us"]),
        "ready": load["ready"],
        "ready_at": iso(load["ready_us"]),
        "ended_at": iso(load["ended_us"]),
        "end_reason": load["end_reason"],
        "devices": devices,
        "self_report": None,
        "gap": None,
        "failure": failure,
        "summary": _summary(load, told),
        "findings": [],
    }
    cited.update(load[line] for line in ("begun_line", "ready_line", "ended_line") if load[line])
    answer["findings"] = _findings(answer)
    return answer


class Held(NamedTuple):
    """What a load holds on one device: its items in order, the measurement, and what the device is."""

    device: str
    items: Rows
    gap: Mapping[str, Any] | None
    about: Mapping[str, Any]


def _devices(connection: duckdb.DuckDBPyConnection, moment: str, wanted: set[str]) -> dict[str, list[Held]]:
    """What each load holds on its devices at a moment."""
    gaps = {
        (row["load_id"], row["device"]): row
        for row in fetch(connection, "SELECT * FROM vram_gap WHERE moment = ?", [moment])
    }
    rows = fetch(
        connection,
        """
        WITH chosen AS (
            -- The moment asked for; a device that nothing measured then is shown as its log has it.
            SELECT
                load_id, device,
                arg_min(moment, (CASE moment WHEN ? THEN 0 WHEN 'log' THEN 1 ELSE 2 END, moment)) AS moment
            FROM vram_moments GROUP BY load_id, device
        )
        SELECT vram_items.* FROM vram_items JOIN chosen USING (load_id, device, moment)
        """,
        [moment],
    )
    about = {
        (row["load_id"], row["device"]): row
        for row in fetch(
            connection,
            """
            SELECT DISTINCT ON (load_id, device.device)
                load_id, device.*, card.gpu_index, card.gpu_uuid, card.pci_bus_id AS card_bus
            FROM device JOIN load USING (process_id) LEFT JOIN card USING (card_id)
            ORDER BY load_id, device.device, device.card_id, device.pci_bus_id, device.logged
            """,
        )
    }
    by_load = _by_load([row for row in rows if row["load_id"] in wanted])
    places = ordinals(connection, {_first_line(row) for own in by_load.values() for row in own} - {""})
    for load_id, _ in gaps:
        by_load.setdefault(load_id, [])
    return {
        load_id: _held(
            own,
            {device: row for (load, device), row in gaps.items() if load == load_id},
            {device: row for (load, device), row in about.items() if load == load_id},
            places,
        )
        for load_id, own in by_load.items()
    }


def _first_line(item: Mapping[str, Any]) -> str:
    return str((item["lines"] or "").split(" ")[0])


def _held(
    rows: Rows,
    gaps: Mapping[str, Mapping[str, Any]],
    about: Mapping[str, Mapping[str, Any]],
    places: Mapping[str, int],
) -> list[Held]:
    by_device: dict[str, Rows] = {}
    for row in rows:
        by_device.setdefault(row["device"], []).append(row)
    found: list[Held] = []
    for device in sorted({*by_device, *gaps}, key=lambda one: (_place_rank(by_device.get(one)), one)):
        items = sorted(
            by_device.get(device, []),
            key=lambda row: (
                row["kind"] == "runtime",
                places.get(_first_line(row), 1 << 60),
                row["part"],  # several items may come of one line
                row["kind"],
                -row["size_bytes"],
            ),
        )
        found.append(Held(device, items, gaps.get(device), about.get(device, {})))
    return found


def _place_rank(items: list[dict[str, Any]] | None) -> int:
    place = items[0]["place"] if items else "card"
    return {"card": 0, "shared": 1, "remote": 2}.get(place, 3)


def _device(held: Held, cited: set[str]) -> dict[str, Any]:
    device, items, gap, about = held
    attributed = sum(item["size_bytes"] for item in items)
    place = items[0]["place"] if items else "card"
    answer: dict[str, Any] = {
        "device": device,
        "where": place,
        "gpu_index": about.get("gpu_index"),
        "gpu_uuid": about.get("gpu_uuid"),
        "pci_bus_id": about.get("pci_bus_id") or about.get("card_bus"),
        "pid": gap["pid"] if gap else None,
        "joined_by": gap["joined_by"] if gap else about.get("joined_by"),
        "join_scope": gap["join_scope"] if gap else about.get("join_scope"),
        **amount("measured", gap["measured_bytes"] if gap else None),
        "measured_at": iso(gap["at_us"]) if gap else None,
        "measured_by": gap["measured_by"] if gap else None,
        "measured_evidence": [gap["line_id"]] if gap else [],
        "items": [_item(item, cited) for item in items],
        **amount("attributed", attributed),
        **amount("unexplained", None),
        "unexplained_bounds_mib": None,
        "unexplained_bounds_bytes": None,
        **amount("growth", gap["growth_bytes"] if gap else None),
    }
    if gap:
        # measured = attributed + unexplained, exactly, on every row of every answer
        assert gap["attributed_bytes"] == attributed, (device, gap["attributed_bytes"], attributed)
        assert gap["measured_bytes"] == attributed + gap["unexplained_bytes"]
        cited.add(gap["line_id"])
        answer.update(amount("unexplained", gap["unexplained_bytes"]))
        answer["unexplained_bounds_mib"] = [mib(gap["low_bytes"]), mib(gap["high_bytes"])]
        answer["unexplained_bounds_bytes"] = [gap["low_bytes"], gap["high_bytes"]]
    return answer


def _item(item: Mapping[str, Any], cited: set[str]) -> dict[str, Any]:
    lines = (item["lines"] or "").split()
    cited.update(lines)
    return {
        "part": item["part"],
        "kind": item["kind"],
        **amount("", item["size_bytes"]),
        "basis": item["basis"],
        "bounds_mib": [mib(item["low_bytes"]), mib(item["high_bytes"])],
        "bounds_bytes": [item["low_bytes"], item["high_bytes"]],
        "evidence": lines,
        "note": item["note"],
    }


def _findings(answer: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Claims about the rest: counted twice, or more than nothing explains."""
    found: list[dict[str, Any]] = []
    for device in answer["devices"]:
        limits = device["unexplained_bounds_bytes"]
        if limits is None:
            continue
        items = [one for item in device["items"] for one in item["evidence"]]
        if limits[1] < -MIB:
            found.append(
                {
                    "claim": f"At least {-limits[1] / MIB:.0f} MiB on {device['device']} is counted twice, "
                    "or was freed without a line: the items exceed what the card shows.",
                    "state": "supported",
                    **amount("amount", -limits[1]),
                    "for": [*device["measured_evidence"], *items],
                    "against": [],
                }
            )
        elif limits[0] > 64 * MIB:
            spread = any(item["basis"] == "derived" and item["kind"] == "weights" for item in device["items"])
            why = "communication between the cards is a candidate: no line names it" if spread else "no line names it"
            found.append(
                {
                    "claim": f"{device['unexplained_bytes'] / MIB:.0f} MiB on {device['device']} is beyond every "
                    f"item and the runtime; {why}.",
                    "state": "not established",
                    **amount("amount", device["unexplained_bytes"]),
                    "for": list(device["measured_evidence"]),
                    "against": [],
                }
            )
    return found


def _summary(load: Mapping[str, Any], rows: Rows) -> dict[str, Any]:
    """What else identifies the load: speculation, layers, what a supervisor calls it."""
    methods = [row["method"] for row in rows if row["method"]]
    depths = [row["n_max"] for row in rows if row["n_max"] is not None]
    text = None
    if methods:
        text = ", ".join(dict.fromkeys(methods)) + (f", depth {depths[-1]}" if depths else "")
    elif any(row["active"] is False for row in rows):
        text = "off"
    notes = [f"{load['layers']} layers offloaded"] if load["layers"] else []
    return {"speculation": text, "notes": notes}


def _cards(connection: duckdb.DuckDBPyConnection, answers: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Each card with its holders, at the moment of the newest answer on it, else at its last sample."""
    moments: dict[str, int] = {}
    for row in fetch(connection, "SELECT card_id, load_id, moment, at_us FROM measure ORDER BY at_us"):
        for answer in answers:
            measured = {device["measured_at"] for device in answer["devices"]}
            if answer["load_id"] == row["load_id"] and iso(row["at_us"]) in measured:
                moments[row["card_id"]] = row["at_us"]
    latest = max(moments.values(), default=None)
    found: list[dict[str, Any]] = []
    for card in fetch(connection, "SELECT * FROM card ORDER BY gpu_index NULLS LAST, card_id"):
        at = moments.get(card["card_id"], latest)
        sample = fetch(
            connection,
            """
            SELECT * FROM card_sample WHERE card_id = ?
            ORDER BY CASE WHEN ? IS NULL THEN -at_us ELSE abs(at_us - ?) END, at_us, source_id DESC, "offset" DESC
            LIMIT 1
            """,
            [card["card_id"], at, at],
        )
        row = sample[0] if sample else {}
        holders = _holders(connection, card["card_id"], at if at is not None else row.get("at_us"))
        used = row.get("used_bytes")
        held = sum(holder["bytes"] or 0 for holder in holders)
        found.append(
            {
                "gpu_uuid": card["gpu_uuid"],
                "pci_bus_id": card["pci_bus_id"],
                "gpu_index": card["gpu_index"],
                "name": card["name"],
                "at": iso(row.get("at_us")),
                **amount("total", row.get("total_bytes")),
                **amount("reserved", row.get("reserved_bytes")),
                **amount("used", used),
                **amount("free", row.get("free_bytes")),
                **amount("rest", None if used is None or not holders else used - held),
                "holders": holders,
            }
        )
    return found


def _holders(connection: duckdb.DuckDBPyConnection, card: str, at: int | None) -> list[dict[str, Any]]:
    if at is None:
        return []
    rows = fetch(
        connection,
        """
        SELECT holder.pid, holder.name, holder.used_bytes, load.load_id
        FROM holder_sample AS holder
        LEFT JOIN load ON load.process_id = holder.process_id
            AND load.begun_us <= holder.at_us AND (load.ended_us IS NULL OR load.ended_us >= holder.at_us)
        WHERE holder.card_id = ? AND abs(holder.at_us - ?) <= 1000000
        QUALIFY row_number() OVER (
            PARTITION BY holder.pid
            ORDER BY abs(holder.at_us - ?), load.number DESC, holder.at_us, holder.source_id DESC, holder."offset" DESC
        ) = 1
        ORDER BY holder.used_bytes DESC NULLS LAST, holder.pid
        """,
        [card, at, at],
    )
    return [
        {"pid": row["pid"], "process": row["name"], **amount("", row["used_bytes"]), "load_id": row["load_id"]}
        for row in rows
    ]


def _ambiguous(connection: duckdb.DuckDBPyConnection, cited: set[str]) -> list[dict[str, Any]]:
    """Lines about memory that several loads could have written: nothing is attributed from them."""
    rows = fetch(
        connection,
        """
        SELECT line_id, candidates, rule FROM line
        WHERE scope = 'ambiguous' AND event IN ('buffer_allocated', 'memory_estimated', 'pool_sized', 'buffer_released')
        ORDER BY ordinal LIMIT 200
        """,
    )
    cited.update(row["line_id"] for row in rows)
    return [
        {"evidence": row["line_id"], "candidates": (row["candidates"] or "").split(), "reason": row["rule"]}
        for row in rows
    ]


def evidence(connection: duckdb.DuckDBPyConnection, cited: set[str]) -> dict[str, Any]:
    """What each cited id stands for: where its bytes are and what they say."""
    found: dict[str, Any] = {}
    sources = {row["source_id"]: row for row in fetch(connection, "SELECT source_id, digest, format FROM source")}
    columns = 'line_id, source_id, "offset", length, record, cursor, time_us, load_id, text'
    for line, name, offset, length, record, cursor, time_us, load_id, text in lines_by_id(connection, cited, columns):
        source = sources.get(name, {})
        found[line] = {
            "source": name,
            "digest": source.get("digest"),
            "offset": offset,
            "length": length,
            "line": record + 1 if source.get("format") == "text" else None,
            "cursor": cursor,
            "time": iso(time_us),
            "load_id": load_id,
            "text": text,
        }
    left = sorted(cited - found.keys())
    if not left:
        return found
    for row in fetch(
        connection,
        """
        SELECT sample.line_id, sample.source_id, digest, sample."offset", sample.length, sample.at_us, measure.load_id,
            sample.text
        FROM telemetry_row AS sample SEMI JOIN (SELECT unnest(?::VARCHAR[]) AS line_id) AS cited USING (line_id)
        LEFT JOIN (
            SELECT line_id, load_id FROM measure
            UNION SELECT line_id, load_id FROM runtime WHERE line_id IS NOT NULL
            UNION SELECT line_id, load_id FROM profile_peak
        ) AS measure USING (line_id)
        LEFT JOIN source USING (source_id)
        ORDER BY sample.line_id, sample.text, measure.load_id
        """,
        [left],
    ):
        found[row["line_id"]] = {
            "source": row["source_id"],
            "digest": row["digest"],
            "offset": row["offset"],
            "length": row["length"],
            "line": None,
            "cursor": None,
            "time": iso(row["at_us"]),
            "load_id": row["load_id"],
            "text": row["text"],
        }
    return found
