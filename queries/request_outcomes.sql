-- stored
--
-- One request of a load, from the line that launched it to the line that ended it, or to the end of the load.
--
-- A task number begins anew in each load; a number that is launched twice is two requests. Requests of programs that print no
-- task number are not here.
--
-- load_id           VARCHAR  The load.
-- slot              BIGINT   Slot.
-- task              BIGINT   Task.
-- launched_ordinal  BIGINT   Place of the line that launched it.
-- launched_us       BIGINT   When, µs UTC.
-- prompt_tokens     BIGINT   Tokens of its prompt, if printed.
-- cached_tokens     BIGINT   Tokens of the prompt in the cache at the last line about it: how far it came.
-- ended_ordinal     BIGINT   Place of the line that ended it; none if no line did.
-- ended_us          BIGINT   When.
-- how               VARCHAR  released, cancelled, aborted or open.
-- launched_line     VARCHAR  Evidence.
WITH moved AS (
    -- A task's number may come again: what follows a launch is of that launch until the next.
    SELECT *, sum((what = 'launched')::INTEGER) OVER (PARTITION BY load_id, task ORDER BY ordinal) AS launch
    FROM request_moved
    WHERE believed AND load_id IS NOT NULL AND task IS NOT NULL AND task >= 0
)
SELECT
    load_id,
    any_value(slot) FILTER (what = 'launched') AS slot,
    task,
    min(ordinal) AS launched_ordinal,
    any_value(time_us) FILTER (what = 'launched') AS launched_us,
    max(tokens) FILTER (what IN ('received', 'prompt done')) AS prompt_tokens,
    arg_max(coalesce(cached, tokens), ordinal) FILTER (what IN ('cached', 'prompt progress', 'prompt done')) AS cached_tokens,
    min(ordinal) FILTER (what IN ('released', 'cancelled', 'aborted')) AS ended_ordinal,
    min(time_us) FILTER (what IN ('released', 'cancelled', 'aborted')) AS ended_us,
    coalesce(arg_min(what, ordinal) FILTER (what IN ('released', 'cancelled', 'aborted')), 'open') AS how,
    any_value(line_id) FILTER (what = 'launched') AS launched_line
FROM moved
WHERE launch > 0
GROUP BY load_id, task, launch
ORDER BY load_id, launched_ordinal
