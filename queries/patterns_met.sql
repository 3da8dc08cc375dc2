-- stored
--
-- One row a pattern that read a line of this case: how often, and in which loads.
--
-- program  VARCHAR  Program whose pattern it is.
-- pattern  VARCHAR  Pattern.
-- event    VARCHAR  Table of the event.
-- lines    BIGINT   Lines that it read.
-- loads    BIGINT   Loads that own some of them.
-- line_id  VARCHAR  The first of them.
-- example  VARCHAR  Beginning of that line.
SELECT
    program, pattern, event,
    count(*) AS lines,
    count(DISTINCT load_id) AS loads,
    arg_min(line_id, ordinal) AS line_id,
    arg_min(text, ordinal) AS example
FROM line
GROUP BY program, pattern, event
ORDER BY lines DESC, program, pattern
