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
    SELECT * FROM request_moved WHERE believed AND load_id IS NOT NULL AND task IS NOT NULL AND task >= 0
),
launches AS (
    SELECT
        load_id, slot, task, ordinal, time_us, line_id,
        coalesce(lead(ordinal) OVER (PARTITION BY load_id, task ORDER BY ordinal), 9223372036854775807) AS before_ordinal
    FROM moved
    WHERE what = 'launched'
)
SELECT
    launches.load_id,
    launches.slot,
    launches.task,
    launches.ordinal AS launched_ordinal,
    any_value(launches.time_us) AS launched_us,
    max(moved.tokens) FILTER (moved.what IN ('received', 'prompt done')) AS prompt_tokens,
    arg_max(coalesce(moved.cached, moved.tokens), moved.ordinal)
        FILTER (moved.what IN ('cached', 'prompt progress', 'prompt done')) AS cached_tokens,
    min(moved.ordinal) FILTER (moved.what IN ('released', 'cancelled', 'aborted')) AS ended_ordinal,
    min(moved.time_us) FILTER (moved.what IN ('released', 'cancelled', 'aborted')) AS ended_us,
    coalesce(arg_min(moved.what, moved.ordinal) FILTER (moved.what IN ('released', 'cancelled', 'aborted')), 'open') AS how,
    any_value(launches.line_id) AS launched_line
FROM launches
JOIN moved
    ON moved.load_id = launches.load_id AND moved.task = launches.task
    AND moved.ordinal >= launches.ordinal AND moved.ordinal < launches.before_ordinal
GROUP BY launches.load_id, launches.slot, launches.task, launches.ordinal
ORDER BY launches.load_id, launches.ordinal
