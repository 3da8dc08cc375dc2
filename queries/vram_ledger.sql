-- What the log says a load holds on a device, by part and kind.
--
-- Sums only amounts that ownership marked `counted`. Each logged figure is off by up to half of its last place. A name
-- that stands for several cards gives its figure to each of them, as `derived`.
--
-- load_id      VARCHAR  The load.
-- device       VARCHAR  Device.
-- place        VARCHAR  card, host, shared or remote.
-- card_id      VARCHAR  Card, if known.
-- part         VARCHAR  Part of the load.
-- kind         VARCHAR  What the amount holds.
-- size_bytes   BIGINT   Sum.
-- bound_bytes  BIGINT   Sum of the rounding bounds.
-- basis        VARCHAR  logged or derived.
-- lines        VARCHAR  Evidence: line ids in order, separated by blanks.
SELECT
    item.load_id,
    device.device,
    device.place,
    device.card_id,
    item.part,
    item.kind,
    sum(item.size_bytes)::BIGINT AS size_bytes,
    sum(item.bound_bytes)::BIGINT AS bound_bytes,
    CASE WHEN bool_or(device.spread) THEN 'derived' ELSE 'logged' END AS basis,
    string_agg(item.line_id, ' ' ORDER BY line.ordinal) AS lines
FROM item
JOIN device USING (process_id, logged)
JOIN line USING (line_id)
WHERE item.mark = 'counted' AND line.event = 'buffer_allocated'
GROUP BY item.load_id, device.device, device.place, device.card_id, item.part, item.kind
ORDER BY item.load_id, device.device, min(line.ordinal)
