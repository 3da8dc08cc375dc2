-- stored
--
-- One row a line without a wall time that comes after one with it in its source: the time of that line.
--
-- line_id  VARCHAR  The line.
-- at       BIGINT   µs UTC, of the last line before it.
WITH timed AS (
    SELECT source_id, ordinal, time_us FROM line WHERE time_us IS NOT NULL
),
untimed AS (
    SELECT source_id, ordinal, line_id FROM line WHERE time_us IS NULL
)
SELECT untimed.line_id, timed.time_us AS at
FROM untimed
ASOF JOIN timed ON timed.source_id = untimed.source_id AND timed.ordinal <= untimed.ordinal
ORDER BY line_id
