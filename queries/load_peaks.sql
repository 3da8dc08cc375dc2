-- stored
--
-- One row a load and card: the most that its process held there during its life, and when.
--
-- A process that several loads have in turn counts for each of them while it lived.
--
-- load_id     VARCHAR  The load.
-- number      BIGINT   Its place among the loads of the case.
-- card_id     VARCHAR  Card.
-- pid         BIGINT   Process id on the host.
-- samples     BIGINT   Samples in its life.
-- peak_bytes  BIGINT   Most held.
-- peak_us     BIGINT   When first, µs UTC.
-- last_bytes  BIGINT   Held at the last of them.
-- line_id     VARCHAR  Evidence for the peak: the row of telemetry.
WITH inside AS (
    SELECT load.load_id, load.number, sample.*
    FROM load
    JOIN holder_sample AS sample USING (process_id)
    WHERE load.begun_us <= sample.at_us AND (load.ended_us IS NULL OR sample.at_us < load.ended_us)
        AND sample.used_bytes IS NOT NULL
)
SELECT
    load_id, number, card_id, pid,
    count(*) AS samples,
    max(used_bytes) AS peak_bytes,
    arg_max(at_us, (used_bytes, -at_us)) AS peak_us,
    arg_max(used_bytes, (at_us, source_id, "offset")) AS last_bytes,
    arg_max(line_id, (used_bytes, -at_us, source_id, "offset")) AS line_id
FROM inside
GROUP BY load_id, number, card_id, pid
ORDER BY number, card_id, pid
