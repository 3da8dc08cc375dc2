-- stored
--
-- One row a turn of a load test, from the client's turn log, or from the server's own lines where there is none.
--
-- What the script printed of its turns is read where the turn log is not there; the session is then that of the line
-- before. From the server's lines a turn is a request with a total; five of them are taken for a session, and what was used is
-- what the load's process held on its cards in the sample before. A turn that the client gave up shows in no such line.
--
-- run            VARCHAR  Source of the turn log, or the load.
-- basis          VARCHAR  turn log or server log.
-- session        BIGINT   Session.
-- turn           BIGINT   Turn in it.
-- place          BIGINT   Place in the run.
-- elapsed_s      DOUBLE   Time of the whole turn.
-- used_bytes     BIGINT   Used when it was over.
-- first_token_s  DOUBLE   Time to the first token.
-- tokens_per_s   DOUBLE   Decoding; none if it could not be measured.
-- tokens         BIGINT   Tokens generated.
-- failed         BOOLEAN  Whether no good answer came.
-- silent_empty   BOOLEAN  Answered with 200, without an error, after a second or more, and empty.
-- slow           BOOLEAN  Longer than 30 s.
-- line_id        VARCHAR  The line.
WITH sessions AS (
    SELECT line.source_id, marker.ordinal, TRY_CAST(split_part(marker.detail, '/', 1) AS BIGINT) AS session
    FROM marker_seen AS marker
    JOIN line USING (line_id)
    WHERE marker.what = 'soak_session'
),
measured AS (
    SELECT
        line.source_id, turn_measured.* REPLACE (coalesce(turn_measured.session, sessions.session) AS session),
        turn_measured.session IS NULL AS printed
    FROM turn_measured
    JOIN line USING (line_id)
    ASOF LEFT JOIN sessions
        ON sessions.source_id = line.source_id AND sessions.ordinal <= turn_measured.ordinal
    WHERE turn_measured.believed
),
-- what was printed of a run whose turn log lies beside it is the same run
twins AS (
    SELECT printed.source_id
    FROM measured AS printed
    JOIN measured AS logged
        ON regexp_replace(logged.source_id, '[^/!]+$', '') = regexp_replace(printed.source_id, '[^/!]+$', '')
        AND logged.session = printed.session AND logged.turn = printed.turn AND logged.used_bytes = printed.used_bytes
    WHERE printed.printed AND NOT logged.printed
    GROUP BY printed.source_id
    HAVING count(DISTINCT printed.line_id) = (SELECT count(*) FROM measured AS own WHERE own.source_id = printed.source_id)
),
told AS (
    SELECT
        source_id AS run, 'turn log' AS basis, session, turn, ordinal, elapsed_s, used_bytes,
        first_token_s, tokens_per_s, tokens, status <> 200 OR error <> '' AS failed,
        status = 200 AND error = '' AND elapsed_s >= 1
            AND CASE WHEN tokens IS NULL THEN tokens_per_s = 0 ELSE tokens = 0 END AS silent_empty,
        line_id
    FROM measured
    WHERE session IS NOT NULL AND source_id NOT IN (SELECT source_id FROM twins)
),
-- One request is timed by several lines that follow each other: its prompt, its decoding, and the total of both.
timed AS (
    SELECT
        load_id, ordinal, time_us, what, elapsed_s, tokens, line_id,
        sum((what = 'total')::INTEGER) OVER (
            PARTITION BY load_id, slot ORDER BY ordinal ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS part, slot
    FROM request_timed
    WHERE believed AND load_id IS NOT NULL
),
requested AS (
    SELECT
        load_id, max(ordinal) AS ordinal, max(time_us) AS time_us,
        max(elapsed_s) FILTER (WHERE what = 'total') AS elapsed_s,
        max(elapsed_s) FILTER (WHERE what = 'prompt') AS first_token_s,
        max(tokens) FILTER (WHERE what = 'decode') AS tokens,
        max(elapsed_s) FILTER (WHERE what = 'decode') AS decode_s,
        arg_max(line_id, ordinal) AS line_id
    FROM timed
    GROUP BY load_id, slot, part
    HAVING bool_or(what = 'total')
),
numbered AS (
    SELECT *, row_number() OVER (PARTITION BY load_id ORDER BY ordinal) AS place
    FROM requested
),
cards AS (
    SELECT DISTINCT load_id, card_id FROM holder_levels WHERE load_id IS NOT NULL
),
levels AS (
    -- of those that begin at one moment the one that lasts
    SELECT load_id, card_id, from_us, arg_max(used_bytes, (to_us, line_id)) AS used_bytes
    FROM holder_levels
    WHERE load_id IS NOT NULL
    GROUP BY load_id, card_id, from_us
),
asked AS (
    SELECT numbered.load_id, numbered.place, numbered.time_us, cards.card_id
    FROM numbered
    JOIN cards USING (load_id)
    WHERE numbered.time_us IS NOT NULL
),
held AS (
    SELECT asked.load_id, asked.place, sum(levels.used_bytes)::BIGINT AS used_bytes
    FROM asked
    ASOF JOIN levels
        ON levels.load_id = asked.load_id AND levels.card_id = asked.card_id AND levels.from_us <= asked.time_us
    GROUP BY asked.load_id, asked.place
),
served AS (
    SELECT
        numbered.load_id AS run, 'server log' AS basis, (place - 1) // 5 + 1 AS session, (place - 1) % 5 + 1 AS turn,
        ordinal, elapsed_s, held.used_bytes, first_token_s, tokens / nullif(decode_s, 0) AS tokens_per_s, tokens,
        FALSE AS failed, elapsed_s >= 1 AND tokens = 0 AS silent_empty, line_id
    FROM numbered
    LEFT JOIN held USING (load_id, place)
    WHERE NOT EXISTS (SELECT 1 FROM turn_measured WHERE believed)
)
SELECT
    run, basis, session, turn, row_number() OVER (PARTITION BY run ORDER BY session, turn, ordinal) AS place,
    elapsed_s, used_bytes, first_token_s,
    -- More than 500 a second is no rate: the stream closed before decoding could be told from the prompt.
    CASE WHEN tokens_per_s > 0 AND tokens_per_s <= 500 THEN tokens_per_s END AS tokens_per_s,
    tokens, failed, coalesce(silent_empty, FALSE) AS silent_empty, elapsed_s > 30 AS slow, line_id
FROM (SELECT * FROM told UNION ALL BY NAME SELECT * FROM served)
ORDER BY run, place
