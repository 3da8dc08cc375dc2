-- stored
--
-- One setting of a load: an argument of its command line, or a value that the program says is in effect.
--
-- What a server says while it serves is a state, no setting. Arguments are read from the four forms in which programs
-- print them: a dictionary, the fields of a record ({Parallel:1 KvSize:4096}), key=value pairs, a command line. The last
-- value of a name counts, within each of `argument` and `setting`. What is not printed is not here: it has its default.
--
-- load_id   VARCHAR  The load.
-- origin    VARCHAR  argument or setting.
-- part      VARCHAR  Part of the load that a setting is about; target for arguments.
-- name      VARCHAR  Name as printed.
-- value     VARCHAR  Value as printed, without quotes.
-- line_id   VARCHAR  Evidence.
WITH texts AS (
    SELECT load_id, line_id, ordinal, text
    FROM arguments_reported
    WHERE believed AND load_id IS NOT NULL
    UNION ALL
    SELECT load_id, line_id, ordinal, arguments AS text
    FROM load_began
    WHERE believed AND load_id IS NOT NULL AND arguments IS NOT NULL
),
matches AS (
    SELECT
        load_id, line_id, ordinal,
        CASE
            WHEN regexp_matches(text, '^\s*\{\w+:')
                THEN regexp_extract_all(text, '\w+:[^\s\[\]{}]*(?:\[[^\]]*\])?')
            WHEN regexp_matches(text, '^\s*\{')
                THEN regexp_extract_all(text, '''\w+'': (?:''[^'']*''|\[[^\]]*\]|\{[^}]*\}|[^,{}\[\]]+)')
            WHEN regexp_matches(text, '\b\w+=')
                THEN regexp_extract_all(text, '\b\w+=(?:''[^'']*''|\w+\([^)]*\)|\[[^\]]*\]|\{[^}]*\}|[^,\s()]+)')
            ELSE regexp_extract_all(text, '(?:^|\s)--?[A-Za-z][\w-]*(?:[ =](?:[^\s-]\S*|-\d\S*))?')
        END AS pairs
    FROM texts
),
pairs AS (
    SELECT load_id, line_id, ordinal, unnest(pairs) AS pair, generate_subscripts(pairs, 1) AS place FROM matches
),
arguments AS (
    SELECT
        load_id, 'argument' AS origin, 'target' AS part, line_id, ordinal,
        -- Of a flag that is given twice the last counts; a name that stands inside another's value comes behind its own.
        CASE WHEN regexp_matches(pair, '^\s*-') THEN place ELSE -place END AS place,
        regexp_extract(pair, '^\s*''?(--?[A-Za-z][\w-]*|\w+)', 1) AS name,
        trim(regexp_replace(pair, '^\s*(?:''\w+'': |\w+=|\w+:|--?[A-Za-z][\w-]*[ =]?)', ''), ' ''') AS value
    FROM pairs
),
settings AS (
    SELECT
        load_id, 'setting' AS origin, coalesce(part, 'target') AS part, line_id, ordinal, 1 AS place, name, value
    FROM setting_reported
    WHERE believed AND load_id IS NOT NULL AND phase NOT IN ('serve', 'end')
),
together AS (
    SELECT * FROM arguments
    UNION ALL BY NAME
    SELECT * FROM settings
)
SELECT load_id, origin, part, name, value, line_id
FROM together
QUALIFY row_number() OVER (PARTITION BY load_id, origin, part, name ORDER BY ordinal DESC, place DESC) = 1
ORDER BY load_id, origin, part, name
