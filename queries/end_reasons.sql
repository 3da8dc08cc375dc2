-- One row a way in which loads of a model ended, most frequent first.
--
-- engine      VARCHAR  Program that held them.
-- model       VARCHAR  Model.
-- end_reason  VARCHAR  How they ended; log_ends if the log does not say.
-- loads       BIGINT   Loads.
-- ready       BIGINT   Of those, had got ready.
-- last_us     BIGINT   Latest end, µs UTC.
SELECT
    engine, model, end_reason,
    count(*) AS loads,
    count(ready_us) AS ready,
    max(ended_us) AS last_us
FROM loads
GROUP BY engine, model, end_reason
ORDER BY count(*) DESC, engine, model, end_reason
