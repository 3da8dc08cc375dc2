-- stored
--
-- One row a load: how many requests its lines show, and how they ended.
--
-- Each column counts lines of its own kind; a program that prints only some of them leaves the others at 0.
--
-- load_id    VARCHAR  The load.
-- number     BIGINT   Its place among the loads of the case.
-- launched   BIGINT   Requests that a line launches.
-- released   BIGINT   Requests that a line ends.
-- cancelled  BIGINT   Requests that were cancelled or aborted.
-- timed      BIGINT   Requests whose decode was timed.
-- served     BIGINT   Access lines that say that this load answered.
-- failed     BIGINT   Of those, with a status of 500 or above.
-- first_us   BIGINT   First of all these lines, µs UTC.
-- last_us    BIGINT   Last of them.
WITH moved AS (
    SELECT load_id, time_us, what FROM request_moved WHERE believed AND load_id IS NOT NULL
    UNION ALL
    SELECT load_id, time_us, 'timed' FROM request_timed WHERE believed AND load_id IS NOT NULL AND what = 'decode'
    UNION ALL
    SELECT load_id, time_us, CASE WHEN status >= 500 THEN 'failed' ELSE 'served' END
    FROM request_served WHERE believed AND load_id IS NOT NULL
)
SELECT
    moved.load_id,
    load.number,
    count(*) FILTER (moved.what = 'launched') AS launched,
    count(*) FILTER (moved.what = 'released') AS released,
    count(*) FILTER (moved.what IN ('cancelled', 'aborted')) AS cancelled,
    count(*) FILTER (moved.what = 'timed') AS timed,
    count(*) FILTER (moved.what IN ('served', 'failed')) AS served,
    count(*) FILTER (moved.what = 'failed') AS failed,
    min(moved.time_us) AS first_us,
    max(moved.time_us) AS last_us
FROM moved
JOIN load USING (load_id)
GROUP BY moved.load_id, load.number
ORDER BY load.number
