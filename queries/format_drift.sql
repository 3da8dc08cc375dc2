-- stored
--
-- One row a component of a program that prints what no pattern knows, with a size or a device in it: a newer wording.
--
-- The component itself is known: other wordings of it are in the catalogue.
--
-- program    VARCHAR  The program.
-- component  VARCHAR  The function, file or area that the line names.
-- lines      BIGINT   Such lines.
-- version    VARCHAR  Newest version that a process of the program reports here, if one does.
-- newest     VARCHAR  Newest version whose wordings the catalogue knows.
-- line_id    VARCHAR  The first of them.
-- example    VARCHAR  Beginning of that line.
WITH versions AS (
    SELECT program, max(version) AS version
    FROM process
    GROUP BY program
)
SELECT
    unread.program,
    unread.component,
    sum(1 + unread.more)::BIGINT AS lines,
    any_value(versions.version) AS version,
    any_value(about.value) AS newest,
    arg_min(unread.line_id, (unread.source_id, unread."offset")) AS line_id,
    arg_min(unread.text, (unread.source_id, unread."offset")) AS example
FROM unread
LEFT JOIN versions ON versions.program = unread.program
LEFT JOIN about ON about.name = 'newest ' || unread.program
WHERE unread.component IS NOT NULL AND unread.what <> 'tokens'
GROUP BY unread.program, unread.component
ORDER BY lines DESC, unread.program, unread.component
