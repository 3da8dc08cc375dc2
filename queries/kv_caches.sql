-- stored
--
-- The shape of a cache as a llama.cpp context describes it, and its size predicted from the model's shape.
--
-- predicted = layers × (K width × bytes per element of K + V width × bytes per element of V) × cells. q8_0 has 34 bytes for
-- 32 elements. Cells are of one stream; where each sequence has its own the size is a multiple, so a prediction that fits
-- once per sequence fits too. A prediction that fits neither way has another shape (one latent for K and V, layers of
-- different width), and says nothing.
--
-- load_id          VARCHAR  The load.
-- number           BIGINT   Its place among the loads of the case.
-- part             VARCHAR  Part of the load.
-- phase            VARCHAR  fit for a dry run that allocates nothing.
-- cells            BIGINT   Cells (tokens) of one stream.
-- layers           BIGINT   Layers with a cache.
-- sequences        BIGINT   Sequences.
-- k_type           VARCHAR  Data type of K.
-- v_type           VARCHAR  Data type of V.
-- size_bytes       BIGINT   Size as printed.
-- predicted_bytes  BIGINT   Size predicted, of one stream; none without the model's shape.
-- agrees           BOOLEAN  Whether the prediction is the printed size to rounding.
-- verdict          VARCHAR  match (within 10 %), half (the prediction is 1.75 to 2.25 times it: K and V may be one) or mismatch: the bands of club-3090.
-- bytes_per_token  DOUBLE   Printed size ÷ cells.
-- line_id          VARCHAR  Evidence.
WITH widths (type, bytes) AS (
    VALUES
    ('f32', 4.0), ('f16', 2.0), ('bf16', 2.0), ('q8_0', 34 / 32), ('q4_0', 18 / 32), ('q4_1', 20 / 32), ('q5_0', 22 / 32),
    ('q5_1', 24 / 32), ('iq4_nl', 18 / 32)
),
shapes AS (
    SELECT
        cache.line_id,
        arg_max(try_cast(setting.value AS BIGINT), setting.ordinal) FILTER (setting.name = 'n_embd_k_gqa') AS k_width,
        arg_max(try_cast(setting.value AS BIGINT), setting.ordinal) FILTER (setting.name = 'n_embd_v_gqa') AS v_width,
        arg_max(try_cast(setting.value AS BIGINT), setting.ordinal) FILTER (setting.name = 'n_head_kv') AS heads,
        arg_max(try_cast(setting.value AS BIGINT), setting.ordinal) FILTER (setting.name = 'n_embd_head_k') AS k_head,
        arg_max(try_cast(setting.value AS BIGINT), setting.ordinal) FILTER (setting.name = 'n_embd_head_v') AS v_head
    FROM cache_described AS cache
    JOIN setting_reported AS setting
        ON setting.load_id = cache.load_id AND setting.believed AND setting.ordinal < cache.ordinal
    WHERE cache.believed
    GROUP BY cache.line_id
),
predictions AS (
    SELECT
        cache.*,
        round(
            cache.layers * cache.cells * (
                coalesce(shapes.k_width, shapes.heads * shapes.k_head) * k.bytes
                + coalesce(shapes.v_width, shapes.heads * shapes.v_head) * v.bytes
            )
        )::BIGINT AS predicted_bytes
    FROM cache_described AS cache
    LEFT JOIN shapes USING (line_id)
    LEFT JOIN widths AS k ON k.type = cache.k_type
    LEFT JOIN widths AS v ON v.type = cache.v_type
    WHERE cache.believed AND cache.load_id IS NOT NULL AND cache.size_bytes IS NOT NULL
)
SELECT
    cache.load_id,
    load.number,
    cache.part,
    cache.phase,
    cache.cells,
    cache.layers,
    cache.sequences,
    cache.k_type,
    cache.v_type,
    cache.size_bytes,
    cache.predicted_bytes,
    -- printed to 0.01 MiB
    abs(cache.size_bytes - cache.predicted_bytes) <= 5243
        OR abs(cache.size_bytes - cache.predicted_bytes * cache.sequences) <= 5243 AS agrees,
    CASE
        WHEN cache.predicted_bytes / cache.size_bytes BETWEEN 0.9 AND 1.1
            OR cache.predicted_bytes * cache.sequences / cache.size_bytes BETWEEN 0.9 AND 1.1 THEN 'match'
        WHEN cache.predicted_bytes / cache.size_bytes BETWEEN 1.75 AND 2.25 THEN 'half'
        WHEN cache.predicted_bytes IS NOT NULL THEN 'mismatch'
    END AS verdict,
    cache.size_bytes / nullif(cache.cells, 0) AS bytes_per_token,
    cache.line_id
FROM predictions AS cache
JOIN load USING (load_id)
ORDER BY load.number, cache.ordinal
