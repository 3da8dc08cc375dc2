-- stored
--
-- What the answers do not know: problems of sources, unread sizes and devices, new wordings, orphans and suspects.
--
-- Worst first. Token counts are looked for in a sample of the records, sizes and devices in all.
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
        'loss' AS severity, 'lines with a size that no pattern reads' AS what,
        count(*) + (SELECT coalesce(sum(unread_dropped), 0) FROM scan_count)::BIGINT AS count,
        any_value(text) AS example, NULL AS remedy
    FROM unread
    WHERE what = 'size'
    HAVING count(*) > 0
),
devices AS (
    SELECT
        'note' AS severity, 'lines with a device that no pattern reads' AS what, count(*) AS count,
        any_value(text) AS example, NULL AS remedy
    FROM unread
    WHERE what = 'device'
    HAVING count(*) > 0
),
tokens AS (
    SELECT
        'note' AS severity,
        'lines with a token count that no pattern reads, of ' || (SELECT sum(sampled) FROM scan_count)
            || ' that were looked at' AS what,
        count(*) AS count, any_value(text) AS example, NULL AS remedy
    FROM unread
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
    UNION ALL SELECT * FROM drift
    UNION ALL SELECT * FROM devices
    UNION ALL SELECT * FROM tokens
    UNION ALL SELECT * FROM orphans
    UNION ALL SELECT * FROM suspects
)
ORDER BY CASE severity WHEN 'error' THEN 0 WHEN 'loss' THEN 1 ELSE 2 END, count DESC, what
