-- stored
--
-- What a load's cards hold and a self-report algorithm leaves out, item by item; negative where the report has more.
--
-- The sum of a load's rows is what the ledger holds on cards less the algorithm's figure, exactly. A line whose name stands
-- for several cards is held on each of them and enters a report once. Runtimes are in no report and not in here: they are
-- in vram_items.
--
-- load_id      VARCHAR  The load.
-- algorithm    VARCHAR  Name of the algorithm.
-- device       VARCHAR  Device that holds it; none for what is on no card.
-- part         VARCHAR  Part of the load.
-- kind         VARCHAR  What the amount holds.
-- why          VARCHAR  overwritten, never_matched, counted_once, or the negative ones: host, not_held.
-- size_bytes   BIGINT   Amount that the report lacks.
-- bound_bytes  BIGINT   Sum of the rounding bounds.
-- basis        VARCHAR  logged, derived or estimated.
-- lines        VARCHAR  Evidence: line ids in order, separated by blanks.
-- replaced_by  VARCHAR  Lines that overwrote them, separated by blanks.
WITH held AS (
    SELECT
        item.load_id, item.line_id, device.device, item.part, item.kind, item.size_bytes, item.bound_bytes, device.spread,
        row_number() OVER (
            PARTITION BY item.line_id ORDER BY device.device, item.part, item.kind, item.size_bytes
        ) AS nth
    FROM item
    JOIN device USING (process_id, logged)
    JOIN line USING (line_id)
    WHERE item.mark = 'counted' AND line.event = 'buffer_allocated' AND device.place <> 'host'
),
missing AS (
    SELECT
        replay.load_id, replay.algorithm, held.device, held.part, held.kind,
        CASE replay.status WHEN 'entered' THEN 'counted_once' ELSE replay.status END AS why,
        held.size_bytes, held.bound_bytes, CASE WHEN held.spread THEN 'derived' ELSE 'logged' END AS basis,
        replay.line_id, replay.ordinal, replay.replaced_by
    FROM held
    JOIN self_report_replay AS replay USING (line_id)
    WHERE replay.status <> 'entered' OR held.nth > 1
),
unread AS (
    -- an algorithm that takes a forecast, a table or a file reads no buffer line at all
    SELECT
        sums.load_id, sums.algorithm, held.device, held.part, held.kind, 'never_matched' AS why, held.size_bytes,
        held.bound_bytes, CASE WHEN held.spread THEN 'derived' ELSE 'logged' END AS basis, held.line_id,
        line.ordinal, NULL AS replaced_by
    FROM held
    JOIN self_report_sums AS sums USING (load_id)
    JOIN line USING (line_id)
    ANTI JOIN self_report_replay AS replay ON replay.algorithm = sums.algorithm AND replay.line_id = held.line_id
),
surplus AS (
    SELECT
        replay.load_id, replay.algorithm, NULL AS device, replay.part, replay.kind,
        CASE WHEN item.mark = 'counted' THEN 'host' ELSE 'not_held' END AS why,
        -replay.size_bytes AS size_bytes, coalesce(item.bound_bytes, 0) AS bound_bytes,
        coalesce(item.basis, 'logged') AS basis, replay.line_id, replay.ordinal, NULL AS replaced_by
    FROM self_report_replay AS replay
    LEFT JOIN item USING (line_id)
    ANTI JOIN held USING (line_id)
    WHERE replay.status = 'entered'
),
differences AS (
    SELECT * FROM missing
    UNION ALL BY NAME
    SELECT * FROM unread
    UNION ALL BY NAME
    SELECT * FROM surplus
)
SELECT
    load_id,
    algorithm,
    device,
    part,
    kind,
    why,
    sum(size_bytes)::BIGINT AS size_bytes,
    sum(bound_bytes)::BIGINT AS bound_bytes,
    basis,
    string_agg(line_id, ' ' ORDER BY ordinal) AS lines,
    string_agg(DISTINCT replaced_by, ' ' ORDER BY replaced_by) AS replaced_by
FROM differences
GROUP BY load_id, algorithm, device, part, kind, why, basis
ORDER BY load_id, algorithm, device NULLS LAST, min(ordinal), part, kind, why, basis
