-- What the answers do not know: problems of sources, unread sizes, orphans and suspects, worst first.
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
sizes AS (
    SELECT
        'loss' AS severity, 'lines with a size that no pattern reads' AS what, count(*) AS count,
        any_value(text) AS example, NULL AS remedy
    FROM unread
    HAVING count(*) > 0
),
orphans AS (
    SELECT
        'note' AS severity, 'lines without an owner: ' || rule AS what, count(*) AS count,
        any_value(text) AS example, NULL AS remedy
    FROM line
    WHERE load_id IS NULL AND process_id IS NULL AND suspect IS NULL
    GROUP BY rule
),
suspects AS (
    SELECT
        'loss' AS severity, 'lines suspected to be forged: ' || suspect AS what, count(*) AS count,
        any_value(text) AS example, NULL AS remedy
    FROM line
    WHERE suspect IS NOT NULL
    GROUP BY suspect
)
SELECT severity, what, count, example, remedy
FROM (
    SELECT * FROM problems
    UNION ALL SELECT * FROM sizes
    UNION ALL SELECT * FROM orphans
    UNION ALL SELECT * FROM suspects
)
ORDER BY CASE severity WHEN 'error' THEN 0 WHEN 'loss' THEN 1 ELSE 2 END, count DESC, what
