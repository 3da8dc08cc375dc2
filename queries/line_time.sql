-- One row a line: its place in time, for what must be put in order.
--
-- Where a line has no wall time, it is the time of the last line before it in its source; before the first time of a
-- source, and in sources without any, the place among the lines stands for it: order holds, spans do not.
--
-- line_id    VARCHAR  The line.
-- source_id  VARCHAR  Source.
-- ordinal    BIGINT   Its place.
-- at         BIGINT   µs UTC, or its place.
SELECT line_id, source_id, ordinal, line_at.at AS at FROM line_at
