-- One row a line that no process is proved to have written, with the reason.
--
-- line_id    VARCHAR  The line.
-- ordinal    BIGINT   Its place among all matched lines.
-- time_us    BIGINT   µs since the epoch, UTC.
-- source_id  VARCHAR  Source.
-- unit       VARCHAR  Unit.
-- program    VARCHAR  Program whose pattern read it.
-- event      VARCHAR  Table of the event.
-- reason     VARCHAR  Why it has no owner.
-- text       VARCHAR  Beginning of the line.
SELECT line_id, ordinal, time_us, source_id, unit, program, event, rule AS reason, text
FROM line
WHERE load_id IS NULL AND process_id IS NULL AND scope IS DISTINCT FROM 'ambiguous' AND suspect IS NULL
ORDER BY ordinal
