-- stored
--
-- One row a timed request of a load: prompt and decode apart, with its drafts, its cached tokens and its company.
--
-- A decode time is never a prompt time: the two are different events. The rate is the printed one where there is one,
-- since newer builds leave the first token out of it; a window of no width has no rate. `alone` and `others` need
-- lines that say when requests begin and end. Foreign time is a gauge of what else ran, not of what it cost.
--
-- load_id            VARCHAR  The load.
-- request            BIGINT   Key: place of its first timing line among all matched lines.
-- slot               BIGINT   Slot.
-- task               BIGINT   Task.
-- first              BIGINT   Place of its first line.
-- last               BIGINT   Place of its last line.
-- begun_us           BIGINT   When it was launched, µs UTC.
-- ended_us           BIGINT   When its decode was timed, µs UTC.
-- prompt_length      BIGINT   Tokens of its prompt, cached ones included, if a line says so.
-- prompt_tokens      BIGINT   Tokens of the prompt that were computed.
-- prompt_s           DOUBLE   Time of the prompt.
-- prompt_per_s       DOUBLE   Rate of the prompt.
-- decode_tokens      BIGINT   Tokens decoded.
-- decode_s           DOUBLE   Time of decoding.
-- decode_per_s       DOUBLE   Rate of decoding.
-- rate_basis         VARCHAR  logged (as printed) or derived.
-- cached_tokens      BIGINT   Tokens taken from a cache, if a line says so.
-- accepted           BIGINT   Drafted tokens accepted.
-- drafted            BIGINT   Tokens drafted.
-- acceptance         DOUBLE   accepted / drafted.
-- stop               VARCHAR  Why it stopped, if a line says so.
-- others             BIGINT   Other requests of this load that ran at some time beside it.
-- foreign_share      DOUBLE   Share of its time during which another load of this host ran a request; may exceed 1.
-- lines              VARCHAR  Evidence: timing lines and the acceptance line, separated by blanks.
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
        load_id, coalesce(slot, -1) AS slot_key, run, any_value(slot) AS slot, any_value(task) AS task,
        min(ordinal) AS request, max(ordinal) AS timed_last, arg_max(time_us, ordinal) AS ended_us,
        any_value(tokens) FILTER (what = 'prompt') AS prompt_tokens,
        any_value(elapsed_s) FILTER (what = 'prompt') AS prompt_s,
        any_value(per_s) FILTER (what = 'prompt') AS prompt_printed,
        any_value(tokens) FILTER (what = 'decode') AS decode_tokens,
        any_value(elapsed_s) FILTER (what = 'decode') AS decode_s,
        any_value(per_s) FILTER (what = 'decode') AS decode_printed,
        string_agg(line_id, ' ' ORDER BY ordinal) AS lines
    FROM timed
    GROUP BY load_id, slot_key, run
    HAVING count(*) FILTER (what = 'decode') > 0
),
moved AS (
    SELECT
        load_id, task, min(ordinal) AS first, max(ordinal) AS last,
        min(time_us) FILTER (what IN ('launched', 'received')) AS begun_us,
        max(time_us) FILTER (what = 'released') AS released_us,
        arg_min(tokens, ordinal) FILTER (what = 'received') AS prompt_length,
        arg_min(coalesce(cached, tokens), ordinal) FILTER (what = 'cached') AS cached_tokens
    FROM request_moved
    WHERE believed AND load_id IS NOT NULL AND task >= 0
    GROUP BY load_id, task
),
stops AS (
    SELECT
        marker_seen.load_id, TRY_CAST(regexp_extract(line.text, 'task +(\d+)', 1) AS BIGINT) AS task,
        any_value(marker_seen.detail) AS stop
    FROM marker_seen
    JOIN line USING (line_id)
    WHERE marker_seen.believed AND marker_seen.load_id IS NOT NULL AND marker_seen.what = 'stopped'
    GROUP BY ALL
),
drafts AS (
    SELECT load_id, task, ordinal, accepted, drafted, line_id FROM draft_samples WHERE covers = 'request'
),
requests AS MATERIALIZED (
    SELECT
        grouped.*, least(grouped.request, coalesce(moved.first, grouped.request)) AS first,
        greatest(grouped.timed_last, coalesce(moved.last, grouped.timed_last)) AS last, moved.begun_us,
        moved.prompt_length, moved.cached_tokens, stops.stop, drafts.accepted, drafts.drafted,
        drafts.line_id AS draft_line
    FROM grouped
    LEFT JOIN moved USING (load_id, task)
    LEFT JOIN stops USING (load_id, task)
    LEFT JOIN drafts ON drafts.load_id = grouped.load_id
        AND drafts.task IS NOT DISTINCT FROM grouped.task
        AND drafts.ordinal BETWEEN grouped.request AND grouped.timed_last + 8
    QUALIFY row_number() OVER (PARTITION BY grouped.load_id, grouped.request ORDER BY drafts.ordinal) = 1
),
-- What is beside a request begins before its end and ends after its begin: of all that begin before its end, those that
-- end before its begin are not. So they are counted, and no request is held against each other.
begins AS (
    SELECT load_id, first, row_number() OVER (PARTITION BY load_id ORDER BY first) AS begun FROM moved
),
ends AS (
    SELECT load_id, last, row_number() OVER (PARTITION BY load_id ORDER BY last) AS ended FROM moved
),
company AS (
    SELECT
        mine.load_id, mine.request,
        begins.begun - coalesce(ends.ended, 0)
            - (own.task IS NOT NULL AND own.first < mine.last AND mine.first < own.last)::INTEGER AS others
    FROM requests AS mine
    ASOF JOIN begins ON begins.load_id = mine.load_id AND begins.first < mine.last
    ASOF LEFT JOIN ends ON ends.load_id = mine.load_id AND ends.last <= mine.first
    LEFT JOIN moved AS own ON own.load_id = mine.load_id AND own.task = mine.task
    WHERE mine.task IS NOT NULL
),
-- How long all requests of a host, and those of each load, had been under way in sum until a moment: what others were
-- under way beside a request is the difference of these sums between its begin and its end.
steps AS (
    SELECT 'host ' || coalesce(process.host, '') AS host, moved.load_id, unnest([moved.begun_us, released_us]) AS moment, unnest([1, -1]) AS step
    FROM moved
    JOIN load USING (load_id)
    JOIN process USING (process_id)
    WHERE moved.begun_us < moved.released_us
),
sums AS MATERIALIZED (
    SELECT whose, moment, sum(sum(step)) OVER told AS under_way, sum(sum(step * moment::HUGEINT)) OVER told AS begun_sum
    FROM (SELECT host AS whose, moment, step FROM steps UNION ALL SELECT load_id, moment, step FROM steps)
    GROUP BY whose, moment
    WINDOW told AS (PARTITION BY whose ORDER BY moment)
),
hosted AS (
    SELECT requests.load_id, requests.request, requests.begun_us, requests.ended_us, 'host ' || coalesce(process.host, '') AS host
    FROM requests
    JOIN load USING (load_id)
    JOIN process USING (process_id)
    WHERE requests.begun_us < requests.ended_us
),
foreigners AS (
    SELECT
        mine.load_id, mine.request,
        (
            coalesce(all_then.under_way * mine.ended_us - all_then.begun_sum, 0)
                - coalesce(all_first.under_way * mine.begun_us - all_first.begun_sum, 0)
                - coalesce(own_then.under_way * mine.ended_us - own_then.begun_sum, 0)
                + coalesce(own_first.under_way * mine.begun_us - own_first.begun_sum, 0)
        ) / (mine.ended_us - mine.begun_us) AS foreign_share
    FROM hosted AS mine
    ASOF LEFT JOIN sums AS all_then ON all_then.whose = mine.host AND all_then.moment <= mine.ended_us
    ASOF LEFT JOIN sums AS all_first ON all_first.whose = mine.host AND all_first.moment <= mine.begun_us
    ASOF LEFT JOIN sums AS own_then ON own_then.whose = mine.load_id AND own_then.moment <= mine.ended_us
    ASOF LEFT JOIN sums AS own_first ON own_first.whose = mine.load_id AND own_first.moment <= mine.begun_us
)
SELECT
    requests.load_id,
    requests.request,
    requests.slot,
    requests.task,
    requests.first,
    requests.last,
    requests.begun_us,
    requests.ended_us,
    requests.prompt_length,
    requests.prompt_tokens,
    requests.prompt_s,
    CASE WHEN prompt_s > 0 THEN coalesce(prompt_printed, prompt_tokens / prompt_s) END AS prompt_per_s,
    requests.decode_tokens,
    requests.decode_s,
    CASE WHEN decode_s > 0 AND decode_tokens > 1 THEN coalesce(decode_printed, decode_tokens / decode_s) END AS decode_per_s,
    CASE WHEN decode_printed IS NULL THEN 'derived' ELSE 'logged' END AS rate_basis,
    requests.cached_tokens,
    requests.accepted,
    requests.drafted,
    requests.accepted / nullif(requests.drafted, 0) AS acceptance,
    requests.stop,
    coalesce(company.others, 0) AS others,
    CASE WHEN requests.begun_us IS NOT NULL AND requests.ended_us IS NOT NULL
        THEN coalesce(foreigners.foreign_share, 0) END AS foreign_share,
    concat_ws(' ', requests.lines, requests.draft_line) AS lines
FROM requests
LEFT JOIN company USING (load_id, request)
LEFT JOIN foreigners USING (load_id, request)
ORDER BY requests.request
