-- stored
--
-- What the answers do not know: problems of sources, unread sizes and devices, new wordings, orphans and suspects.
--
-- Worst first. Token counts are looked for in a sample of the records, sizes and devices in all; the twenty most frequent
-- wordings of those are told apart, and unread_templates has all.
--
-- severity  VARCHAR  error, loss or note.
-- what      VARCHAR  What is missing or was set aside.
-- count     BIGINT   How often.
-- example   VARCHAR  An example.
-- remedy    VARCHAR  What to do, if anything helps.
WITH problems AS (
    SELECT severity, source_id || ': ' || what AS what, count, NULL AS example, nullif(remedy, '') AS remedy
    FROM problem
),
wordings AS (
    SELECT what, template, lines, example, row_number() OVER (PARTITION BY what ORDER BY lines DESC, template) AS place
    FROM unread_templates
    WHERE what <> 'tokens'
),
unread_wordings AS (
    SELECT
        CASE what WHEN 'size' THEN 'loss' ELSE 'note' END AS severity,
        'lines with a ' || what || ' that no pattern reads: '
            || CASE WHEN place <= 20 THEN template ELSE 'of further wordings' END AS what,
        sum(lines)::BIGINT AS count, arg_min(example, place) AS example, NULL AS remedy
    FROM wordings
    GROUP BY ALL
    UNION ALL
    SELECT
        'loss', 'lines with a size or a device that no pattern reads, of wordings too many to keep',
        sum(unread_dropped)::BIGINT, NULL, NULL
    FROM scan_count
    HAVING sum(unread_dropped) > 0
),
tokens AS (
    SELECT
        'note' AS severity,
        'lines with a token count that no pattern reads, of ' || (SELECT sum(sampled) FROM scan_count)
            || ' that were looked at' AS what,
        sum(lines)::BIGINT AS count, arg_max(example, (lines, template)) AS example, NULL AS remedy
    FROM unread_templates
    WHERE what = 'tokens'
    HAVING count(*) > 0
),
drift AS (
    SELECT
        'loss' AS severity,
        'format drift: ' || program || coalesce(' ' || version, '') || ' prints wordings of ' || component
            || ' that are not known' || coalesce('; the newest build that is known is ' || newest, '') AS what,
        lines AS count, example,
        'use a newer catalogue, or add a pattern of your own (--patterns FILE)' AS remedy
    FROM format_drift
),
orphans AS (
    SELECT
        'note' AS severity, 'lines without an owner: ' || rule AS what, count(*) AS count,
        arg_min(text, ordinal) AS example, NULL AS remedy
    FROM line
    WHERE load_id IS NULL AND process_id IS NULL AND suspect IS NULL
    GROUP BY rule
),
suspects AS (
    SELECT
        'loss' AS severity, 'lines suspected to be forged: ' || suspect AS what, count(*) AS count,
        arg_min(text, ordinal) AS example, NULL AS remedy
    FROM line
    WHERE suspect IS NOT NULL
    GROUP BY suspect
)
SELECT severity, what, count, example, remedy
FROM (
    SELECT * FROM problems
    UNION ALL SELECT * FROM unread_wordings
    UNION ALL SELECT * FROM drift
    UNION ALL SELECT * FROM tokens
    UNION ALL SELECT * FROM orphans
    UNION ALL SELECT * FROM suspects
)
ORDER BY CASE severity WHEN 'error' THEN 0 WHEN 'loss' THEN 1 ELSE 2 END, count DESC, what, example, remedy
