-- stored
--
-- A forecast of an MTP context that no allocation line follows, read as one card's: what it would be on all cards.
--
-- llama.cpp prints `[spec] estimated memory usage of MTP context` for the whole process. The figure was found to be the
-- draft cache in f16 plus one card's compute; on several cards the compute may come once for each. Only an alternative:
-- where the context's own lines are in the log they are what it holds, and this has no row. The cache is derived from the
-- model's shape; without its lines there is no row either.
--
-- load_id         VARCHAR  The load.
-- forecast_bytes  BIGINT   The forecast.
-- cache_bytes     BIGINT   Cache in it, derived: layers × (K + V) × 2 bytes × context.
-- compute_bytes   BIGINT   The rest of it: one card's compute.
-- cards           BIGINT   Cards that the target computes on.
-- upper_bytes     BIGINT   Cache + compute on each card.
-- lines           VARCHAR  Evidence: the forecast.
WITH settings AS (
    SELECT
        load_id,
        max(value::BIGINT) FILTER (name = 'n_ctx') AS n_ctx,
        max(value::BIGINT) FILTER (name = 'n_embd_k_gqa') AS k,
        max(value::BIGINT) FILTER (name = 'n_embd_v_gqa') AS v,
        max(value::BIGINT) FILTER (name = 'n_layer_all') - max(value::BIGINT) FILTER (name = 'n_layer') AS layers
    FROM setting_reported
    WHERE believed AND load_id IS NOT NULL AND name IN ('n_ctx', 'n_embd_k_gqa', 'n_embd_v_gqa', 'n_layer', 'n_layer_all')
        AND regexp_matches(value, '^\d{1,15}$')
    GROUP BY load_id
),
cells AS (
    SELECT load_id, max(cells) AS n_ctx FROM cache_described WHERE believed AND load_id IS NOT NULL GROUP BY load_id
),
computing AS (
    SELECT load_id, count(DISTINCT device) AS cards
    FROM vram_ledger
    WHERE part = 'target' AND kind = 'compute' AND place = 'card'
    GROUP BY load_id
),
forecasts AS (
    SELECT item.load_id, item.line_id, item.size_bytes
    FROM item
    WHERE item.mark = 'estimated' AND item.part = 'mtp'
        AND item.load_id NOT IN (SELECT load_id FROM item WHERE part IN ('draft', 'mtp') AND mark = 'counted')
    QUALIFY row_number() OVER (PARTITION BY item.load_id ORDER BY item.size_bytes DESC, item.line_id) = 1
),
caches AS (
    SELECT
        forecasts.*,
        computing.cards,
        greatest(coalesce(settings.layers, 1), 1) * (settings.k + settings.v) * 2
            * coalesce(settings.n_ctx, cells.n_ctx) AS cache_bytes
    FROM forecasts
    JOIN settings USING (load_id)
    JOIN computing USING (load_id)
    LEFT JOIN cells USING (load_id)
)
SELECT
    load_id,
    size_bytes AS forecast_bytes,
    cache_bytes,
    size_bytes - cache_bytes AS compute_bytes,
    cards,
    cache_bytes + cards * (size_bytes - cache_bytes) AS upper_bytes,
    line_id AS lines
FROM caches
WHERE size_bytes > cache_bytes
ORDER BY load_id
