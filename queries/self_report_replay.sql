-- stored
--
-- The lines of a load as each known self-report algorithm takes them: entered, overwritten or never matched.
--
-- A service's own figure is an algorithm over its log with a version. Ollama 0.30.0 to 0.33.0-rc2 (llm/llama_server.go)
-- reads every `component: backend kind buffer size` line of its child into a map, so a later line with the same three
-- words replaces an earlier one, whichever context printed it; only backends that are not on the host count as VRAM.
-- Its pull request 17857 plans to add what the contexts hold and the projector's forecast. 0.11.5 to 0.24.0 report the
-- table that is printed at the end of a load, 0.11.4 and older a forecast; with nothing parsed it is the file's size, of
-- which the log prints only the tensors' share. The amounts are those of the lines, whatever the ledger makes of them.
--
-- load_id          VARCHAR  The load.
-- algorithm        VARCHAR  Name of the algorithm; self_report_sums says whose it is.
-- line_id          VARCHAR  The line.
-- ordinal          BIGINT   Its place among all lines.
-- part             VARCHAR  Part of the load that printed it.
-- kind             VARCHAR  What the amount holds; none for a forecast or a file.
-- logged           VARCHAR  Device as logged, if any.
-- size_bytes       BIGINT   Amount.
-- tolerance_bytes  BIGINT   How far the line's figure may be from what the algorithm added.
-- status           VARCHAR  entered, overwritten, never_matched or host.
-- replaced_by      VARCHAR  Line that overwrote it.
WITH buffers AS (
    SELECT
        buffer.load_id, buffer.line_id, buffer.ordinal, coalesce(item.part, buffer.part) AS part, buffer.kind,
        buffer.device AS logged, buffer.size_bytes, item.bound_bytes, item.mark, line.program, line.pattern,
        regexp_extract(
            line.text,
            '^[^\n:]*?([A-Za-z_][A-Za-z0-9_]*):\s+(\S+)\s+(model|KV|compute|output|RS)\s+buffer size\s*=\s*[\d.]+\s*MiB',
            ['component', 'backend', 'word']
        ) AS key
    FROM buffer_allocated AS buffer
    JOIN line USING (line_id)
    LEFT JOIN item USING (line_id)
    WHERE buffer.believed AND buffer.load_id IS NOT NULL
),
keyed AS (
    SELECT
        *,
        key.component <> '' AS matched,
        NOT regexp_matches(key.backend, '^(CPU|BLAS|CPU_.*|.*_Host)$') AS on_card,
        last_value(line_id) OVER (
            PARTITION BY load_id, key ORDER BY ordinal ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
        ) AS last_line
    FROM buffers
),
last_wins AS (
    SELECT
        load_id, algorithm, line_id, ordinal, part, kind, logged, size_bytes, 20972 AS tolerance_bytes,
        CASE
            WHEN NOT matched THEN 'never_matched'
            WHEN algorithm = 'last_value_wins' AND NOT on_card THEN 'host'
            WHEN line_id <> last_line THEN 'overwritten'
            ELSE 'entered'
        END AS status,
        CASE WHEN matched AND line_id <> last_line THEN last_line END AS replaced_by
    FROM keyed
    CROSS JOIN (VALUES ('last_value_wins'), ('last_value_wins_with_host')) AS known (algorithm)
    QUALIFY bool_or(matched) OVER (PARTITION BY load_id)
),
vision_forecast AS (
    SELECT estimate.load_id, estimate.line_id, estimate.ordinal, item.part, estimate.size_bytes, item.bound_bytes
    FROM memory_estimated AS estimate
    JOIN item USING (line_id)
    WHERE estimate.believed AND estimate.load_id IS NOT NULL AND item.part = 'vision'
),
summed AS (
    SELECT
        load_id, 'contexts_and_projector' AS algorithm, line_id, ordinal, part, kind, logged, size_bytes,
        20972 AS tolerance_bytes,
        CASE
            WHEN NOT matched OR part = 'vision' THEN 'never_matched'
            WHEN NOT on_card THEN 'host'
            WHEN mark = 'counted' THEN 'entered'
            ELSE 'overwritten'
        END AS status,
        NULL AS replaced_by
    FROM keyed
    QUALIFY bool_or(matched) OVER (PARTITION BY load_id)
    UNION ALL
    SELECT
        load_id, 'contexts_and_projector', line_id, ordinal, part, NULL, NULL, size_bytes,
        greatest(20972, bound_bytes), 'entered', NULL
    FROM vision_forecast
    WHERE load_id IN (SELECT load_id FROM keyed WHERE matched)
),
printed_table AS (
    SELECT
        load_id, algorithm, line_id, ordinal, part, kind, logged, size_bytes, coalesce(bound_bytes, 0) AS tolerance_bytes,
        CASE
            WHEN mark <> 'counted' THEN 'overwritten'
            WHEN algorithm = 'printed_table' AND logged = 'CPU' THEN 'host'
            ELSE 'entered'
        END AS status,
        NULL AS replaced_by
    FROM keyed
    CROSS JOIN (VALUES ('printed_table'), ('printed_table_with_host')) AS known (algorithm)
    WHERE program = 'ollama' AND pattern IN ('table_weights', 'table_cache', 'table_graph')
),
forecast AS (
    SELECT
        estimate.load_id, 'forecast' AS algorithm, estimate.line_id, estimate.ordinal, item.part, NULL AS kind,
        estimate.device AS logged, estimate.size_bytes, coalesce(item.bound_bytes, 0) AS tolerance_bytes,
        'entered' AS status, NULL AS replaced_by
    FROM memory_estimated AS estimate
    LEFT JOIN item USING (line_id)
    WHERE estimate.believed AND estimate.load_id IS NOT NULL AND estimate.what = 'required in full'
    QUALIFY row_number() OVER (PARTITION BY estimate.load_id ORDER BY estimate.ordinal DESC, item.part) = 1
),
sizes AS (
    SELECT
        load_id, line_id, ordinal, part, regexp_extract(value, '^([\d.]+) ([KMGT])iB', ['figure', 'unit']) AS size
    FROM setting_reported
    WHERE believed AND load_id IS NOT NULL AND name IN ('file size', 'model size')
        AND load_id NOT IN (SELECT load_id FROM keyed WHERE matched)
    QUALIFY row_number() OVER (PARTITION BY load_id ORDER BY ordinal) = 1
),
file_size AS (
    -- 32 MiB: the tokenizer and other metadata that the printed size, a sum of tensors, leaves out
    SELECT
        load_id, 'file_size' AS algorithm, line_id, ordinal, part, NULL AS kind, NULL AS logged,
        round(size.figure::DOUBLE * power(1024, strpos('KMGT', size.unit)))::BIGINT AS size_bytes,
        (power(1024, strpos('KMGT', size.unit)) / 200 + 33554432)::BIGINT AS tolerance_bytes,
        'entered' AS status, NULL AS replaced_by
    FROM sizes
    WHERE size.figure <> ''
)
SELECT * FROM last_wins
UNION ALL BY NAME
SELECT * FROM summed
UNION ALL BY NAME
SELECT * FROM printed_table
UNION ALL BY NAME
SELECT * FROM forecast
UNION ALL BY NAME
SELECT * FROM file_size
ORDER BY load_id, algorithm, ordinal, part, kind, size_bytes, tolerance_bytes, status
