-- stored
--
-- One row a request that began and was not measured: cancelled, or cut off with its load. An exception is no gate.
--
-- load_id  VARCHAR  The load.
-- task     BIGINT   Task.
-- ordinal  BIGINT   Place of its first line.
-- at_us    BIGINT   When it began, µs UTC.
-- what     VARCHAR  cancelled or unfinished.
-- why      VARCHAR  In words: how its load ended, and the failure that the log names.
-- lines    VARCHAR  Evidence, separated by blanks.
WITH moved AS (
    SELECT
        load_id, task, min(ordinal) AS ordinal, min(time_us) AS at_us, bool_or(what = 'cancelled') AS cancelled,
        bool_or(what IN ('released', 'answered')) AS released, arg_min(line_id, ordinal) AS line_id,
        arg_max(line_id, ordinal) AS last_line
    FROM request_moved
    WHERE believed AND load_id IS NOT NULL AND task >= 0
        AND what IN ('launched', 'received', 'released', 'cancelled', 'answered')
    GROUP BY load_id, task
),
failures AS (
    SELECT load_id, arg_min(message, ordinal) AS message, arg_min(line_id, ordinal) AS line_id
    FROM failure_reported
    WHERE believed AND load_id IS NOT NULL AND rank = 'root' AND failure NOT IN ('warning', 'preemption')
    GROUP BY load_id
)
SELECT
    moved.load_id,
    moved.task,
    moved.ordinal,
    moved.at_us,
    CASE WHEN moved.cancelled THEN 'cancelled' ELSE 'unfinished' END AS what,
    CASE
        WHEN moved.cancelled THEN 'the client went away, or stopped it'
        WHEN failures.message IS NOT NULL THEN 'its load ' || coalesce(load.end_reason, 'ended') || ': ' || failures.message
        ELSE 'its load ' || coalesce(load.end_reason, 'ended') || ' before it was answered'
    END AS why,
    concat_ws(' ', moved.line_id, nullif(moved.last_line, moved.line_id), failures.line_id) AS lines
FROM moved
JOIN load USING (load_id)
LEFT JOIN failures USING (load_id)
LEFT JOIN (SELECT DISTINCT load_id, task FROM request_rates) AS timed
    ON timed.load_id = moved.load_id AND timed.task = moved.task
WHERE timed.task IS NULL AND (moved.cancelled OR NOT moved.released)
ORDER BY ordinal
