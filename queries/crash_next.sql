-- stored
--
-- The load that came after one that a failure ended: what the next request had to pay for.
--
-- Of the same unit, or under one supervisor of the same name, or else of the same model in the same case.
--
-- load_id       VARCHAR  The load that ended.
-- next_load_id  VARCHAR  The load after it.
-- next_number   BIGINT   Its place among the loads of the case.
-- same_model    BOOLEAN  Whether it is of the same model.
-- gap_s         DOUBLE   Seconds from the end to its begin.
-- loading_s     DOUBLE   Seconds it took to load.
-- line_id       VARCHAR  Evidence: the line that begins it.
SELECT
    one.load_id,
    after.load_id AS next_load_id,
    after.number AS next_number,
    after.model IS NOT DISTINCT FROM one.model AS same_model,
    (after.begun_us - one.ended_us) / 1e6 AS gap_s,
    (after.ready_us - after.begun_us) / 1e6 AS loading_s,
    after.begun_line AS line_id
FROM load AS one
JOIN process ON process.process_id = one.process_id
JOIN load AS after ON after.number > one.number
JOIN process AS process_after ON process_after.process_id = after.process_id
WHERE one.end_reason IN ('crashed', 'killed', 'failed', 'aborted')
    AND (
        process_after.unit = process.unit
        OR (process.unit IS NULL AND coalesce(after.label, after.model) IS NOT DISTINCT FROM coalesce(one.label, one.model))
    )
QUALIFY row_number() OVER (PARTITION BY one.load_id ORDER BY after.number) = 1
ORDER BY one.number
