-- stored
--
-- A request that was in flight when its load failed.
--
-- load_id        VARCHAR  The load.
-- failure        BIGINT   Failure within the load.
-- slot           BIGINT   Slot.
-- task           BIGINT   Task.
-- prompt_tokens  BIGINT   Tokens of its prompt, if printed.
-- cached_tokens  BIGINT   Tokens of the prompt that were done.
-- elapsed_s      DOUBLE   Seconds since it was launched.
-- launched_line  VARCHAR  Evidence.
SELECT
    failures.load_id,
    failures.failure,
    request.slot,
    request.task,
    request.prompt_tokens,
    request.cached_tokens,
    (failures.at_us - request.launched_us) / 1e6 AS elapsed_s,
    request.launched_line
FROM failures
JOIN request_outcomes AS request
    ON request.load_id = failures.load_id AND request.launched_ordinal < failures.first_ordinal
    AND coalesce(request.ended_ordinal > failures.first_ordinal, true)
WHERE failures.outcome <> 'survived'
ORDER BY failures.number, failures.failure, request.launched_ordinal
