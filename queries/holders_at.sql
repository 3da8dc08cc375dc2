-- macro (asked TIMESTAMPTZ)
--
-- One row a process and card: what the process held there at a moment, by the last sample before it.
--
-- A moment without a zone is UTC. A sample counts for at most a minute; what ended in between is still shown.
--
-- card_id     VARCHAR  Card.
-- pid         BIGINT   Process id on the host.
-- name        VARCHAR  Process name.
-- used_bytes  BIGINT   Held.
-- at_us       BIGINT   When the sample was taken, µs UTC.
-- process_id  VARCHAR  Process of the log that it was joined to.
-- load_id     VARCHAR  Load that this process had then; none if it had several or none.
-- line_id     VARCHAR  Evidence: the row of telemetry.
WITH latest AS (
    SELECT DISTINCT ON (card_id, pid) * FROM holder_sample
    WHERE at_us <= epoch_us(asked::TIMESTAMPTZ) AND at_us >= epoch_us(asked::TIMESTAMPTZ) - 60000000
    ORDER BY card_id, pid, at_us DESC, source_id DESC, "offset" DESC
),
owners AS (
    SELECT latest.line_id, latest.card_id, latest.pid, min(load.load_id) AS load_id
    FROM latest
    JOIN load USING (process_id)
    WHERE load.begun_us <= latest.at_us AND (load.ended_us IS NULL OR latest.at_us < load.ended_us)
    GROUP BY latest.line_id, latest.card_id, latest.pid
    HAVING count(*) = 1
)
SELECT
    latest.card_id, latest.pid, latest.name, latest.used_bytes, latest.at_us, latest.process_id, owners.load_id,
    latest.line_id
FROM latest
LEFT JOIN owners USING (line_id, card_id, pid)
ORDER BY latest.card_id, latest.used_bytes DESC, latest.pid
