-- stored
--
-- One row a process that began after another of the same program and unit had been there: how long none was.
--
-- Only what the collector names is here (a unit, a container): in a bare file nothing tells two services apart. Children of a supervisor, which have a label, are
-- not.
--
-- process_id       VARCHAR  Process that began.
-- before_id        VARCHAR  Process of that unit before it.
-- program          VARCHAR  Program.
-- host             VARCHAR  Host.
-- unit             VARCHAR  Unit.
-- begun_us         BIGINT   Begin, µs UTC.
-- before_ended_us  BIGINT   End of the one before, if seen.
-- down_s           DOUBLE   Seconds without either; empty if the end was not seen.
-- end_reason       VARCHAR  How the last load of the one before ended.
-- same_boot        BOOLEAN  Whether the host had not booted in between.
WITH lives AS (
    SELECT
        process.*,
        lag(process.process_id) OVER again AS before_id,
        lag(process.ended_us) OVER again AS before_ended_us,
        lag(process.boot) OVER again AS before_boot
    FROM process
    WHERE process.unit IS NOT NULL AND process.begun_us IS NOT NULL AND process.label IS NULL
    WINDOW again AS (
        PARTITION BY process.program, process.host, process.unit ORDER BY process.begun_us, process.process_id
    )
),
ends AS (
    SELECT process_id, arg_max(end_reason, number) AS end_reason FROM load GROUP BY process_id
)
SELECT
    lives.process_id, lives.before_id, lives.program, lives.host, lives.unit, lives.begun_us, lives.before_ended_us,
    (lives.begun_us - lives.before_ended_us) / 1e6 AS down_s, ends.end_reason,
    lives.boot IS NOT DISTINCT FROM lives.before_boot AS same_boot
FROM lives
LEFT JOIN ends ON ends.process_id = lives.before_id
WHERE lives.before_id IS NOT NULL
ORDER BY lives.begun_us, lives.process_id
