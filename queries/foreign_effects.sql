-- A model's decode rate in one load against its load before, on prompts of one size, with what else ran beside each.
--
-- The share is a gauge of what other loads of the host did meanwhile, not of what it cost: only where the same cell was
-- measured again with another share does a rate say whether it cost anything. Sizes and medians are as in
-- speculation_effects; rates of requests that are no measurements are left out.
--
-- load_id       VARCHAR  The later load.
-- before_id     VARCHAR  The load of that model before it, of those that served this size.
-- identity      VARCHAR  Label for people.
-- tokens_from   BIGINT   Least tokens of the prompts.
-- before_share  DOUBLE   Median share of their time during which other loads ran requests, before.
-- share         DOUBLE   The same in the later load.
-- before_per_s  DOUBLE   Median rate before.
-- per_s         DOUBLE   Median rate.
-- change        DOUBLE   Rate over that before, less one.
-- requests      BIGINT   Requests of both.
-- lines         VARCHAR  Evidence: a line of each, separated by a blank.
WITH cells AS (
    SELECT
        load_id, power(2, floor(log2(prompt_length)))::BIGINT AS tokens_from, median(decode_per_s) AS per_s,
        median(foreign_share) AS share, count(*) AS requests, string_split(arg_min(lines, request), ' ')[1] AS line_id
    FROM validity_rows
    WHERE decode_why IS NULL AND prompt_length > 0 AND foreign_share IS NOT NULL
    GROUP BY load_id, tokens_from
),
paired AS (
    SELECT
        cells.*, load.number, load_identity.model, load_identity.identity, lag(cells.load_id) OVER earlier AS before_id,
        lag(cells.per_s) OVER earlier AS before_per_s, lag(cells.share) OVER earlier AS before_share,
        lag(cells.requests) OVER earlier AS before_requests, lag(cells.line_id) OVER earlier AS before_line
    FROM cells
    JOIN load USING (load_id)
    JOIN load_identity USING (load_id)
    WHERE load_identity.model IS NOT NULL
    WINDOW earlier AS (PARTITION BY load.engine, load_identity.model, cells.tokens_from ORDER BY load.number)
)
SELECT
    load_id, before_id, identity, tokens_from, before_share, share, before_per_s, per_s,
    per_s / nullif(before_per_s, 0) - 1 AS change,
    requests + before_requests AS requests,
    concat_ws(' ', before_line, line_id) AS lines
FROM paired
WHERE before_id IS NOT NULL
ORDER BY number, tokens_from
