-- stored
--
-- One row a line of a sort that comes rarely: what most evidence is, found without going through what comes by the million.
--
-- A sort is a pattern; it is rare while no more than 5000 lines are of it. `line` has all of them.
--
-- line_id    VARCHAR  The line.
-- ordinal    BIGINT   Place among all matched lines.
-- source_id  VARCHAR  Source.
-- record     BIGINT   Place among the records of its source, from 0.
-- offset     BIGINT   Byte offset.
-- length     BIGINT   Bytes.
-- cursor     VARCHAR  Journal cursor.
-- time_us    BIGINT   µs since the epoch, UTC.
-- load_id    VARCHAR  Load that owns it.
-- text       VARCHAR  Beginning of the line.
WITH rare AS (
    SELECT program, pattern FROM line GROUP BY program, pattern HAVING count(*) <= 5000
)
SELECT line_id, ordinal, source_id, record, "offset", length, cursor, time_us, load_id, text
FROM line
SEMI JOIN rare USING (program, pattern)
ORDER BY line_id
