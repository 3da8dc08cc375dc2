-- stored
--
-- One row a change of what a process holds on a card, from one sample to the next.
--
-- The end of a process is no row: nothing samples it any more.
--
-- card_id       VARCHAR  Card.
-- pid           BIGINT   Process id on the host.
-- name          VARCHAR  Process name.
-- process_id    VARCHAR  Process of the log that it was joined to.
-- load_id       VARCHAR  Load that this process had then; none if it had none, or several.
-- at_us         BIGINT   When the new amount was sampled, µs UTC.
-- after_s       DOUBLE   Seconds since the sample before.
-- before_bytes  BIGINT   Held before; 0 for its first sample.
-- held_bytes    BIGINT   Held then.
-- step_bytes    BIGINT   Change, signed.
-- line_id       VARCHAR  Evidence: the row of telemetry.
WITH samples AS (
    SELECT
        card_id, pid, name, process_id, at_us, used_bytes, line_id,
        lag(used_bytes) OVER by_holder AS before_bytes,
        lag(at_us) OVER by_holder AS before_us
    FROM holder_sample
    WHERE used_bytes IS NOT NULL
    WINDOW by_holder AS (PARTITION BY card_id, pid, process_id ORDER BY at_us, source_id, "offset")
),
steps AS (
    SELECT * FROM samples WHERE used_bytes IS DISTINCT FROM coalesce(before_bytes, 0)
),
owners AS (
    SELECT steps.line_id, steps.pid, min(load.load_id) AS load_id
    FROM steps
    JOIN load USING (process_id)
    WHERE load.begun_us <= steps.at_us AND (load.ended_us IS NULL OR steps.at_us < load.ended_us)
    GROUP BY steps.line_id, steps.pid
    HAVING count(*) = 1
)
SELECT
    steps.card_id, steps.pid, steps.name, steps.process_id, owners.load_id, steps.at_us,
    (steps.at_us - steps.before_us) / 1e6 AS after_s,
    coalesce(steps.before_bytes, 0) AS before_bytes, steps.used_bytes AS held_bytes,
    steps.used_bytes - coalesce(steps.before_bytes, 0) AS step_bytes, steps.line_id
FROM steps
LEFT JOIN owners USING (line_id, pid)
ORDER BY steps.card_id, steps.at_us, steps.pid, steps.line_id
