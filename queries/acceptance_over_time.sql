-- One row a request or interval for which a load says how many drafted tokens were accepted.
--
-- Only lines that are believed, belong to a load and have a wall time; running totals of a load are left out.
--
-- load_id   VARCHAR  The load.
-- at_us     BIGINT   When, µs UTC.
-- accepted  BIGINT   Tokens accepted.
-- drafted   BIGINT   Tokens drafted.
-- ratio     DOUBLE   accepted / drafted, or the printed rate where the counts are not printed.
-- covers    VARCHAR  request or interval.
-- line_id   VARCHAR  Evidence.
SELECT
    load_id, time_us AS at_us, accepted, drafted, coalesce(accepted / nullif(drafted, 0), ratio) AS ratio,
    event_scope AS covers, line_id
FROM draft_accepted
WHERE believed AND load_id IS NOT NULL AND time_us IS NOT NULL AND event_scope IN ('request', 'interval')
    AND coalesce(accepted / nullif(drafted, 0), ratio) IS NOT NULL
    AND NOT isnan(coalesce(accepted / nullif(drafted, 0), ratio))
ORDER BY ordinal
