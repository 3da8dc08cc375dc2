-- stored
--
-- One row a line that is suspected to be forged: it is shown, and counts for nothing.
--
-- line_id  VARCHAR  The line.
-- ordinal  BIGINT   Its place among all matched lines.
-- time_us  BIGINT   µs since the epoch, UTC.
-- load_id  VARCHAR  Load whose writer wrote it.
-- event    VARCHAR  Table of the event.
-- reason   VARCHAR  Why it is suspected.
-- text     VARCHAR  Beginning of the line.
SELECT line_id, ordinal, time_us, load_id, event, suspect AS reason, text
FROM line
WHERE suspect IS NOT NULL
ORDER BY ordinal
