-- stored
--
-- One row a way in which loads of a model ended, most frequent first.
--
-- engine      VARCHAR  Program that held them.
-- model       VARCHAR  Model.
-- end_reason  VARCHAR  How they ended; log_ends if the log does not say.
-- loads       BIGINT   Loads.
-- ready       BIGINT   Of those, had got ready.
-- last_us     BIGINT   Latest end, µs UTC.
SELECT
    loads.engine, loads.model, loads.end_reason,
    count(*) AS loads,
    count(load.ready_line) AS ready,
    max(loads.ended_us) AS last_us
FROM loads
JOIN load USING (load_id)
GROUP BY loads.engine, loads.model, loads.end_reason
ORDER BY count(*) DESC, loads.engine, loads.model, loads.end_reason
