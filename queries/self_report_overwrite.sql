-- stored
--
-- What a last-value-wins report lacks because a later context printed the same component, device and kind.
--
-- Where the later context's lines are in the log the rows are what they replaced (self_report_gap). Where only its forecast
-- is, the rows assume that it printed a cache and a compute line on the target's last card, as a recorded MTP load did; a
-- target's cache that the log does not print has no row.
-- What no line of the report's pattern names stands beside it: the vision tower, allocated or forecast.
--
-- load_id      VARCHAR  The load.
-- device       VARCHAR  Device that holds it, if known.
-- part         VARCHAR  Part of the load.
-- kind         VARCHAR  What the amount holds.
-- why          VARCHAR  overwritten, never_matched, assumed or forecast.
-- size_bytes   BIGINT   Amount.
-- bound_bytes  BIGINT   Sum of the rounding bounds.
-- basis        VARCHAR  logged, derived, estimated or assumed.
-- lines        VARCHAR  Evidence: line ids in order, separated by blanks.
-- replaced_by  VARCHAR  Lines that overwrote them, separated by blanks.
WITH shown AS (
    SELECT load_id, device, part, kind, why, size_bytes, bound_bytes, basis, lines, replaced_by
    FROM self_report_gap
    WHERE algorithm = 'last_value_wins' AND why IN ('overwritten', 'never_matched')
),
forecasts AS (
    SELECT load_id, part, size_bytes, bound_bytes, line_id
    FROM item
    WHERE mark = 'estimated'
        AND (load_id, part) NOT IN (SELECT (load_id, part) FROM item WHERE mark = 'counted')
),
last_card AS (
    SELECT ledger.load_id, arg_max(ledger.device, (ledger.kind = 'weights', line.ordinal, ledger.device)) AS device
    FROM vram_ledger AS ledger
    JOIN line ON line.line_id = split_part(ledger.lines, ' ', 1)
    WHERE ledger.part = 'target' AND ledger.kind IN ('weights', 'compute') AND ledger.place = 'card'
    GROUP BY ledger.load_id
),
assumed AS (
    SELECT
        ledger.load_id, ledger.device, ledger.part, ledger.kind, 'assumed' AS why, ledger.size_bytes, ledger.bound_bytes,
        'assumed' AS basis, ledger.lines, NULL AS replaced_by
    FROM vram_ledger AS ledger
    JOIN last_card USING (load_id, device)
    WHERE ledger.part = 'target' AND ledger.kind IN ('kv_cache', 'compute')
        AND ledger.load_id IN (SELECT load_id FROM forecasts WHERE part = 'mtp')
),
vision AS (
    SELECT
        load_id, NULL AS device, part, NULL AS kind, 'forecast' AS why, size_bytes, bound_bytes, 'estimated' AS basis,
        line_id AS lines, NULL AS replaced_by
    FROM forecasts
    WHERE part = 'vision'
)
SELECT * FROM shown
UNION ALL BY NAME
SELECT * FROM assumed
UNION ALL BY NAME
SELECT * FROM vision
ORDER BY load_id, device NULLS LAST, part, kind, why, lines
