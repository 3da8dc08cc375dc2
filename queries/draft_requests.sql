-- stored
--
-- One row a load that timed requests: how many of them drafted, and whether silence about drafts means none.
--
-- Some wordings print an acceptance line for every request with drafts, whatever the verbosity that shows its timings: then
-- a timed request without one made none. Engine statistics are windows: `windows` counts those in which tokens were
-- generated, and none if several API servers share the engine, since then no line of drafts is printed.
--
-- load_id   VARCHAR  The load.
-- timed     BIGINT   Requests with a decode time.
-- telling   BIGINT   Of those, timed in a wording that would have printed an acceptance.
-- drafted   BIGINT   Of those timed, with drafts.
-- median    DOUBLE   Median decode rate, tokens per second.
-- spread    DOUBLE   Coefficient of variation of the decode rates; empty for fewer than three.
-- windows   BIGINT   Statistics lines with tokens generated.
-- lines     VARCHAR  Evidence: the first timing lines without drafts.
WITH requests AS (
    SELECT
        rates.load_id, rates.request, rates.decode_per_s, rates.drafted,
        -- llama.cpp prints acceptance with the timings since b4984; b9230 gave both lines their slot and task
        line.pattern IN ('timed_prompt', 'timed_decode')
            OR (line.pattern LIKE 'timed_%_old' AND TRY_CAST(process.version AS BIGINT) >= 4984) AS telling,
        line.line_id
    FROM request_rates AS rates
    JOIN line ON line.ordinal = rates.request
    LEFT JOIN load ON load.load_id = rates.load_id
    LEFT JOIN process ON process.process_id = load.process_id
),
counts AS (
    SELECT
        load_id, count(*) AS timed, count(*) FILTER (telling) AS telling, count(*) FILTER (drafted > 0) AS drafted,
        median(decode_per_s) AS median,
        CASE
            WHEN count(decode_per_s) >= 3
                THEN stddev_samp(decode_per_s ORDER BY request) / nullif(avg(decode_per_s ORDER BY request), 0)
        END AS spread,
        array_to_string(list_slice(list(line_id ORDER BY request) FILTER (drafted IS NULL), 1, 4), ' ') AS lines
    FROM requests
    GROUP BY load_id
),
statistics AS (
    SELECT load_id, count(*) AS windows
    FROM engine_measured
    WHERE believed AND load_id IS NOT NULL AND generated_tokens_per_s > 0
        AND load_id NOT IN (
            SELECT load_id FROM arguments_of_load
            WHERE regexp_matches(text, 'api_server_count[''"]?(?:: |=)(?:[2-9]|\d\d)')
        )
    GROUP BY load_id
)
SELECT
    load_id,
    coalesce(counts.timed, 0) AS timed,
    coalesce(counts.telling, 0) AS telling,
    coalesce(counts.drafted, 0) AS drafted,
    counts.median,
    counts.spread,
    coalesce(statistics.windows, 0) AS windows,
    nullif(counts.lines, '') AS lines
FROM counts
FULL JOIN statistics USING (load_id)
ORDER BY load_id
