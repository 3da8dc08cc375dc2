-- stored
--
-- One row a version of a program in a unit: from when to when its processes are seen.
--
-- program    VARCHAR  Program.
-- host       VARCHAR  Host.
-- unit       VARCHAR  Unit, container or what it is logged as; none for a log without.
-- version    VARCHAR  Version as reported; none if a process did not say it.
-- first_us   BIGINT   Begin of its first process, µs UTC.
-- last_us    BIGINT   Begin of its last process.
-- processes  BIGINT   Processes of that version.
-- loads      BIGINT   Loads that they had.
SELECT
    process.program, process.host, process.unit, process.version,
    min(process.begun_us) AS first_us,
    max(process.begun_us) AS last_us,
    count(DISTINCT process.process_id) AS processes,
    count(load.load_id) AS loads
FROM process
LEFT JOIN load USING (process_id)
GROUP BY process.program, process.host, process.unit, process.version
ORDER BY first_us NULLS LAST, process.program, process.unit, process.version, process.host
