-- stored
--
-- What was free on a card when a load began: as the log says, and as telemetry shows.
--
-- `before` figures are of the last sample within two minutes before the load's first line, so they are what others held.
-- Without one the program's own word stands, which is of its process already: its context is no longer free.
--
-- load_id     VARCHAR  The load.
-- card        VARCHAR  Index of the card, else its id or the device as logged.
-- origin      VARCHAR  telemetry or log.
-- at_us       BIGINT   When, µs UTC.
-- free_bytes  BIGINT   Free.
-- used_bytes  BIGINT   Used by others.
-- line_id     VARCHAR  Evidence.
WITH samples AS (
    SELECT
        load.load_id, coalesce(card.gpu_index::VARCHAR, card.card_id) AS card, 'telemetry' AS origin, sample.at_us,
        sample.free_bytes, sample.used_bytes, sample.line_id
    FROM load
    JOIN process USING (process_id)
    JOIN card_sample AS sample
        ON sample.at_us <= least(load.begun_us, coalesce(process.begun_us, load.begun_us))
        AND sample.at_us > load.begun_us - 120000000
    JOIN card USING (card_id)
    QUALIFY row_number() OVER (
        PARTITION BY load.load_id, card.card_id ORDER BY sample.at_us DESC, sample.source_id DESC, sample."offset" DESC
    ) = 1
),
profiled AS (
    SELECT
        load_id, coalesce(device, writer_device, 'unnamed') AS card, 'log' AS origin, time_us AS at_us, free_bytes,
        total_bytes - free_bytes AS used_bytes, line_id
    FROM memory_profiled
    WHERE believed AND load_id IS NOT NULL AND free_bytes IS NOT NULL
    QUALIFY row_number() OVER (PARTITION BY load_id, card ORDER BY ordinal) = 1
),
seen AS (
    SELECT
        load_id, device AS card, 'log' AS origin, time_us AS at_us, free_bytes, total_bytes - free_bytes AS used_bytes, line_id
    FROM device_seen
    WHERE believed AND load_id IS NOT NULL AND free_bytes IS NOT NULL
    QUALIFY row_number() OVER (PARTITION BY load_id, card ORDER BY ordinal) = 1
)
SELECT * FROM samples
UNION ALL BY NAME
SELECT * FROM profiled
UNION ALL BY NAME
SELECT * FROM seen WHERE load_id NOT IN (SELECT load_id FROM profiled)
ORDER BY load_id, origin, card, line_id
