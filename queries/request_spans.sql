-- stored
--
-- One row a timed request of a load with what its own lines say of it: `request_rates` adds its rates and its company.
--
-- load_id         VARCHAR  The load.
-- request         BIGINT   Key: place of its first timing line among all matched lines.
-- slot            BIGINT   Slot.
-- task            BIGINT   Task.
-- first           BIGINT   Place of its first line.
-- last            BIGINT   Place of its last line.
-- begun_us        BIGINT   When it was launched, µs UTC.
-- ended_us        BIGINT   When its decode was timed, µs UTC.
-- prompt_length   BIGINT   Tokens of its prompt, cached ones included, if a line says so.
-- prompt_tokens   BIGINT   Tokens of the prompt that were computed.
-- prompt_s        DOUBLE   Time of the prompt.
-- prompt_printed  DOUBLE   Rate of the prompt as it was printed.
-- decode_tokens   BIGINT   Tokens decoded.
-- decode_s        DOUBLE   Time of decoding.
-- decode_printed  DOUBLE   Rate of decoding as it was printed.
-- cached_tokens   BIGINT   Tokens taken from a cache, if a line says so.
-- accepted        BIGINT   Drafted tokens accepted.
-- drafted         BIGINT   Tokens drafted.
-- stop            VARCHAR  Why it stopped, if a line says so.
-- lines           VARCHAR  Evidence: timing lines and the acceptance line, separated by blanks.
WITH timed AS (
    SELECT
        *, coalesce(
            task, -sum(CASE WHEN what = 'prompt' THEN 1 ELSE 0 END) OVER (PARTITION BY load_id ORDER BY ordinal) - 1
        ) AS run
    FROM request_timed
    WHERE believed AND load_id IS NOT NULL
),
grouped AS (
    SELECT
        load_id, coalesce(slot, -1) AS slot_key, run, min(slot) AS slot, min(task) AS task,
        min(ordinal) AS request, max(ordinal) AS timed_last, arg_max(time_us, ordinal) AS ended_us,
        arg_min(tokens, ordinal) FILTER (what = 'prompt') AS prompt_tokens,
        arg_min(elapsed_s, ordinal) FILTER (what = 'prompt') AS prompt_s,
        arg_min(per_s, ordinal) FILTER (what = 'prompt') AS prompt_printed,
        arg_min(tokens, ordinal) FILTER (what = 'decode') AS decode_tokens,
        arg_min(elapsed_s, ordinal) FILTER (what = 'decode') AS decode_s,
        arg_min(per_s, ordinal) FILTER (what = 'decode') AS decode_printed,
        string_agg(line_id, ' ' ORDER BY ordinal) AS lines
    FROM timed
    GROUP BY load_id, slot_key, run
    HAVING count(*) FILTER (what = 'decode') > 0
),
moved AS (
    SELECT
        load_id, task, min(ordinal) AS first, max(ordinal) AS last,
        min(time_us) FILTER (what IN ('launched', 'received')) AS begun_us,
        arg_min(tokens, ordinal) FILTER (what = 'received') AS prompt_length,
        arg_min(coalesce(cached, tokens), ordinal) FILTER (what = 'cached') AS cached_tokens
    FROM request_moved
    WHERE believed AND load_id IS NOT NULL AND task >= 0
    GROUP BY load_id, task
),
stops AS (
    SELECT
        marker_seen.load_id, TRY_CAST(regexp_extract(line.text, 'task +(\d+)', 1) AS BIGINT) AS task,
        arg_min(marker_seen.detail, marker_seen.ordinal) AS stop
    FROM marker_seen
    JOIN line USING (line_id)
    WHERE marker_seen.believed AND marker_seen.load_id IS NOT NULL AND marker_seen.what = 'stopped'
    GROUP BY ALL
),
drafts AS (
    SELECT load_id, coalesce(task, -1) AS task, ordinal, accepted, drafted, line_id
    FROM draft_samples
    WHERE covers = 'request'
)
SELECT
    grouped.load_id,
    grouped.request,
    grouped.slot,
    grouped.task,
    least(grouped.request, coalesce(moved.first, grouped.request)) AS first,
    greatest(grouped.timed_last, coalesce(moved.last, grouped.timed_last)) AS last,
    moved.begun_us,
    grouped.ended_us,
    moved.prompt_length,
    grouped.prompt_tokens,
    grouped.prompt_s,
    grouped.prompt_printed,
    grouped.decode_tokens,
    grouped.decode_s,
    grouped.decode_printed,
    moved.cached_tokens,
    CASE WHEN drafts.ordinal <= grouped.timed_last + 8 THEN drafts.accepted END AS accepted,
    CASE WHEN drafts.ordinal <= grouped.timed_last + 8 THEN drafts.drafted END AS drafted,
    stops.stop,
    concat_ws(' ', grouped.lines, CASE WHEN drafts.ordinal <= grouped.timed_last + 8 THEN drafts.line_id END) AS lines
FROM grouped
LEFT JOIN moved USING (load_id, task)
LEFT JOIN stops USING (load_id, task)
ASOF LEFT JOIN drafts
    ON drafts.load_id = grouped.load_id AND drafts.task = coalesce(grouped.task, -1) AND drafts.ordinal >= grouped.request
ORDER BY request
