-- stored
--
-- One row a phase of a load: when it began, and how long it lasted.
--
-- load_id   VARCHAR  The load.
-- number    BIGINT   Its place among the loads of the case.
-- phase     VARCHAR  fit, allocate, serve, asleep or end.
-- at_us     BIGINT   Begin, µs UTC.
-- until_us  BIGINT   Begin of the next phase, or end of the load; empty if neither is known.
-- lasted_s  DOUBLE   Seconds in between.
-- line_id   VARCHAR  Line that began it.
WITH spans AS (
    SELECT
        phase.load_id, load.number, phase.phase, phase.at_us, phase.line_id, line.ordinal, phase.number AS place,
        coalesce(
            lead(phase.at_us) OVER (PARTITION BY phase.load_id ORDER BY line.ordinal, phase.number), load.ended_us
        ) AS until_us
    FROM phase
    JOIN load USING (load_id)
    JOIN line ON line.line_id = phase.line_id AND line.load_id = phase.load_id
)
SELECT load_id, number, phase, at_us, until_us, (until_us - at_us) / 1e6 AS lasted_s, line_id
FROM spans
ORDER BY number, ordinal, place
