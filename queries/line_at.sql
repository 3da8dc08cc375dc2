-- One row a line, in no order: its place in time, for what other questions put in order.
--
-- Where a line has no wall time, it is the time of the last line before it in its source; before the first time of a
-- source, and in sources without any, the place among the lines stands for it: order holds, spans do not.
--
-- line_id    VARCHAR  The line.
-- source_id  VARCHAR  Source.
-- ordinal    BIGINT   Its place.
-- load_id    VARCHAR  Load that owns it.
-- at         BIGINT   µs UTC, or its place.
WITH timed AS (
    SELECT source_id, ordinal, time_us FROM line WHERE time_us IS NOT NULL
)
SELECT line_id, source_id, ordinal, load_id, time_us AS at
FROM line
WHERE time_us IS NOT NULL
UNION ALL
SELECT line.line_id, line.source_id, line.ordinal, line.load_id, coalesce(timed.time_us, line.ordinal) AS at
FROM line
ASOF LEFT JOIN timed ON timed.source_id = line.source_id AND timed.ordinal <= line.ordinal
WHERE line.time_us IS NULL
