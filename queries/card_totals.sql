-- stored
--
-- One row a card: what its samples show from first to last.
--
-- card_id           VARCHAR  Card.
-- gpu_index         BIGINT   Index that the telemetry tool gives.
-- name              VARCHAR  Product name.
-- driver            VARCHAR  Driver version.
-- samples           BIGINT   Samples.
-- first_us          BIGINT   First sample, µs UTC.
-- last_us           BIGINT   Last sample.
-- total_bytes       BIGINT   Installed.
-- reserved_bytes    BIGINT   Reserved by driver and firmware, at most.
-- least_bytes       BIGINT   Least used.
-- most_bytes        BIGINT   Most used.
-- most_us           BIGINT   When the most was used first.
-- least_free_bytes  BIGINT   Least free.
SELECT
    card.card_id, card.gpu_index, card.name, card.driver,
    count(sample.at_us) AS samples,
    min(sample.at_us) AS first_us,
    max(sample.at_us) AS last_us,
    max(sample.total_bytes) AS total_bytes,
    max(sample.reserved_bytes) AS reserved_bytes,
    min(sample.used_bytes) AS least_bytes,
    max(sample.used_bytes) AS most_bytes,
    arg_max(sample.at_us, (sample.used_bytes, -sample.at_us)) FILTER (sample.used_bytes IS NOT NULL) AS most_us,
    min(sample.free_bytes) AS least_free_bytes
FROM card
LEFT JOIN card_sample AS sample USING (card_id)
GROUP BY card.card_id, card.gpu_index, card.name, card.driver
ORDER BY card.gpu_index, card.card_id
