-- stored
--
-- One row a load, device and moment at which it is explained; `log` where nothing measured it.
--
-- load_id         VARCHAR  The load.
-- device          VARCHAR  Device.
-- place           VARCHAR  card, host, shared or remote.
-- moment          VARCHAR  last, ready, asleep, at or log.
-- phase           VARCHAR  Phase of the load at that moment; empty for `log`.
-- at_us           BIGINT   When it was measured, µs UTC.
-- measured_bytes  BIGINT   What was measured.
WITH places AS (
    SELECT DISTINCT load_id, device, place FROM vram_ledger
    UNION
    SELECT DISTINCT load_id, device, 'card' FROM measure
    UNION
    SELECT DISTINCT load_id, device, 'card' FROM runtime
    UNION
    SELECT DISTINCT load_id, device, 'card' FROM pool_budget
)
SELECT
    places.load_id,
    places.device,
    places.place,
    coalesce(measure.moment, 'log') AS moment,
    (
        SELECT arg_max(phase.phase, (phase.at_us, phase.number)) FROM phase
        WHERE phase.load_id = places.load_id AND phase.at_us <= measure.at_us
    ) AS phase,
    measure.at_us,
    measure.measured_bytes
FROM places
LEFT JOIN measure USING (load_id, device)
ORDER BY places.load_id, places.device, moment, places.place
