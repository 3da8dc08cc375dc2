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
    company.foreign_share,
    requests.lines
FROM request_spans AS requests
LEFT JOIN request_company AS company USING (load_id, request)
ORDER BY request
