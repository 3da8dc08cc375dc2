-- stored
--
-- One row a life of a program: when it lived, what it had, and how its telemetry is known.
--
-- process_id  VARCHAR  Identity.
-- program     VARCHAR  Program.
-- version     VARCHAR  Version it reported.
-- host        VARCHAR  Host.
-- unit        VARCHAR  Unit; else its container, or what it is logged as.
-- pid         BIGINT   Process id, if trusted or joined.
-- label       VARCHAR  Name, port or tag its supervisor knows it by.
-- begun_us    BIGINT   First line.
-- ended_us    BIGINT   End, if seen.
-- lived_s     DOUBLE   Seconds in between.
-- loads       BIGINT   Loads that it had.
-- lines       BIGINT   Lines that it wrote.
-- joined_by   VARCHAR  How it is known which holder of the samples it is; none if it is not.
-- join_scope  VARCHAR  exact or inferred.
WITH held AS (
    SELECT process_id, count(*) AS loads FROM load GROUP BY process_id
),
written AS (
    SELECT process_id, count(*) AS lines FROM line WHERE process_id IS NOT NULL GROUP BY process_id
)
SELECT
    process.process_id, process.program, process.version, process.host, process.unit, process.pid, process.label,
    process.begun_us, process.ended_us, (process.ended_us - process.begun_us) / 1e6 AS lived_s,
    coalesce(held.loads, 0) AS loads, coalesce(written.lines, 0) AS lines, process.joined_by, process.join_scope
FROM process
LEFT JOIN held USING (process_id)
LEFT JOIN written USING (process_id)
ORDER BY process.begun_us NULLS LAST, process.process_id
