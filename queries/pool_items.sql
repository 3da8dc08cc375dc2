-- stored
--
-- Items of an engine with a cache pool that its log gives only as budgets: cache, headroom, allocator slack.
--
-- What activations and non-torch memory hold of their headroom is not logged: the item is what the card leaves for it,
-- at most the headroom, or what the card showed while the engine was profiled, and never negative; its bounds are the
-- whole of that. The runtime is taken off first.
-- A sleep line of the engine says how large its pool had become and what stays in use; from it come the slack of the
-- allocator, and what a sleeping engine still holds.
--
-- load_id     VARCHAR  The load.
-- moment      VARCHAR  last, ready, asleep, at or log.
-- device      VARCHAR  Device.
-- place       VARCHAR  card.
-- part        VARCHAR  target.
-- kind        VARCHAR  kv_cache, non_torch, activation_peak or headroom.
-- size_bytes  BIGINT   Amount.
-- low_bytes   BIGINT   Lower bound.
-- high_bytes  BIGINT   Upper bound.
-- basis       VARCHAR  logged or derived.
-- lines       VARCHAR  Evidence.
-- note        VARCHAR  What to know about it.
WITH slept AS (
    SELECT
        released.load_id,
        device.device,
        max(released.size_bytes) FILTER (released.remaining_bytes IS NULL) AS pool_bytes,
        min(released.remaining_bytes) AS remaining_bytes,
        string_agg(released.line_id, ' ' ORDER BY released.ordinal) AS lines
    FROM buffer_released AS released
    JOIN load USING (load_id)
    JOIN device
        ON device.process_id = load.process_id AND device.logged = coalesce(released.device, released.writer_device)
    WHERE released.believed AND released.load_id IS NOT NULL AND device.place = 'card'
    GROUP BY released.load_id, device.device
),
others AS (
    -- What the card holds beside the process: a sleep line counts everybody's memory.
    SELECT
        measure.load_id, measure.device, measure.moment,
        greatest(arg_min(
            sample.used_bytes, (abs(sample.at_us - measure.at_us), sample.at_us, sample.source_id, sample."offset")
        ) - measure.measured_bytes, 0) AS other_bytes
    FROM measure
    JOIN card_sample AS sample USING (card_id)
    WHERE measure.measured_by = 'process'
    GROUP BY measure.load_id, measure.device, measure.moment, measure.measured_bytes
),
ledger AS (
    SELECT load_id, device, sum(size_bytes)::BIGINT AS size_bytes FROM vram_ledger GROUP BY load_id, device
),
bases AS (
    SELECT
        moments.load_id, moments.moment, moments.device, moments.place, moments.phase, moments.measured_bytes,
        pool.kv_bytes, pool.kv_bound_bytes, pool.kv_lines, pool.kv_note,
        coalesce(ledger.size_bytes, 0) AS ledger_bytes,
        coalesce(runtime.size_bytes, 0) AS runtime_bytes,
        pool.non_torch_bytes, pool.activation_bytes, pool.headroom_bytes, pool.profile_lines,
        profile_peak.peak_bytes - pool.weights_bytes - coalesce(runtime.size_bytes, 0) AS peak_bytes,
        profile_peak.line_id AS peak_line,
        greatest(slept.pool_bytes - pool.kv_bytes - pool.weights_bytes, 0) AS slack_bytes,
        slept.remaining_bytes - coalesce(others.other_bytes, 0) AS remaining_bytes,
        slept.lines AS slept_lines
    FROM vram_moments AS moments
    JOIN pool_budget AS pool USING (load_id, device)
    LEFT JOIN ledger USING (load_id, device)
    LEFT JOIN runtime USING (load_id, device)
    LEFT JOIN slept USING (load_id, device)
    LEFT JOIN profile_peak USING (load_id, device)
    LEFT JOIN others ON others.load_id = moments.load_id AND others.device = moments.device
        AND others.moment = moments.moment
),
known AS (
    SELECT
        *,
        CASE
            WHEN non_torch_bytes IS NOT NULL THEN greatest(non_torch_bytes, 0)
            WHEN remaining_bytes IS NOT NULL THEN greatest(remaining_bytes - runtime_bytes, 0)
        END AS outside_bytes,
        CASE WHEN non_torch_bytes IS NOT NULL THEN profile_lines ELSE slept_lines END AS outside_lines,
        -- The allocator keeps what it once reserved: it may hold as much again as the card showed in profiling.
        greatest(coalesce(activation_bytes, headroom_bytes), peak_bytes - coalesce(non_torch_bytes, 0)) AS cap_bytes,
        peak_bytes - coalesce(non_torch_bytes, 0) > coalesce(activation_bytes, headroom_bytes, 0) AS by_peak
    FROM bases
),
awake AS (
    SELECT
        *,
        measured_bytes - ledger_bytes - kv_bytes - runtime_bytes - coalesce(outside_bytes, 0) - coalesce(slack_bytes, 0)
            AS left_bytes
    FROM known
    WHERE phase IS DISTINCT FROM 'asleep'
)
SELECT
    load_id, moment, device, place, 'target' AS part, 'kv_cache' AS kind, kv_bytes AS size_bytes,
    kv_bytes - kv_bound_bytes AS low_bytes, kv_bytes + 5368710 AS high_bytes, 'derived' AS basis, kv_lines AS lines,
    kv_note AS note
FROM awake
UNION ALL BY NAME
SELECT
    load_id, moment, device, place, 'target' AS part, 'non_torch' AS kind, outside_bytes AS size_bytes,
    greatest(outside_bytes - 10737418, 0) AS low_bytes, outside_bytes + 10737418 AS high_bytes,
    CASE WHEN non_torch_bytes IS NOT NULL THEN 'logged' ELSE 'derived' END AS basis, outside_lines AS lines,
    CASE
        WHEN non_torch_bytes IS NOT NULL THEN 'increase outside the allocator while profiling'
        ELSE 'still in use when it slept, less the runtime'
    END AS note
FROM awake
WHERE outside_bytes > 0
UNION ALL BY NAME
SELECT
    load_id, moment, device, place, 'target' AS part, 'non_torch' AS kind, slack_bytes AS size_bytes,
    slack_bytes - 16106130 AS low_bytes, slack_bytes + 16106130 AS high_bytes, 'derived' AS basis,
    slept_lines AS lines, 'slack of the allocator: what the sleep freed beyond weights and cache' AS note
FROM awake
WHERE slack_bytes > 0
UNION ALL BY NAME
SELECT
    load_id, moment, device, place, 'target' AS part,
    CASE WHEN activation_bytes IS NOT NULL THEN 'activation_peak' ELSE 'headroom' END AS kind,
    CASE WHEN measured_bytes IS NULL THEN cap_bytes ELSE least(greatest(left_bytes, 0), cap_bytes) END AS size_bytes,
    0 AS low_bytes, cap_bytes AS high_bytes, 'derived' AS basis,
    coalesce(profile_lines, kv_lines) || CASE WHEN by_peak THEN ' ' || peak_line ELSE '' END AS lines,
    CASE WHEN activation_bytes IS NULL THEN 'activations and non-torch memory: ' ELSE '' END
        || 'what the card leaves for it, up to '
        || CASE
            WHEN by_peak THEN 'what it showed while the engine was profiled, '
            WHEN activation_bytes IS NOT NULL THEN 'the logged peak, '
            ELSE 'the headroom that the budget leaves, '
        END
        || round(cap_bytes / 1048576)::BIGINT || ' MiB' AS note
FROM awake
WHERE cap_bytes > 0
UNION ALL BY NAME
SELECT
    load_id, moment, device, place, 'target' AS part, 'non_torch' AS kind,
    remaining_bytes - runtime_bytes AS size_bytes, 0 AS low_bytes, remaining_bytes AS high_bytes, 'derived' AS basis,
    slept_lines AS lines, 'what the sleep line says is still in use, less the runtime and other processes' AS note
FROM known
WHERE phase = 'asleep' AND remaining_bytes IS NOT NULL
ORDER BY load_id, moment, device, kind, size_bytes DESC, note
