-- stored
--
-- One row a request that drafted and whose decoding was timed: tokens a pass of the target, and passes a second.
--
-- A pass verifies one draft and gives its accepted tokens and one of its own (the bonus token): tokens a pass are
-- 1 + accepted / drafts. The rate by these is passes a second, which says how fast the target runs whatever is accepted.
--
-- load_id          VARCHAR  The load.
-- request          BIGINT   Key, as in request_rates.
-- task             BIGINT   Task.
-- prompt_tokens    BIGINT   Tokens of its prompt, cached ones included where a line says so.
-- accepted         BIGINT   Drafted tokens accepted.
-- drafted          BIGINT   Tokens drafted.
-- drafts           BIGINT   Passes with a draft.
-- decode_per_s     DOUBLE   Rate of decoding.
-- tokens_per_pass  DOUBLE   1 + accepted / drafts.
-- passes_per_s     DOUBLE   Rate by tokens a pass.
-- lines            VARCHAR  Evidence, separated by blanks.
WITH told AS (
    -- One of a request's lines is that of its drafts.
    SELECT load_id, request, unnest(string_split(lines, ' ')) AS line_id FROM request_rates WHERE decode_per_s > 0
),
drafted AS MATERIALIZED (
    -- By itself: else all samples of a load may be paired with all its requests, and each pair holds a request's lines.
    SELECT told.load_id, told.request, samples.accepted, samples.drafted, samples.drafts
    FROM told
    JOIN draft_samples AS samples ON samples.load_id = told.load_id AND samples.line_id = told.line_id
    WHERE samples.covers = 'request' AND samples.drafts > 0
)
SELECT
    rates.load_id,
    rates.request,
    rates.task,
    coalesce(rates.prompt_length, rates.prompt_tokens + coalesce(rates.cached_tokens, 0)) AS prompt_tokens,
    drafted.accepted,
    drafted.drafted,
    drafted.drafts,
    rates.decode_per_s,
    1 + drafted.accepted / drafted.drafts AS tokens_per_pass,
    rates.decode_per_s / (1 + drafted.accepted / drafted.drafts) AS passes_per_s,
    rates.lines
FROM drafted
JOIN request_rates AS rates ON rates.load_id = drafted.load_id AND rates.request = drafted.request
ORDER BY rates.request
