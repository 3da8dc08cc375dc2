-- stored
--
-- One row a timed request: its throughput, and each reason why it is no measurement.
--
-- A decode rate is a measurement only beside an acceptance rate, or where the load provably does not speculate. It is
-- none if its window has no width, if it was cut below a quarter of the tokens asked for, if nearly all drafts were
-- accepted (the text repeats), or if a gate that invalidates fired. A prompt rate is none if a cache gave a part of the
-- prompt. Prompt and decode times are different events and never stand in for each other. Where a client kept the answer
-- with its server's own counters, these are taken, and the log's figures stand beside them.
--
-- load_id        VARCHAR  The load.
-- request        BIGINT   Key, as in request_rates.
-- task           BIGINT   Task.
-- begun_us       BIGINT   When it was launched, µs UTC.
-- ended_us       BIGINT   When its decode was timed, µs UTC.
-- prompt_length  BIGINT   Tokens of its prompt, cached ones included.
-- prompt_tokens  BIGINT   Tokens of the prompt that were computed.
-- cached_tokens  BIGINT   Tokens taken from a cache; empty if no line says.
-- prompt_per_s   DOUBLE   Rate of the prompt.
-- decode_tokens  BIGINT   Tokens decoded.
-- decode_per_s   DOUBLE   Rate of decoding.
-- wall_per_s     DOUBLE   Tokens decoded by all of its time, prompt and waiting included: not the rate of decoding.
-- limit_tokens   BIGINT   Tokens that it was allowed, if a line says so.
-- acceptance     DOUBLE   Accepted of drafted tokens.
-- log_prompt_per_s  DOUBLE  Rate of the prompt by the log, where an answer's counters are taken.
-- log_decode_per_s  DOUBLE  Rate of decoding by the log, where an answer's counters are taken.
-- divergence     DOUBLE   Largest difference of a rate in the log from the answer's, as a share of it.
-- answer         VARCHAR  The answer whose counters are taken.
-- reasoning      VARCHAR  treated, or not treated if reasoning was asked for and no character of it came; empty if none was asked for, or nothing says so.
-- plain          BOOLEAN  Whether this load provably does not speculate.
-- decode_why     VARCHAR  Why the decode rate is no measurement; empty if it is one. Reasons are separated by "; ".
-- prompt_why     VARCHAR  Why the prompt rate is no measurement; empty if it is one.
-- others         BIGINT   Other requests of this load beside it.
-- foreign_share  DOUBLE   Gauge: share of its time during which other loads of the host ran requests.
-- lines          VARCHAR  Evidence, separated by blanks.
WITH told AS (
    SELECT
        load_id,
        coalesce(speculation.configured = false, false) OR speculation.said_off OR speculation.refused
            OR (
                speculation.configured IS NULL AND coalesce(requests.telling, 0) = coalesce(requests.timed, 0)
                AND coalesce(requests.drafted, 0) = 0
            ) AS plain,
        speculation.synthetic
    FROM speculation
    LEFT JOIN draft_requests AS requests USING (load_id)
),
asked AS (
    SELECT
        rates.* REPLACE (
            coalesce(answers.prompt_per_s, rates.prompt_per_s) AS prompt_per_s,
            CASE WHEN answers.decode_tokens > 1 AND answers.decode_s > 0 THEN answers.decode_per_s ELSE rates.decode_per_s END
                AS decode_per_s,
            coalesce(answers.cached_tokens, rates.cached_tokens) AS cached_tokens,
            coalesce(answers.accepted / nullif(answers.drafted, 0), rates.acceptance) AS acceptance,
            concat_ws(' ', rates.lines, answers.line_id) AS lines
        ),
        TRY_CAST(regexp_extract(rates.stop, 'n_predict = (\d+)', 1) AS BIGINT) AS limit_tokens,
        CASE WHEN answers.line_id IS NOT NULL THEN rates.prompt_per_s END AS log_prompt_per_s,
        CASE WHEN answers.line_id IS NOT NULL THEN rates.decode_per_s END AS log_decode_per_s,
        greatest(
            abs(rates.prompt_per_s / nullif(answers.prompt_per_s, 0) - 1),
            abs(rates.decode_per_s / nullif(answers.decode_per_s, 0) - 1)
        ) AS divergence,
        answers.line_id AS answer,
        CASE WHEN answers.asked_reasoning
            THEN CASE answers.reasoning_chars WHEN 0 THEN 'not treated' ELSE 'treated' END END AS reasoning
    FROM request_rates AS rates
    LEFT JOIN answers USING (load_id, request)
),
fired AS (
    SELECT load_id, request, string_agg(gate || ' gate: ' || why, '; ' ORDER BY gate) AS why
    FROM validity_gates
    WHERE fired AND invalidates
    GROUP BY load_id, request
)
SELECT
    asked.load_id,
    asked.request,
    asked.task,
    asked.begun_us,
    asked.ended_us,
    coalesce(asked.prompt_length, asked.prompt_tokens + asked.cached_tokens) AS prompt_length,
    asked.prompt_tokens,
    asked.cached_tokens,
    asked.prompt_per_s,
    asked.decode_tokens,
    asked.decode_per_s,
    asked.decode_tokens / nullif((asked.ended_us - asked.begun_us) / 1e6, 0) AS wall_per_s,
    asked.limit_tokens,
    asked.acceptance,
    asked.log_prompt_per_s,
    asked.log_decode_per_s,
    asked.divergence,
    asked.answer,
    asked.reasoning,
    told.plain,
    nullif(
        concat_ws(
            '; ',
            CASE WHEN asked.acceptance IS NULL AND NOT told.plain THEN 'no acceptance rate' END,
            CASE WHEN told.synthetic THEN 'its acceptance is made up by a benchmarking switch' END,
            CASE WHEN asked.acceptance >= 0.95
                THEN format('{:.0f} % of drafts accepted: text that repeats', 100 * asked.acceptance) END,
            CASE WHEN asked.decode_per_s IS NULL THEN 'a window of no width has no rate' END,
            CASE WHEN asked.decode_tokens < asked.limit_tokens / 4
                THEN format('only {} of {} tokens', asked.decode_tokens, asked.limit_tokens) END,
            fired.why
        ), ''
    ) AS decode_why,
    nullif(
        concat_ws(
            '; ',
            CASE WHEN asked.prompt_per_s IS NULL THEN 'no prompt time' END,
            CASE WHEN asked.cached_tokens > 0
                THEN format('{} tokens came from a cache', asked.cached_tokens) END,
            fired.why
        ), ''
    ) AS prompt_why,
    asked.others,
    asked.foreign_share,
    asked.lines
FROM asked
JOIN told USING (load_id)
LEFT JOIN fired USING (load_id, request)
ORDER BY request
