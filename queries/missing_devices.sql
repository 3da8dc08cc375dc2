-- One row a line in which a program says that a device it wanted is not there: what it does then, others pay for.
--
-- An image server whose card is gone falls back to the cards of others, or to the host. The line is of its program alone: what
-- else runs on the box is not named by it.
--
-- at_us    BIGINT   When, µs UTC.
-- host     VARCHAR  Host.
-- unit     VARCHAR  Unit that wrote it.
-- program  VARCHAR  Program.
-- load_id  VARCHAR  The load that owns it, if one does.
-- message  VARCHAR  The line's words.
-- line_id  VARCHAR  Evidence.
SELECT line.time_us AS at_us, line.host, line.unit, line.program, line.load_id, told.message, line.line_id
FROM failure_reported AS told
JOIN line USING (line_id)
WHERE told.believed AND told.failure = 'no_device'
ORDER BY line.ordinal
