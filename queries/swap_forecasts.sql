-- stored
--
-- A need that a supervisor predicted before it evicted, beside its rule and what the load came to: one row such a line of an episode.
--
-- Ollama from 0.30.0 (server/sched.go): beside a resident model the next one evicts where its prediction, with 768 MiB more
-- for a batch of 1024 and 2 GiB for 2048, is more than 80 % of what is available. The prediction is the file's size and a
-- cache of f16 over all layers for the whole context, whatever its type is and however many layers have one. The file's
-- size is taken from the tensors that the load prints: metadata come on top. The context that would fit both is what of
-- the 80 % the file leaves, by what the prediction takes for a token.
--
-- episode          BIGINT   Number of the episode.
-- load_id          VARCHAR  The load that came.
-- line_id          VARCHAR  The line.
-- predicted_bytes  BIGINT   Need as predicted.
-- available_bytes  BIGINT   What the supervisor thinks is available.
-- surcharge_bytes  BIGINT   Added for the batch; none where the line does not say it.
-- threshold_bytes  BIGINT   80 % of what is available.
-- exceeds          BOOLEAN  Whether the prediction with its surcharge is more, to the rounding of both.
-- num_ctx          BIGINT   Context that the prediction is for.
-- num_batch        BIGINT   Batch.
-- parallel         BIGINT   Sequences, as the command line says, else one.
-- file_bytes       BIGINT   Tensors of the file.
-- layers           BIGINT   Layers, those that predict further tokens among them.
-- token_bytes      BIGINT   What the rule takes for a token: keys and values of f16 over all layers.
-- reckoned_bytes   BIGINT   The rule's own sum from these lines.
-- agrees           BOOLEAN  Whether it is the printed prediction, to the rounding of both.
-- cache_bytes      BIGINT   What the cache of the load came to.
-- fitting_ctx      BIGINT   Context that would have evicted nothing; 0 where the file alone is too large.
-- lines            VARCHAR  Evidence: line ids in order, separated by blanks.
WITH lines AS (
    SELECT
        reasons.episode, reasons.load_id, reasons.line_id, reasons.predicted_bytes, reasons.available_bytes,
        TRY_CAST(regexp_extract(decided.detail, 'predicted_num_ctx=(\d+)', 1) AS BIGINT) AS num_ctx,
        TRY_CAST(regexp_extract(decided.detail, 'num_batch=(\d+)', 1) AS BIGINT) AS num_batch
    FROM swap_reasons AS reasons
    JOIN scheduler_decided AS decided USING (line_id)
    WHERE reasons.predicted_bytes IS NOT NULL AND reasons.available_bytes IS NOT NULL
),
said AS (
    SELECT load_id, name, arg_min(value, ordinal) AS value, arg_min(line_id, ordinal) AS line_id
    FROM setting_reported
    WHERE believed AND load_id IS NOT NULL AND part = 'target'
        AND name IN ('file size', 'n_layer', 'n_layer_all', 'n_head', 'n_head_kv', 'n_embd')
    GROUP BY load_id, name
),
shapes AS (
    SELECT
        load_id,
        max(TRY_CAST(regexp_extract(value, '^([\d.]+) [MG]iB', 1) AS DOUBLE)
            * CASE WHEN value LIKE '% GiB%' THEN 1073741824 ELSE 1048576 END) FILTER (name = 'file size')::BIGINT AS file_bytes,
        max(CASE WHEN value LIKE '% GiB%' THEN 5368710 ELSE 5243 END) FILTER (name = 'file size') AS file_bound,
        coalesce(
            max(TRY_CAST(value AS BIGINT)) FILTER (name = 'n_layer_all'), max(TRY_CAST(value AS BIGINT)) FILTER (name = 'n_layer')
        ) AS layers,
        -- A list where layers differ: the smallest that is not nothing is taken.
        max(greatest(1, list_min(list_transform(regexp_extract_all(value, '\d+'), lambda one: one::BIGINT))))
            FILTER (name = 'n_head_kv') AS heads_kv,
        max(list_max(list_transform(regexp_extract_all(value, '\d+'), lambda one: one::BIGINT))) FILTER (name = 'n_head') AS heads,
        max(TRY_CAST(value AS BIGINT)) FILTER (name = 'n_embd') AS width,
        string_agg(line_id, ' ' ORDER BY name) AS lines
    FROM said
    GROUP BY load_id
),
sequences AS (
    SELECT load_id, max(TRY_CAST(value AS BIGINT)) AS parallel
    FROM configuration
    WHERE origin = 'argument' AND name IN ('np', 'parallel')
    GROUP BY load_id
),
caches AS (
    SELECT load_id, sum(size_bytes)::BIGINT AS cache_bytes, string_agg(lines, ' ' ORDER BY device) AS lines
    FROM vram_ledger
    WHERE kind = 'kv_cache' AND part = 'target'
    GROUP BY load_id
),
terms AS (
    SELECT
        lines.*, coalesce(sequences.parallel, 1) AS parallel, shapes.file_bytes, shapes.file_bound, shapes.layers,
        2 * shapes.layers * shapes.heads_kv * (shapes.width // shapes.heads) * 2 AS token_bytes,
        CASE WHEN num_batch >= 2048 THEN 2147483648 WHEN num_batch >= 1024 THEN 805306368 WHEN num_batch IS NOT NULL THEN 0 END
            AS surcharge_bytes,
        lines.available_bytes * 4 // 5 AS threshold_bytes,
        caches.cache_bytes,
        concat_ws(' ', lines.line_id, shapes.lines, caches.lines) AS evidence
    FROM lines
    LEFT JOIN shapes USING (load_id)
    LEFT JOIN sequences USING (load_id)
    LEFT JOIN caches USING (load_id)
)
SELECT
    episode,
    load_id,
    line_id,
    predicted_bytes,
    available_bytes,
    surcharge_bytes,
    threshold_bytes,
    -- One place of a GiB is printed, of both.
    predicted_bytes + coalesce(surcharge_bytes, 0) > threshold_bytes - 96636765 AS exceeds,
    num_ctx,
    num_batch,
    parallel,
    file_bytes,
    layers,
    token_bytes,
    file_bytes + token_bytes * num_ctx * parallel AS reckoned_bytes,
    -- 32 MiB: the tokenizer and other metadata that the printed size, a sum of tensors, leaves out.
    predicted_bytes - (file_bytes + token_bytes * num_ctx * parallel)
        BETWEEN -(53687092 + file_bound) AND 53687092 + file_bound + 33554432 AS agrees,
    cache_bytes,
    greatest(0, (threshold_bytes - coalesce(surcharge_bytes, 0) - file_bytes) // (token_bytes * parallel))::BIGINT AS fitting_ctx,
    evidence AS lines
FROM terms
ORDER BY episode, line_id, load_id
