-- stored
--
-- One row a line about memory that several loads could have written: it is in no ledger, and each may hold it.
--
-- line_id     VARCHAR  The line.
-- ordinal     BIGINT   Its place among all matched lines.
-- event       VARCHAR  Table of the event.
-- loads       VARCHAR  Ids of the loads that could have written it, separated by blanks.
-- reason      VARCHAR  Why it cannot be told.
-- text        VARCHAR  Beginning of the line.
SELECT line_id, ordinal, event, loads, reason, text
FROM ambiguous_lines
WHERE event IN (
    'buffer_allocated', 'buffer_released', 'memory_estimated', 'memory_profiled', 'breakdown_reported', 'cache_described',
    'pool_sized'
)
ORDER BY ordinal
