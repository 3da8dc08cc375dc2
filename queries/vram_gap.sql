-- stored
--
-- Measured use of a load on a device at a moment, what items account for, and the signed rest.
--
-- measured = attributed + unexplained, exactly; nothing is clamped. The bounds of the rest come from the intervals of
-- the items and the rounding of the measurement.
--
-- load_id            VARCHAR  The load.
-- moment             VARCHAR  last, ready, asleep or at.
-- device             VARCHAR  Device.
-- card_id            VARCHAR  Card.
-- pid                BIGINT   Host process id.
-- at_us              BIGINT   When it was measured, µs UTC.
-- measured_by        VARCHAR  process, card_less_baseline or card.
-- joined_by          VARCHAR  How the measurement was joined.
-- join_scope         VARCHAR  exact or inferred.
-- measured_bytes     BIGINT   Measured.
-- attributed_bytes   BIGINT   Sum of the items.
-- unexplained_bytes  BIGINT   The signed rest.
-- low_bytes          BIGINT   Lower bound of the rest.
-- high_bytes         BIGINT   Upper bound of the rest.
-- growth_bytes       BIGINT   Measured growth since the load got ready.
-- line_id            VARCHAR  Evidence: the row of telemetry.
WITH items AS (
    SELECT
        load_id, moment, device,
        sum(size_bytes)::BIGINT AS attributed_bytes,
        sum(low_bytes)::BIGINT AS low_bytes,
        sum(high_bytes)::BIGINT AS high_bytes
    FROM vram_items
    GROUP BY load_id, moment, device
)
SELECT
    measure.load_id,
    measure.moment,
    measure.device,
    measure.card_id,
    measure.pid,
    measure.at_us,
    measure.measured_by,
    measure.joined_by,
    measure.join_scope,
    measure.measured_bytes,
    coalesce(items.attributed_bytes, 0) AS attributed_bytes,
    measure.measured_bytes - coalesce(items.attributed_bytes, 0) AS unexplained_bytes,
    measure.measured_bytes - measure.rounding_bytes - coalesce(items.high_bytes, 0) AS low_bytes,
    measure.measured_bytes + measure.rounding_bytes - coalesce(items.low_bytes, 0) AS high_bytes,
    measure.measured_bytes - measure.ready_bytes AS growth_bytes,
    measure.line_id
FROM measure
LEFT JOIN items USING (load_id, moment, device)
ORDER BY measure.load_id, measure.moment, measure.device
