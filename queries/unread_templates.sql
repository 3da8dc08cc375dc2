-- stored
--
-- One row a kind of line that carries a size, a device or a token count and that no pattern reads: what a new build prints.
--
-- Sizes first, then the most frequent. Of each source at most 2000 lines are kept; scan_count has the whole count. Token
-- counts are looked for in a sample of the records.
--
-- template  VARCHAR  The line with its digits masked.
-- what      VARCHAR  size, device or tokens.
-- lines     BIGINT   How many of them are kept as examples.
-- sources   BIGINT   In how many sources.
-- line_id   VARCHAR  The first of them.
-- example   VARCHAR  Beginning of that line.
SELECT
    template,
    what,
    count(*) AS lines,
    count(DISTINCT source_id) AS sources,
    arg_min(line_id, (source_id, "offset")) AS line_id,
    arg_min(text, (source_id, "offset")) AS example
FROM unread
GROUP BY template, what
ORDER BY CASE what WHEN 'size' THEN 0 WHEN 'device' THEN 1 ELSE 2 END, lines DESC, template
