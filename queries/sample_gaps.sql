-- stored
--
-- One row a hole in the samples of a card: nothing is known of it in between.
--
-- A hole is more than five times as long as samples usually lie apart, and more than a second.
--
-- card_id   VARCHAR  Card.
-- since_us  BIGINT   Last sample before, µs UTC.
-- until_us  BIGINT   First sample after.
-- gap_s     DOUBLE   Seconds in between.
-- usual_s   DOUBLE   Seconds that usually lie between two samples of this card.
WITH steps AS (
    SELECT card_id, at_us, lag(at_us) OVER (PARTITION BY card_id ORDER BY at_us) AS before_us
    FROM (SELECT DISTINCT card_id, at_us FROM card_sample UNION SELECT DISTINCT card_id, at_us FROM holder_sample)
),
usual AS (
    SELECT card_id, median(at_us - before_us) AS usual_us FROM steps WHERE before_us IS NOT NULL GROUP BY card_id
)
SELECT
    steps.card_id, steps.before_us AS since_us, steps.at_us AS until_us, (steps.at_us - steps.before_us) / 1e6 AS gap_s,
    usual.usual_us / 1e6 AS usual_s
FROM steps
JOIN usual USING (card_id)
WHERE steps.at_us - steps.before_us > greatest(5 * usual.usual_us, 1000000)
ORDER BY steps.card_id, steps.before_us
