-- stored
--
-- One row a forecast that a load printed: an estimate, never an allocation.
--
-- load_id          VARCHAR  The load.
-- what             VARCHAR  What the forecast is for.
-- kind             VARCHAR  Kind of item it would become, if it is one kind.
-- device           VARCHAR  Device, if it is for one.
-- size_bytes       BIGINT   Amount forecast.
-- available_bytes  BIGINT   What the program held against it.
-- fits             BOOLEAN  Whether it was not more than that; empty if the line does not say.
-- phase            VARCHAR  Phase of the load.
-- line_id          VARCHAR  Evidence.
SELECT
    load_id, what, kind, device, size_bytes, available_bytes, size_bytes <= available_bytes AS fits, phase, line_id
FROM memory_estimated
WHERE believed AND load_id IS NOT NULL
ORDER BY load_id, ordinal
