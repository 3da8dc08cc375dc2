-- macro (asked TIMESTAMPTZ)
--
-- One row a card: what it showed at a moment, by the last sample before it, and what its processes held of that.
--
-- A moment without a zone is UTC. A sample counts for at most a minute.
--
-- card_id         VARCHAR  Card.
-- gpu_index       BIGINT   Index that the telemetry tool gives.
-- name            VARCHAR  Product name.
-- at_us           BIGINT   When the sample was taken, µs UTC.
-- total_bytes     BIGINT   Installed.
-- reserved_bytes  BIGINT   Reserved by driver and firmware.
-- used_bytes      BIGINT   Used.
-- free_bytes      BIGINT   Free.
-- held_bytes      BIGINT   Sum of what processes held; empty if none was sampled.
-- rest_bytes      BIGINT   Used and held by no sampled process; signed.
-- line_id         VARCHAR  Evidence: the row of telemetry.
WITH latest AS (
    SELECT DISTINCT ON (card_id) * FROM card_sample
    WHERE at_us <= epoch_us(asked::TIMESTAMPTZ) AND at_us >= epoch_us(asked::TIMESTAMPTZ) - 60000000
    ORDER BY card_id, at_us DESC, source_id DESC, "offset" DESC
),
held AS (
    SELECT card_id, sum(used_bytes)::BIGINT AS held_bytes FROM holders_at(asked) GROUP BY card_id
)
SELECT
    latest.card_id, card.gpu_index, card.name, latest.at_us, latest.total_bytes, latest.reserved_bytes,
    latest.used_bytes, latest.free_bytes, held.held_bytes, latest.used_bytes - held.held_bytes AS rest_bytes,
    latest.line_id
FROM latest
LEFT JOIN card USING (card_id)
LEFT JOIN held USING (card_id)
ORDER BY card.gpu_index, latest.card_id
