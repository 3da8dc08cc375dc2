-- stored
--
-- One row a device name of a process: what it stands for, and how that is known.
--
-- process_id  VARCHAR  Process; the names are relative to it.
-- logged      VARCHAR  Name as logged.
-- device      VARCHAR  Device that it stands for.
-- place       VARCHAR  card, host, shared or remote.
-- spread      BOOLEAN  Whether the logged figure is one of several equal shares.
-- card_id     VARCHAR  Card, if known.
-- gpu_index   BIGINT   Index that the telemetry tool gives the card.
-- card        VARCHAR  Product name of the card.
-- pid         BIGINT   The one host process that holds it, where that is known.
-- joined_by   VARCHAR  How the card is known.
-- join_scope  VARCHAR  exact or inferred.
SELECT
    device.process_id, device.logged, device.device, device.place, device.spread, device.card_id, card.gpu_index,
    card.name AS card, device.pid, device.joined_by, device.join_scope
FROM device
LEFT JOIN card USING (card_id)
ORDER BY device.process_id, device.device, device.logged
