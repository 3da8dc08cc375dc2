-- stored
--
-- One row a kind of line that carries a size, a device or a token count and that no pattern reads: what a new build prints.
--
-- Sizes first, then the most frequent. Wordings are one where most of their words are the same; those that differ stand as
-- <*> in the template. Token counts are looked for in a sample of the records.
--
-- template  VARCHAR  The line with its digits masked, and what differs between its lines.
-- what      VARCHAR  size, device or tokens.
-- lines     BIGINT   How many there are.
-- sources   BIGINT   In how many sources.
-- line_id   VARCHAR  The first of them.
-- example   VARCHAR  Beginning of that line.
SELECT
    template,
    what,
    sum(1 + more)::BIGINT AS lines,
    count(DISTINCT source_id) AS sources,
    arg_min(line_id, (source_id, "offset")) AS line_id,
    arg_min(text, (source_id, "offset")) AS example
FROM unread
GROUP BY template, what
ORDER BY CASE what WHEN 'size' THEN 0 WHEN 'device' THEN 1 ELSE 2 END, lines DESC, template
