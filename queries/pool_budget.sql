-- stored
--
-- The memory account of an engine that sizes its cache pool from a share of the card: one row a load and device.
--
-- vLLM (releases 0.6 to 0.33, read side by side). Requested R = total × share; the pool is what weights, activations and
-- non-torch memory leave of it, and from 0.20 on an estimate of CUDA graphs. What only one rank prints counts for all,
-- as the pool is as large on each. The default share is 0.9, from 0.20 on 0.92. `total` is the device's as CUDA gives
-- it: the card's total less what the driver reserves.
--
-- load_id           VARCHAR  The load.
-- device            VARCHAR  Device.
-- kv_bytes          BIGINT   Budget of the cache pool.
-- kv_bound_bytes    BIGINT   Rounding bound, and up to one block less.
-- kv_lines          VARCHAR  Evidence.
-- kv_note           VARCHAR  Whose line it is.
-- utilization       DOUBLE   Share of the device that it may take.
-- total_bytes       BIGINT   Device memory in all.
-- requested_bytes   BIGINT   Share × total.
-- weights_bytes     BIGINT   Weights, from the ledger.
-- estimate_bytes    BIGINT   Estimate of CUDA graphs that was taken off the budget.
-- non_torch_bytes   BIGINT   Increase outside the allocator, if the engine printed it.
-- activation_bytes  BIGINT   Peak of activations, if the engine printed it.
-- profile_lines     VARCHAR  Evidence of the last two.
-- headroom_bytes    BIGINT   R less weights, pool and estimate: activations and non-torch memory together.
WITH printed AS (
    SELECT load_id, coalesce(device, writer_device) AS logged, budget_bytes AS kv_bytes, line_id, ordinal
    FROM pool_sized
    WHERE believed AND load_id IS NOT NULL AND budget_bytes IS NOT NULL
    UNION ALL
    SELECT load_id, coalesce(device, writer_device), kv_bytes, line_id, ordinal
    FROM memory_profiled
    WHERE believed AND load_id IS NOT NULL AND kv_bytes IS NOT NULL
),
own AS (
    SELECT
        load_id, logged, arg_min(kv_bytes, ordinal) AS kv_bytes, arg_min(line_id, ordinal) AS line_id,
        min(ordinal) AS ordinal
    FROM printed
    WHERE kv_bytes > 0
    GROUP BY load_id, logged
),
smallest AS (
    SELECT load_id, min(kv_bytes) AS kv_bytes, arg_min(line_id, (kv_bytes, ordinal)) AS line_id
    FROM own
    GROUP BY load_id
),
workers AS (
    SELECT DISTINCT load.load_id, load.process_id, device.logged, device.device, device.card_id
    FROM load
    JOIN device USING (process_id)
    JOIN smallest USING (load_id)
    WHERE device.place = 'card'
),
versions AS (
    SELECT
        process_id,
        coalesce(
            TRY_CAST(split_part(version, '.', 1) AS BIGINT) * 1000 + TRY_CAST(split_part(version, '.', 2) AS BIGINT),
            25
        ) AS release
    FROM process
),
shares AS (
    SELECT
        load_id,
        max(TRY_CAST(regexp_extract(text, '''gpu_memory_utilization'': ([0-9.]+)', 1) AS DOUBLE)) AS utilization,
        bool_or(regexp_matches(text, '''kv_cache_memory_bytes'': [0-9]')) AS by_hand
    FROM arguments_reported
    WHERE believed AND load_id IS NOT NULL
    GROUP BY load_id
),
profiles AS (
    SELECT
        load_id,
        coalesce(device, writer_device) AS logged,
        max(total_bytes) AS total_bytes,
        max(utilization_ratio) AS utilization,
        arg_max(non_torch_bytes, ordinal) AS non_torch_bytes,
        arg_max(activation_bytes, ordinal) AS activation_bytes,
        arg_max(consumed_bytes, ordinal) AS consumed_bytes,
        string_agg(line_id, ' ' ORDER BY ordinal)
            FILTER (non_torch_bytes IS NOT NULL OR consumed_bytes IS NOT NULL) AS lines
    FROM memory_profiled
    WHERE believed AND load_id IS NOT NULL
    GROUP BY load_id, coalesce(device, writer_device)
),
estimates AS (
    SELECT load_id, coalesce(device, writer_device) AS logged, arg_max(size_bytes, ordinal) AS estimate_bytes
    FROM memory_estimated
    WHERE believed AND load_id IS NOT NULL AND kind = 'cuda_graphs'
    GROUP BY load_id, coalesce(device, writer_device)
),
totals AS (
    SELECT card_id, max(total_bytes - coalesce(reserved_bytes, 0)) AS total_bytes FROM card_sample GROUP BY card_id
),
weights AS (
    SELECT load_id, device, sum(size_bytes)::BIGINT AS weights_bytes
    FROM vram_ledger
    WHERE kind = 'weights'
    GROUP BY load_id, device
),
joined AS (
    SELECT
        workers.load_id,
        workers.device,
        coalesce(least(own.kv_bytes, smallest.kv_bytes), smallest.kv_bytes) AS kv_bytes,
        coalesce(own.line_id, smallest.line_id) AS kv_lines,
        CASE
            WHEN own.line_id IS NULL THEN 'printed by another rank: the pool is as large on each'
            ELSE 'the printed budget; the pool is at most one block smaller'
        END AS kv_note,
        coalesce(
            profiles.utilization, shares.utilization, CASE WHEN versions.release >= 20 THEN 0.92 ELSE 0.9 END
        ) AS utilization,
        coalesce(profiles.total_bytes, totals.total_bytes) AS total_bytes,
        coalesce(shares.by_hand, false) AS by_hand,
        coalesce(weights.weights_bytes, 0) AS weights_bytes,
        CASE WHEN versions.release >= 20 THEN coalesce(estimates.estimate_bytes, 0) ELSE 0 END AS estimate_bytes,
        coalesce(profiles.non_torch_bytes, profiles.consumed_bytes - weights.weights_bytes) AS non_torch_bytes,
        -- From 0.27 on the printed peak holds the estimate of the graphs as well.
        profiles.activation_bytes
            - CASE WHEN versions.release >= 27 THEN coalesce(estimates.estimate_bytes, 0) ELSE 0 END AS activation_bytes,
        profiles.lines AS profile_lines
    FROM workers
    JOIN smallest USING (load_id)
    JOIN versions USING (process_id)
    LEFT JOIN own ON own.load_id = workers.load_id AND coalesce(own.logged, '') = workers.logged
    LEFT JOIN shares ON shares.load_id = workers.load_id
    LEFT JOIN profiles ON profiles.load_id = workers.load_id AND coalesce(profiles.logged, '') = workers.logged
    LEFT JOIN estimates ON estimates.load_id = workers.load_id AND coalesce(estimates.logged, '') = workers.logged
    LEFT JOIN totals ON totals.card_id = workers.card_id
    LEFT JOIN weights ON weights.load_id = workers.load_id AND weights.device = workers.device
)
SELECT
    load_id,
    device,
    kv_bytes,
    -- 0.005 GiB of the printed figure, and one block: a few MiB on the models seen.
    (5368710 + 8388608)::BIGINT AS kv_bound_bytes,
    kv_lines,
    kv_note,
    utilization,
    total_bytes,
    CASE WHEN NOT by_hand THEN ceil(total_bytes * utilization)::BIGINT END AS requested_bytes,
    weights_bytes,
    estimate_bytes,
    non_torch_bytes,
    activation_bytes,
    profile_lines,
    CASE
        WHEN NOT by_hand
        THEN greatest(ceil(total_bytes * utilization)::BIGINT - weights_bytes - kv_bytes - estimate_bytes, 0)
    END AS headroom_bytes
FROM joined
ORDER BY load_id, device, kv_lines, kv_note, profile_lines
