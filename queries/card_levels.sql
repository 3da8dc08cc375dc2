-- stored
--
-- What was used on a card from when to when: one row a stretch of samples with the same amount.
--
-- Everybody's use, without what driver and firmware reserve. A stretch lasts until the next sample differs.
--
-- card_id      VARCHAR  Card.
-- gpu_index    BIGINT   Index that the telemetry tool gives.
-- from_us      BIGINT   First sample with this amount, µs UTC.
-- to_us        BIGINT   First sample with another, or the last one.
-- used_bytes   BIGINT   Amount.
-- total_bytes  BIGINT   Installed.
WITH sampled AS (
    SELECT card_sample.*
    FROM card_sample
    JOIN sample_cadence
        ON sample_cadence.card_id = card_sample.card_id AND sample_cadence.source_id = card_sample.source_id
        AND sample_cadence.kind = 'card' AND sample_cadence.series
    WHERE card_sample.used_bytes IS NOT NULL
),
changes AS (
    SELECT
        *, used_bytes IS DISTINCT FROM lag(used_bytes) OVER (
            PARTITION BY card_id ORDER BY at_us, source_id, "offset"
        ) AS begins,
        max(at_us) OVER (PARTITION BY card_id) AS last_us
    FROM sampled
)
SELECT
    changes.card_id, card.gpu_index, changes.at_us AS from_us,
    coalesce(
        lead(changes.at_us) OVER (
            PARTITION BY changes.card_id ORDER BY changes.at_us, changes.source_id, changes."offset"
        ),
        changes.last_us
    ) AS to_us,
    changes.used_bytes, changes.total_bytes
FROM changes
JOIN card USING (card_id)
WHERE changes.begins
ORDER BY card.gpu_index, changes.card_id, from_us, to_us, changes.used_bytes
