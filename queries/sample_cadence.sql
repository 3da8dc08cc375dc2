-- stored
--
-- One row a source of telemetry and card: how often it was sampled, and from when to when.
--
-- A pause of more than three usual intervals, and of more than 5 s, is a hole: what happened in it was not seen. Rows
-- of holders come only while somebody holds the card, so pauses between them are no holes. Where a card has a series,
-- single snapshots beside it are left out: their time is printed to the second and does not fit between.
--
-- card_id    VARCHAR  Card.
-- kind       VARCHAR  card or holders.
-- source_id  VARCHAR  Source.
-- usual_us   DOUBLE   Median interval.
-- hole_us    DOUBLE   Interval from which on it is a hole.
-- from_us    BIGINT   First sample.
-- until_us   BIGINT   Last sample.
-- series     BOOLEAN  Whether it is taken: a series of three samples or more, or all that there is.
WITH ticks AS (
    SELECT DISTINCT card_id, 'card' AS kind, source_id, at_us FROM card_sample
    UNION ALL
    SELECT DISTINCT card_id, 'holders' AS kind, source_id, at_us FROM holder_sample
),
intervals AS (
    SELECT *, at_us - lag(at_us) OVER (PARTITION BY card_id, kind, source_id ORDER BY at_us) AS interval_us
    FROM ticks
)
SELECT
    card_id, kind, source_id,
    median(interval_us) AS usual_us,
    greatest(3 * coalesce(median(interval_us), 0), 5000000.0) AS hole_us,
    min(at_us) AS from_us,
    max(at_us) AS until_us,
    count(*) >= 3 OR max(count(*)) OVER (PARTITION BY card_id, kind) < 3 AS series
FROM intervals
GROUP BY card_id, kind, source_id
ORDER BY card_id, kind, source_id
