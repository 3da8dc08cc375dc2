-- stored
--
-- One row an amount of a load's ledger on a device, with the span in which it counts.
--
-- An amount that a later line replaces counts until that line. Sum the rows of a moment, or those without an end for
-- the ledger as it stood in the end. A name that stands for several cards gives its figure to each of them.
--
-- load_id      VARCHAR  The load.
-- device       VARCHAR  Device.
-- place        VARCHAR  card, host, shared or remote.
-- card_id      VARCHAR  Card, if known.
-- part         VARCHAR  Part of the load.
-- kind         VARCHAR  What the amount holds.
-- size_bytes   BIGINT   Amount.
-- bound_bytes  BIGINT   Half of its last printed place.
-- basis        VARCHAR  logged or derived.
-- mark         VARCHAR  counted, or superseded where a later line replaces it.
-- at_us        BIGINT   When it was printed.
-- until_us     BIGINT   When it was replaced.
-- line_id      VARCHAR  Evidence.
-- ordinal      BIGINT   Place of that line.
SELECT
    item.load_id,
    device.device,
    device.place,
    device.card_id,
    item.part,
    item.kind,
    item.size_bytes,
    item.bound_bytes,
    CASE WHEN device.spread THEN 'derived' ELSE 'logged' END AS basis,
    item.mark,
    item.at_us,
    later.time_us AS until_us,
    item.line_id,
    line.ordinal
FROM item
JOIN device USING (process_id, logged)
JOIN line USING (line_id)
LEFT JOIN line AS later ON later.line_id = item.superseded_by
WHERE line.event <> 'memory_estimated' AND (item.mark = 'counted' OR (item.mark = 'superseded' AND later.time_us IS NOT NULL))
ORDER BY item.load_id, device.device, line.ordinal, item.part, item.kind, item.size_bytes
