-- stored
--
-- A model's decode rate in one load against its load before, on prompts of one size: who got faster, and who drafts.
--
-- A size is a power of two up to the next; rates are medians of the requests of that size, of which there may be one. A
-- pair whose loads both drafted, or neither, tells of something else that changed. What got faster exactly where loads
-- draft goes with drafting; that is no proof of a cause.
--
-- load_id        VARCHAR  The later load.
-- before_id      VARCHAR  The load of that model before it, of those that served this size.
-- model          VARCHAR  What models are compared by.
-- identity       VARCHAR  Label for people.
-- tokens_from    BIGINT   Least tokens of the prompts.
-- drafts         BOOLEAN  Whether the later load drafted; empty if its lines do not tell.
-- before_drafts  BOOLEAN  Whether the load before did.
-- before_per_s   DOUBLE   Median rate before.
-- per_s          DOUBLE   Median rate.
-- change         DOUBLE   Rate over that before, less one.
-- requests       BIGINT   Requests of both.
-- lines          VARCHAR  Evidence: a line of each, separated by a blank.
WITH cells AS (
    SELECT
        rates.load_id, power(2, floor(log2(coalesce(rates.prompt_length, rates.prompt_tokens + coalesce(rates.cached_tokens, 0)))))::BIGINT
            AS tokens_from,
        median(rates.decode_per_s) AS per_s, count(*) AS requests,
        string_split(arg_min(rates.lines, rates.request), ' ')[1] AS line_id
    FROM request_rates AS rates
    WHERE rates.decode_per_s IS NOT NULL AND coalesce(rates.prompt_length, rates.prompt_tokens) > 0
    GROUP BY rates.load_id, tokens_from
),
told AS (
    SELECT
        cells.*, load.number, load.engine, load_identity.model, load_identity.identity,
        CASE
            WHEN coalesce(totals.drafted, totals.total_drafted) > 0 THEN true
            WHEN speculation.said_off OR speculation.refused OR NOT speculation.configured THEN false
            WHEN requests.telling > 0 AND requests.drafted = 0 THEN false
        END AS drafts
    FROM cells
    JOIN load USING (load_id)
    JOIN load_identity USING (load_id)
    LEFT JOIN speculation USING (load_id)
    LEFT JOIN draft_totals AS totals USING (load_id)
    LEFT JOIN draft_requests AS requests USING (load_id)
),
paired AS (
    SELECT
        *, lag(load_id) OVER earlier AS before_id, lag(per_s) OVER earlier AS before_per_s,
        lag(drafts) OVER earlier AS before_drafts, lag(requests) OVER earlier AS before_requests,
        lag(line_id) OVER earlier AS before_line
    FROM told
    WHERE model IS NOT NULL
    WINDOW earlier AS (PARTITION BY engine, model, tokens_from ORDER BY number)
)
SELECT
    load_id, before_id, model, identity, tokens_from, drafts, before_drafts, before_per_s, per_s,
    per_s / nullif(before_per_s, 0) - 1 AS change,
    requests + before_requests AS requests,
    concat_ws(' ', before_line, line_id) AS lines
FROM paired
WHERE before_id IS NOT NULL
ORDER BY number, tokens_from
