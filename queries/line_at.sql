-- One row a line: its place in time and its owner, for what other questions put in order.
--
-- Where a line has no wall time, it is the time of the last line before it in its source; before the first time of a
-- source, and in sources without any, the place among the lines stands for it: order holds, spans do not.
--
-- line_id    VARCHAR  The line.
-- source_id  VARCHAR  Source.
-- ordinal    BIGINT   Its place.
-- load_id    VARCHAR  Load that owns it.
-- at         BIGINT   µs UTC, or its place.
SELECT
    line.line_id, line.source_id, line.ordinal, line.load_id, coalesce(line.time_us, untimed_lines.at, line.ordinal) AS at
FROM line
LEFT JOIN untimed_lines USING (line_id)
