-- One row a kind of line that carries a size and that no pattern reads: what a new build prints, most frequent first.
--
-- Of each source at most 2000 lines are kept; scan_count has the whole count.
--
-- template  VARCHAR  The line with its digits masked.
-- lines     BIGINT   How many of them are kept as examples.
-- sources   BIGINT   In how many sources.
-- line_id   VARCHAR  The first of them.
-- example   VARCHAR  Beginning of that line.
SELECT
    template,
    count(*) AS lines,
    count(DISTINCT source_id) AS sources,
    arg_min(line_id, (source_id, "offset")) AS line_id,
    arg_min(text, (source_id, "offset")) AS example
FROM unread
GROUP BY template
ORDER BY lines DESC, template
