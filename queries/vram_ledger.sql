-- stored
--
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
    load_id,
    device,
    place,
    card_id,
    part,
    kind,
    sum(size_bytes)::BIGINT AS size_bytes,
    sum(bound_bytes)::BIGINT AS bound_bytes,
    CASE WHEN bool_or(basis = 'derived') THEN 'derived' ELSE 'logged' END AS basis,
    string_agg(line_id, ' ' ORDER BY ordinal) AS lines
FROM ledger_lines
WHERE mark = 'counted'
GROUP BY load_id, device, place, card_id, part, kind
ORDER BY load_id, device, min(ordinal), part, kind, size_bytes, place, card_id
