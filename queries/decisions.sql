-- stored
--
-- One row a line in which a supervisor says which models may stay, come or go, in order.
--
-- time_us          BIGINT   µs since the epoch, UTC.
-- ordinal          BIGINT   Its place among all matched lines.
-- what             VARCHAR  evict, fit, place, view, request, queue, expire, reload, reject, retry, limit, count or wait.
-- model            VARCHAR  Model the line names.
-- victim           VARCHAR  Model that has to go, if named.
-- predicted_bytes  BIGINT   Need as predicted.
-- available_bytes  BIGINT   What the supervisor thinks is available.
-- reason           VARCHAR  Reason in the line's words.
-- load_id          VARCHAR  Load that the line is about, if one owns it.
-- line_id          VARCHAR  Evidence.
SELECT
    time_us, ordinal, what, model, victim, predicted_bytes, available_bytes, reason, load_id, line_id
FROM scheduler_decided
WHERE believed
ORDER BY ordinal
