-- stored
--
-- One row an amount of a load that is not on a card: host memory, shared names, other machines.
--
-- A mapped file is an extent of the file, not memory that is held.
--
-- load_id      VARCHAR  The load.
-- device       VARCHAR  Device as the program names it.
-- place        VARCHAR  host, shared or remote.
-- part         VARCHAR  Part of the load.
-- kind         VARCHAR  What the amount holds.
-- size_bytes   BIGINT   Sum.
-- bound_bytes  BIGINT   Sum of the rounding bounds.
-- lines        VARCHAR  Evidence: line ids, separated by blanks.
SELECT load_id, device, place, part, kind, size_bytes, bound_bytes, lines
FROM vram_ledger
WHERE place != 'card'
ORDER BY load_id, device, part, kind
