-- macro (asked TIMESTAMPTZ)
--
-- One row a load that lived at a moment: what it was doing then, and since when.
--
-- A moment without a zone is UTC. A load whose end is not logged is gone from the begin of its clean-up on. A load
-- whose log has no wall time is not here: nothing says when it lived.
--
-- load_id  VARCHAR  The load.
-- number   BIGINT   Its place among the loads of the case.
-- engine   VARCHAR  Program that holds it.
-- model    VARCHAR  Best name that the log gives.
-- label    VARCHAR  What its supervisor calls it.
-- unit     VARCHAR  Unit of its service; else its container, or what it is logged as.
-- pid      BIGINT   Host process id, if trusted or joined.
-- phase    VARCHAR  Phase that it was in.
-- age_s    DOUBLE   Seconds since it began.
-- certain  BOOLEAN  Whether its log goes on after the moment, or says when it ended; else it may have been gone.
WITH alive AS (
    SELECT loads.*, load.process_id, epoch_us(asked::TIMESTAMPTZ) AS asked_us
    FROM loads
    JOIN load USING (load_id)
    WHERE loads.begun_us <= epoch_us(asked::TIMESTAMPTZ)
        AND epoch_us(asked::TIMESTAMPTZ) < coalesce(loads.ended_us, loads.closing_us, 9223372036854775807)
),
seen AS (
    SELECT process_id, max(time_us) AS last_us FROM line WHERE process_id IS NOT NULL GROUP BY process_id
),
doing AS (
    SELECT alive.load_id, arg_max(phase.phase, (phase.at_us, phase.number)) AS phase
    FROM alive
    JOIN phase USING (load_id)
    WHERE phase.at_us <= alive.asked_us
    GROUP BY alive.load_id
)
SELECT
    alive.load_id, alive.number, alive.engine, alive.model, alive.label, alive.unit, alive.pid, doing.phase,
    (alive.asked_us - alive.begun_us) / 1e6 AS age_s,
    coalesce(alive.ended_us, alive.closing_us) IS NOT NULL OR coalesce(seen.last_us >= alive.asked_us, FALSE) AS certain
FROM alive
LEFT JOIN doing USING (load_id)
LEFT JOIN seen USING (process_id)
ORDER BY alive.number
