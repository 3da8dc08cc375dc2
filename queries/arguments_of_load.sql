-- stored
--
-- One row a text of arguments that configured a load, in the order in which it was printed.
--
-- Three ways to know whose they are: the line that began the load prints them; a line of the load itself does; or a
-- supervisor prints them one a line after "with args", and they name the port that it gave to the load. A list that
-- names no port, or several, is nobody's.
--
-- load_id  VARCHAR  The load.
-- ordinal  BIGINT   Place of the first line among all matched lines.
-- text     VARCHAR  Arguments, joined by blanks where they were printed one a line.
-- lines    VARCHAR  Evidence: line ids in order, separated by blanks.
-- how      VARCHAR  How the owner is known.
WITH listed AS (
    SELECT
        process_id, ordinal, line_id, text,
        max(begins) OVER (PARTITION BY process_id ORDER BY ordinal) AS list
    FROM (
        SELECT process_id, ordinal, line_id, text, NULL AS begins
        FROM arguments_reported
        WHERE believed AND load_id IS NULL
        UNION ALL
        SELECT process_id, ordinal, line_id, NULL, ordinal
        FROM marker_seen
        WHERE believed AND load_id IS NULL AND what = 'arguments'
    )
),
lists AS (
    SELECT
        process_id, list, min(ordinal) AS ordinal, string_agg(text, ' ' ORDER BY ordinal) AS text,
        string_agg(line_id, ' ' ORDER BY ordinal) AS lines
    FROM listed
    WHERE text IS NOT NULL AND list IS NOT NULL
    GROUP BY process_id, list
),
named AS (
    SELECT *, TRY_CAST(regexp_extract(text, '(?:^| )--port[ =](\d+)', 1) AS BIGINT) AS port
    FROM lists
    WHERE len(regexp_extract_all(text, '(?:^| )--port[ =]\d+')) = 1
),
spawned AS (
    SELECT
        named.*, load_began.load_id,
        row_number() OVER (PARTITION BY named.process_id, named.list ORDER BY load_began.ordinal DESC) AS back
    FROM named
    JOIN load_began ON load_began.port = named.port AND load_began.ordinal <= named.list
    JOIN process AS child ON child.process_id = load_began.process_id
    JOIN process AS parent ON parent.process_id = named.process_id
        AND parent.host IS NOT DISTINCT FROM child.host AND parent.boot IS NOT DISTINCT FROM child.boot
        AND parent.unit IS NOT DISTINCT FROM child.unit
    JOIN line AS said ON said.line_id = load_began.line_id
    JOIN line AS listing ON listing.ordinal = named.ordinal AND listing.source_id = said.source_id
    WHERE load_began.believed AND load_began.load_id IS NOT NULL
)
SELECT load_id, ordinal, text, lines, how
FROM (
    SELECT load_id, ordinal, arguments AS text, line_id AS lines, 'the line that began it' AS how
    FROM load_began
    WHERE believed AND load_id IS NOT NULL AND arguments IS NOT NULL
    UNION ALL
    SELECT load_id, ordinal, text, line_id, 'its own line'
    FROM arguments_reported
    WHERE believed AND load_id IS NOT NULL
    UNION ALL
    SELECT load_id, ordinal, text, lines, 'printed by its supervisor; they name its port'
    FROM spawned
    WHERE back = 1
)
ORDER BY load_id, ordinal
