-- stored
--
-- One row a load that timed requests: tokens and seconds of prompt and decode, and the rates of the sums.
--
-- Sums of requests that ran beside each other: no rate of the machine, and no measurement of a single request; see
-- validity_rows.
--
-- load_id        VARCHAR  The load.
-- requests       BIGINT   Timing lines of decodes.
-- prompt_tokens  BIGINT   Tokens of prompts that were computed.
-- prompt_s       DOUBLE   Seconds for them.
-- prompt_per_s   DOUBLE   Rate of the sums.
-- decode_tokens  BIGINT   Tokens decoded.
-- decode_s       DOUBLE   Seconds for them.
-- decode_per_s   DOUBLE   Rate of the sums.
WITH sums AS (
    SELECT
        load_id,
        count(*) FILTER (what = 'decode') AS requests,
        sum(tokens) FILTER (what = 'prompt')::BIGINT AS prompt_tokens,
        sum(elapsed_s ORDER BY ordinal) FILTER (what = 'prompt') AS prompt_s,
        sum(tokens) FILTER (what = 'decode')::BIGINT AS decode_tokens,
        sum(elapsed_s ORDER BY ordinal) FILTER (what = 'decode') AS decode_s
    FROM request_timed
    WHERE believed AND load_id IS NOT NULL
    GROUP BY load_id
)
SELECT
    load_id, requests, prompt_tokens, prompt_s, prompt_tokens / nullif(prompt_s, 0) AS prompt_per_s,
    decode_tokens, decode_s, decode_tokens / nullif(decode_s, 0) AS decode_per_s
FROM sums
ORDER BY load_id
