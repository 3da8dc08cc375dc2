-- stored
--
-- One row a card, moment and process: what the card shows, and what the process holds of it.
--
-- The moments are those of the card's own samples, or of the processes' where the card has none. A process's sample holds
-- until its next one, or for as long as samples usually lie apart if that is more than 30 s away. A moment at which no
-- process is known to hold anything has one row without a process. A process that has several loads after each other
-- counts for the load that was alive.
--
-- card_id     VARCHAR  Card.
-- at_us       BIGINT   Moment, µs UTC.
-- used_bytes  BIGINT   Use of the whole card, if the card was sampled.
-- pid         BIGINT   Process id on the host.
-- name        VARCHAR  Process name.
-- process_id  VARCHAR  Process of the log that it was joined to.
-- load_id     VARCHAR  Load that the process had then.
-- held_bytes  BIGINT   What the process held.
WITH instants AS (
    SELECT card_id, at_us, max(used_bytes) AS used_bytes
    FROM card_sample
    WHERE used_bytes IS NOT NULL
    GROUP BY card_id, at_us
    UNION ALL
    SELECT DISTINCT card_id, at_us, NULL AS used_bytes
    FROM holder_sample
    WHERE card_id NOT IN (SELECT card_id FROM card_sample WHERE used_bytes IS NOT NULL)
),
rounds AS (
    SELECT at_us, lead(at_us) OVER (ORDER BY at_us) - at_us AS gap_us FROM (SELECT DISTINCT at_us FROM holder_sample)
),
usual AS (
    -- The rows of one round may differ by milliseconds.
    SELECT coalesce(median(gap_us)::BIGINT, 1000000) AS gap_us FROM rounds WHERE gap_us > 50000
),
spans AS (
    SELECT
        card_id, pid, name, process_id, at_us, used_bytes,
        lead(at_us) OVER (PARTITION BY card_id, pid ORDER BY at_us, source_id, "offset") AS next_us
    FROM holder_sample
    WHERE used_bytes IS NOT NULL
),
lasting AS (
    SELECT
        spans.*,
        CASE WHEN next_us - at_us <= 30000000 THEN next_us ELSE at_us + usual.gap_us END AS until_us
    FROM spans, usual
),
-- A span reaches into two pieces of time at most: only what is of one piece is compared.
pieces AS (
    SELECT lasting.*, unnest(range(at_us // width, until_us // width + 1)) AS piece
    FROM lasting, (SELECT greatest(gap_us, 30000000) AS width FROM usual)
),
held AS (
    SELECT
        instants.card_id, instants.at_us, pieces.pid, pieces.name, pieces.process_id,
        max(pieces.used_bytes) AS held_bytes
    FROM (SELECT *, at_us // (SELECT greatest(gap_us, 30000000) FROM usual) AS piece FROM instants) AS instants
    JOIN pieces
        ON pieces.card_id = instants.card_id AND pieces.piece = instants.piece
        AND pieces.at_us <= instants.at_us AND pieces.until_us > instants.at_us
    GROUP BY instants.card_id, instants.at_us, pieces.pid, pieces.name, pieces.process_id
),
owned AS (
    SELECT held.*, arg_max(load.load_id, load.number) AS load_id
    FROM held
    LEFT JOIN load
        ON load.process_id = held.process_id AND load.begun_us <= held.at_us
        AND (load.ended_us IS NULL OR load.ended_us >= held.at_us)
    GROUP BY ALL
)
SELECT
    instants.card_id, instants.at_us, instants.used_bytes, owned.pid, owned.name, owned.process_id, owned.load_id,
    owned.held_bytes
FROM instants
LEFT JOIN owned USING (card_id, at_us)
ORDER BY instants.card_id, instants.at_us, owned.pid, owned.process_id, owned.name, owned.held_bytes
