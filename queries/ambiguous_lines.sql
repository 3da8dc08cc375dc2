-- One row a line that several loads could have written: nothing is attributed from it.
--
-- line_id     VARCHAR  The line.
-- ordinal     BIGINT   Its place among all matched lines.
-- time_us     BIGINT   µs since the epoch, UTC.
-- event       VARCHAR  Table of the event.
-- candidates  BIGINT   How many loads could have written it.
-- loads       VARCHAR  Their ids, separated by blanks.
-- reason      VARCHAR  Why it cannot be told.
-- text        VARCHAR  Beginning of the line.
SELECT
    line_id, ordinal, time_us, event,
    CASE WHEN candidates IS NULL THEN 0 ELSE len(string_split(candidates, ' ')) END AS candidates,
    candidates AS loads, rule AS reason, text
FROM line
WHERE scope = 'ambiguous'
ORDER BY ordinal
