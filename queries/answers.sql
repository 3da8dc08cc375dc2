-- stored
--
-- One row an answer that a client kept with its server's own counters, and the logged request that it answers.
--
-- An answer names no load. It is a request's if the load's own lines print the same tokens and times, to their
-- rounding (`counts and times`), or the same tokens within the request's own minute, under the name of its model
-- (`counts, model and time`); if several fit, it is nobody's. Counters outrank the log's text, and both are kept.
--
-- line_id          VARCHAR  Evidence: the answer.
-- source_id        VARCHAR  Source.
-- at_us            BIGINT   When, µs UTC, if it says so.
-- model            VARCHAR  Model that it names.
-- prompt_tokens    BIGINT   Tokens of the prompt that were computed.
-- prompt_s         DOUBLE   Time of the prompt.
-- prompt_per_s     DOUBLE   Rate of the prompt.
-- decode_tokens    BIGINT   Tokens decoded.
-- decode_s         DOUBLE   Time of decoding.
-- decode_per_s     DOUBLE   Rate of decoding.
-- cached_tokens    BIGINT   Tokens taken from a cache.
-- load_s           DOUBLE   Time that it waited for its model to load.
-- accepted         BIGINT   Drafted tokens accepted.
-- drafted          BIGINT   Tokens drafted.
-- content_chars    BIGINT   Characters of its text, reasoning not among them.
-- reasoning_chars  BIGINT   Characters of its reasoning.
-- asked_reasoning  BOOLEAN  Whether its request asked for reasoning, if that was kept.
-- limited          BOOLEAN  Whether it stopped on the limit of tokens.
-- load_id          VARCHAR  The load that answered it.
-- request          BIGINT   Key of the request, as in request_rates.
-- joined_by        VARCHAR  How its request is known.
WITH figures AS (
    SELECT
        line_id, source_id, min(at_us) AS at_us, max(regexp_extract(labels, '^model=(.*)$', 1)) AS model,
        max(value) FILTER (name = 'timings.prompt_n') AS prompt_n,
        max(value) FILTER (name = 'timings.prompt_ms') / 1e3 AS prompt_ms,
        max(value) FILTER (name = 'timings.prompt_per_second') AS prompt_rate,
        max(value) FILTER (name = 'timings.predicted_n') AS predicted_n,
        max(value) FILTER (name = 'timings.predicted_ms') / 1e3 AS predicted_ms,
        max(value) FILTER (name = 'timings.predicted_per_second') AS predicted_rate,
        max(value) FILTER (name IN ('timings.cache_n', 'usage.prompt_tokens_details.cached_tokens')) AS cached,
        max(value) FILTER (name = 'timings.draft_n') AS drafted,
        max(value) FILTER (name = 'timings.draft_n_accepted') AS accepted,
        max(value) FILTER (name = 'usage.prompt_tokens') AS usage_prompt,
        max(value) FILTER (name = 'usage.completion_tokens') AS usage_completion,
        max(value) FILTER (name = 'prompt_eval_count') AS prompt_eval_count,
        max(value) FILTER (name = 'prompt_eval_duration') / 1e9 AS prompt_eval_s,
        max(value) FILTER (name = 'eval_count') AS eval_count,
        max(value) FILTER (name = 'eval_duration') / 1e9 AS eval_s,
        max(value) FILTER (name = 'load_duration') / 1e9 AS load_s,
        max(value) FILTER (name = 'answer.content_chars') AS content_chars,
        max(value) FILTER (name = 'answer.reasoning_chars') AS reasoning_chars,
        max(value) FILTER (name = 'asked.reasoning') AS asked_reasoning,
        max(value) FILTER (name = 'answer.limited') AS limited
    FROM request_counter
    GROUP BY line_id, source_id
    HAVING bool_or(name LIKE 'timings.%' OR name LIKE 'usage.%' OR name IN ('eval_count', 'total_duration'))
),
answers AS (
    SELECT
        line_id, source_id, at_us, nullif(model, '') AS model,
        coalesce(prompt_n, prompt_eval_count, usage_prompt - coalesce(cached, 0))::BIGINT AS prompt_tokens,
        coalesce(prompt_ms, prompt_eval_s) AS prompt_s,
        coalesce(prompt_rate, prompt_eval_count / nullif(prompt_eval_s, 0), prompt_n / nullif(prompt_ms, 0)) AS prompt_per_s,
        coalesce(predicted_n, eval_count, usage_completion)::BIGINT AS decode_tokens,
        coalesce(predicted_ms, eval_s) AS decode_s,
        coalesce(predicted_rate, eval_count / nullif(eval_s, 0), predicted_n / nullif(predicted_ms, 0)) AS decode_per_s,
        cached::BIGINT AS cached_tokens, load_s, accepted::BIGINT AS accepted, drafted::BIGINT AS drafted,
        content_chars::BIGINT AS content_chars, reasoning_chars::BIGINT AS reasoning_chars,
        asked_reasoning > 0 AS asked_reasoning, limited > 0 AS limited
    FROM figures
),
fitting AS (
    SELECT
        answers.line_id, rates.load_id, rates.request,
        CASE
            -- lines print hundredths of a millisecond
            WHEN abs(answers.decode_s - rates.decode_s) <= 6e-6
                AND coalesce(abs(answers.prompt_s - rates.prompt_s) <= 6e-6, true) THEN 'counts and times'
            WHEN answers.at_us BETWEEN rates.begun_us - 2000000 AND rates.ended_us + 60000000
                AND answers.model IN (load.label, load.model, regexp_replace(load.model, '^.*/', ''),
                    regexp_replace(load.model, '^.*/|\.gguf$', '', 'g')) THEN 'counts, model and time'
        END AS joined_by
    FROM answers
    JOIN request_rates AS rates
        ON rates.decode_tokens = answers.decode_tokens
        AND coalesce(rates.prompt_tokens = answers.prompt_tokens, true)
    JOIN load USING (load_id)
),
best AS (
    SELECT *
    FROM fitting
    WHERE joined_by IS NOT NULL
    QUALIFY joined_by = 'counts and times' OR NOT (
        bool_or(joined_by = 'counts and times') OVER (PARTITION BY line_id)
        OR bool_or(joined_by = 'counts and times') OVER (PARTITION BY load_id, request)
    )
),
joined AS (
    SELECT line_id, load_id, request, joined_by
    FROM best
    QUALIFY count(*) OVER (PARTITION BY line_id) = 1 AND count(*) OVER (PARTITION BY load_id, request) = 1
)
SELECT
    answers.line_id, answers.source_id, answers.at_us, answers.model, answers.prompt_tokens, answers.prompt_s,
    answers.prompt_per_s, answers.decode_tokens, answers.decode_s, answers.decode_per_s, answers.cached_tokens,
    answers.load_s, answers.accepted, answers.drafted, answers.content_chars, answers.reasoning_chars,
    answers.asked_reasoning, answers.limited, joined.load_id, joined.request, joined.joined_by
FROM answers
LEFT JOIN joined USING (line_id)
ORDER BY at_us NULLS LAST, source_id, line_id
