-- stored
--
-- One row a load: the settings that throughput depends on, which must be the same where rates are compared.
--
-- A setting that no line gives is empty; that is no value, and equal only to another that is empty.
--
-- load_id   VARCHAR  The load.
-- engine    VARCHAR  Program that holds it.
-- version   VARCHAR  Its version.
-- context   VARCHAR  Context length.
-- kv_dtype  VARCHAR  Data type of the cache, K/V where they are printed apart.
-- method    VARCHAR  Method of speculation.
-- depth     BIGINT   Most tokens drafted at once.
WITH contexts AS (
    SELECT load_id, arg_max(value, ordinal) AS context
    FROM setting_reported
    WHERE believed AND load_id IS NOT NULL AND name IN ('n_ctx', 'max_model_len')
    GROUP BY load_id
),
dtypes AS (
    SELECT load_id, max(kv_dtype) AS kv_dtype FROM kv_pools GROUP BY load_id
    UNION ALL
    SELECT load_id, string_agg(DISTINCT k_type || '/' || v_type, ', ' ORDER BY k_type || '/' || v_type) AS kv_dtype
    FROM kv_caches
    WHERE part = 'target' AND phase <> 'fit'
    GROUP BY load_id
)
SELECT
    load.load_id, load.engine, process.version, contexts.context, max(dtypes.kv_dtype) AS kv_dtype,
    speculation.method, speculation.n_max AS depth
FROM load
JOIN process USING (process_id)
LEFT JOIN speculation USING (load_id)
LEFT JOIN contexts USING (load_id)
LEFT JOIN dtypes USING (load_id)
GROUP BY ALL
ORDER BY load.load_id
