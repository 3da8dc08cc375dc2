-- stored
--
-- Every item of a load on a device at a moment: logged, derived, and the runtime that no line names.
--
-- The moment `log` stands for loads and devices that nothing measured.
--
-- load_id     VARCHAR  The load.
-- moment      VARCHAR  last, ready, asleep, at or log.
-- device      VARCHAR  Device.
-- place       VARCHAR  card, host, shared or remote.
-- part        VARCHAR  Part of the load.
-- kind        VARCHAR  What the amount holds.
-- size_bytes  BIGINT   Amount.
-- low_bytes   BIGINT   Lower bound.
-- high_bytes  BIGINT   Upper bound.
-- basis       VARCHAR  measured, logged, derived, estimated or inferred.
-- lines       VARCHAR  Evidence: line ids, separated by blanks.
-- note        VARCHAR  What to know about it.
WITH shapes AS (
    SELECT load_id, part, string_agg(shape, '; ' ORDER BY first) AS note
    FROM (
        SELECT
            load_id, part,
            cells || ' cells, ' || k_type || CASE WHEN v_type != k_type THEN '/' || v_type ELSE '' END AS shape,
            min(ordinal) AS first
        FROM cache_described
        WHERE believed AND phase = 'allocate' AND load_id IS NOT NULL AND cells IS NOT NULL AND k_type IS NOT NULL
        GROUP BY ALL
    )
    GROUP BY load_id, part
),
-- At `at` the ledger is as it stood then; at the other moments a load is complete.
sums AS (
    SELECT
        moments.load_id, moments.moment, moments.device, moments.place, amounts.part, amounts.kind,
        sum(amounts.size_bytes)::BIGINT AS size_bytes,
        sum(amounts.bound_bytes)::BIGINT AS bound_bytes,
        bool_or(amounts.basis = 'derived') AS derived,
        string_agg(amounts.line_id, ' ' ORDER BY amounts.ordinal) AS lines
    FROM vram_moments AS moments
    JOIN ledger_lines AS amounts USING (load_id, device, place)
    -- A load that sleeps inside its life has given its ledger back.
    WHERE moments.phase IS DISTINCT FROM 'asleep'
        AND CASE
            WHEN moments.moment = 'at' AND amounts.at_us IS NOT NULL
                THEN amounts.at_us <= moments.at_us AND (amounts.until_us IS NULL OR moments.at_us < amounts.until_us)
            ELSE amounts.mark = 'counted'
        END
    GROUP BY moments.load_id, moments.moment, moments.device, moments.place, amounts.part, amounts.kind
),
ledger AS (
    SELECT
        sums.load_id, sums.moment, sums.device, sums.place, sums.part, sums.kind, sums.size_bytes,
        sums.size_bytes - sums.bound_bytes AS low_bytes, sums.size_bytes + sums.bound_bytes AS high_bytes,
        CASE WHEN sums.derived THEN 'derived' ELSE 'logged' END AS basis, sums.lines,
        CASE
            WHEN sums.derived THEN 'printed once for several cards: the share of each'
            WHEN sums.kind = 'kv_cache' THEN shapes.note
        END AS note
    FROM sums
    LEFT JOIN shapes ON shapes.load_id = sums.load_id AND shapes.part = sums.part
),
runtimes AS (
    SELECT
        moments.load_id, moments.moment, moments.device, moments.place, 'runtime' AS part, 'runtime' AS kind,
        runtime.size_bytes + coalesce(used.size_bytes, 0) AS size_bytes,
        runtime.low_bytes + coalesce(used.low_bytes, 0) AS low_bytes,
        runtime.high_bytes + coalesce(used.high_bytes, 0) AS high_bytes,
        CASE WHEN used.load_id IS NULL THEN runtime.basis ELSE 'inferred' END AS basis,
        nullif(concat_ws(' ', runtime.line_id, used.lines), '') AS lines,
        concat_ws('; with ', runtime.note, used.note) AS note
    FROM vram_moments AS moments
    JOIN runtime USING (load_id, device)
    LEFT JOIN libraries_used AS used
        ON used.load_id = moments.load_id AND used.device = moments.device AND used.since_us < moments.at_us
            AND moments.phase IS DISTINCT FROM 'asleep'
)
SELECT * FROM ledger
UNION ALL BY NAME
SELECT * FROM pool_items
UNION ALL BY NAME
SELECT * FROM runtimes
ORDER BY load_id, moment, device, part, kind, size_bytes DESC, note, lines
