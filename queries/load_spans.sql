-- stored
--
-- One row a phase of a load: from when to when.
--
-- A phase lasts until the next begins; the last one until the load ends, or until its last line or sample where no end
-- is logged.
-- Phases that last no time are left out, unless the load has no other. Loads without wall time have none.
--
-- load_id   VARCHAR  The load.
-- number    BIGINT   Its place in the case.
-- identity  VARCHAR  Label.
-- unit      VARCHAR  Unit; else its container, or what it is logged as.
-- pid       BIGINT   Host process id.
-- phase     VARCHAR  fit, allocate, serve, asleep or end.
-- from_us   BIGINT   Begin.
-- to_us     BIGINT   End.
WITH lasting AS (
    SELECT load_id, max(last_us) AS last_us
    FROM (
        SELECT load_id, time_us AS last_us FROM line WHERE load_id IS NOT NULL
        UNION ALL
        SELECT load_id, to_us FROM holder_levels WHERE load_id IS NOT NULL
    )
    GROUP BY load_id
),
spans AS (
    SELECT
        load.load_id, load.number, load.process_id, phase.phase, phase.at_us AS from_us,
        coalesce(
            lead(phase.at_us) OVER (PARTITION BY load.load_id ORDER BY phase.at_us, phase.number),
            greatest(phase.at_us, coalesce(load.ended_us, lasting.last_us))
        ) AS to_us,
        count(*) OVER (PARTITION BY load.load_id) AS phases
    FROM load
    JOIN phase USING (load_id)
    LEFT JOIN lasting USING (load_id)
    WHERE phase.at_us IS NOT NULL
)
SELECT
    spans.load_id, spans.number, load_identity.identity, process.unit, process.pid, spans.phase, spans.from_us,
    spans.to_us
FROM spans
JOIN load_identity USING (load_id)
JOIN process USING (process_id)
WHERE spans.to_us > spans.from_us OR spans.phases = 1
ORDER BY spans.number, spans.from_us
