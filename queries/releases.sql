-- stored
--
-- One row a line that says that a load gave memory back.
--
-- load_id          VARCHAR  The load.
-- time_us          BIGINT   µs since the epoch, UTC.
-- device           VARCHAR  Device as logged.
-- kind             VARCHAR  What it held.
-- size_bytes       BIGINT   Amount given back.
-- remaining_bytes  BIGINT   What is still in use on the device, everybody's.
-- phase            VARCHAR  Phase of the load.
-- line_id          VARCHAR  Evidence.
SELECT load_id, time_us, device, kind, size_bytes, remaining_bytes, phase, line_id
FROM buffer_released
WHERE believed AND load_id IS NOT NULL
ORDER BY load_id, ordinal
