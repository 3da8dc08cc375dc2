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
    SELECT
        load_id, part,
        string_agg(DISTINCT cells || ' cells, ' || k_type || CASE WHEN v_type != k_type THEN '/' || v_type ELSE '' END, '; ')
            AS note
    FROM cache_described
    WHERE believed AND phase = 'allocate' AND load_id IS NOT NULL AND cells IS NOT NULL AND k_type IS NOT NULL
    GROUP BY load_id, part
),
ledger AS (
    SELECT
        moments.load_id, moments.moment, moments.device, moments.place, ledger.part, ledger.kind, ledger.size_bytes,
        ledger.size_bytes - ledger.bound_bytes AS low_bytes, ledger.size_bytes + ledger.bound_bytes AS high_bytes,
        ledger.basis, ledger.lines,
        CASE
            WHEN ledger.basis = 'derived' THEN 'printed once for several cards: the share of each'
            WHEN ledger.kind = 'kv_cache' THEN shapes.note
        END AS note
    FROM vram_moments AS moments
    JOIN vram_ledger AS ledger USING (load_id, device)
    LEFT JOIN shapes ON shapes.load_id = ledger.load_id AND shapes.part = ledger.part
    -- A load that sleeps inside its life has given its ledger back.
    WHERE moments.phase IS DISTINCT FROM 'asleep'
),
runtimes AS (
    SELECT
        moments.load_id, moments.moment, moments.device, moments.place, 'runtime' AS part, 'runtime' AS kind,
        runtime.size_bytes, runtime.low_bytes, runtime.high_bytes, runtime.basis, runtime.line_id AS lines,
        runtime.note
    FROM vram_moments AS moments
    JOIN runtime USING (load_id, device)
)
SELECT * FROM ledger
UNION ALL BY NAME
SELECT * FROM pool_items
UNION ALL BY NAME
SELECT * FROM runtimes
ORDER BY load_id, moment, device, part, kind
