-- stored
--
-- One row a pair of loads that lived at the same time on one host: what can contend, and what a window mixes.
--
-- A load whose end the log does not show is taken to live on, until its clean-up began if that shows; its pairs have no
-- end either if the other has none.
--
-- load_id       VARCHAR  The load that began first.
-- other_id      VARCHAR  The other one.
-- since_us      BIGINT   When the other began, µs UTC.
-- until_us      BIGINT   When the first of them ended; empty if no end is known.
-- together_s    DOUBLE   Seconds in between.
-- same_process  BOOLEAN  Whether one process held both.
-- same_card     BOOLEAN  Whether they are joined to a card in common; empty if one is joined to none.
WITH lives AS (
    SELECT load.load_id, load.number, load.process_id, load.begun_us,
        coalesce(load.ended_us, load.closing_us) AS ended_us, process.host
    FROM load
    JOIN process USING (process_id)
    WHERE load.begun_us IS NOT NULL
),
cards AS (
    SELECT process_id, list(DISTINCT card_id ORDER BY card_id) AS cards
    FROM device
    WHERE card_id IS NOT NULL
    GROUP BY process_id
)
SELECT
    one.load_id, other.load_id AS other_id, other.begun_us AS since_us,
    least(one.ended_us, other.ended_us) AS until_us,
    (least(one.ended_us, other.ended_us) - other.begun_us) / 1e6 AS together_s,
    one.process_id = other.process_id AS same_process,
    len(list_intersect(mine.cards, theirs.cards)) > 0 AS same_card
FROM lives AS one
JOIN lives AS other
    ON other.host IS NOT DISTINCT FROM one.host
    AND (other.begun_us, other.number) > (one.begun_us, one.number)
    AND (one.ended_us IS NULL OR other.begun_us < one.ended_us)
LEFT JOIN cards AS mine ON mine.process_id = one.process_id
LEFT JOIN cards AS theirs ON theirs.process_id = other.process_id
ORDER BY since_us, one.number, other.number
