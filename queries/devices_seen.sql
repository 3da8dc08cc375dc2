-- stored
--
-- One row a device that a load's process listed, with what was free on it at that moment.
--
-- process_id   VARCHAR  Process.
-- load_id      VARCHAR  Load, where the line is one of a load.
-- device       VARCHAR  Name the program gives it; relative to the process.
-- description  VARCHAR  Product name.
-- pci_bus_id   VARCHAR  PCI bus id: the key to the physical card.
-- total_bytes  BIGINT   Memory in all.
-- free_bytes   BIGINT   Memory free at that moment.
-- taken_bytes  BIGINT   The rest: everybody's, what the driver reserves included.
-- time_us      BIGINT   µs since the epoch, UTC.
-- line_id      VARCHAR  Evidence.
SELECT
    process_id, load_id, device, description, pci_bus_id, total_bytes, free_bytes, total_bytes - free_bytes AS taken_bytes,
    time_us, line_id
FROM device_seen
WHERE believed AND process_id IS NOT NULL
ORDER BY ordinal, device
