-- stored
--
-- One row a cache that a load describes: cells, layers and types, and what a cell costs.
--
-- load_id     VARCHAR  The load.
-- part        VARCHAR  Part of the load.
-- cells       BIGINT   Cells (tokens) per stream.
-- layers      BIGINT   Layers with a cache.
-- sequences   BIGINT   Sequences.
-- k_type      VARCHAR  Data type of K.
-- v_type      VARCHAR  Data type of V.
-- size_bytes  BIGINT   Logical size: a summary of allocations, never to be added to them.
-- cell_bytes  DOUBLE   Bytes a cell, all layers together.
-- phase       VARCHAR  Phase of the load: a shape of the fit phase is planned.
-- line_id     VARCHAR  Evidence.
SELECT
    load_id, part, cells, layers, sequences, k_type, v_type, size_bytes,
    size_bytes / nullif(cells * coalesce(sequences, 1), 0) AS cell_bytes, phase, line_id
FROM cache_described
WHERE believed AND load_id IS NOT NULL
ORDER BY load_id, ordinal
