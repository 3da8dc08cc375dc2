-- stored
--
-- One row a place where the tables of a case contradict each other: an owner, an amount or a measurement is wrong.
--
-- There is none in a case that nobody changed; explain-vram answers nothing where there is one.
--
-- what     VARCHAR  What is wrong.
-- load_id  VARCHAR  Whose ledger or measurement.
-- line_id  VARCHAR  The line or row of telemetry.
WITH counted AS (
    SELECT * FROM item WHERE mark = 'counted'
),
amounts AS (
    SELECT line_id, load_id, size_bytes FROM buffer_allocated
    UNION ALL
    SELECT line_id, load_id, size_bytes FROM memory_estimated
    UNION ALL
    SELECT line_id, load_id, weights_bytes FROM memory_profiled WHERE weights_bytes IS NOT NULL
    UNION ALL
    SELECT line_id, load_id, size_bytes FROM cache_described WHERE size_bytes IS NOT NULL
),
shown AS (
    SELECT measure.*, load.process_id, load.ready_us, coalesce(load.closing_us, load.ended_us) AS closing_us
    FROM measure
    JOIN load USING (load_id)
),
wrong AS (
    SELECT 'an amount of another load''s line is counted' AS what, counted.load_id, counted.line_id
    FROM counted
    WHERE NOT EXISTS (
        FROM line WHERE line.line_id = counted.line_id AND line.load_id = counted.load_id
        AND line.scope IN ('exact', 'inferred') AND line.suspect IS NULL AND line.carrier IS NULL
    )
    UNION ALL
    SELECT 'a line is counted twice', load_id, line_id
    FROM counted
    GROUP BY load_id, line_id, logged, kind, part
    HAVING count(*) > 1
    UNION ALL
    SELECT 'an amount is not what its line says', item.load_id, item.line_id
    FROM item
    WHERE NOT EXISTS (
        FROM amounts WHERE amounts.line_id = item.line_id AND amounts.load_id = item.load_id
        AND amounts.size_bytes = item.size_bytes
    )
    UNION ALL
    SELECT 'a forecast or a dry run is counted', load_id, line_id
    FROM counted
    WHERE basis = 'estimated' OR EXISTS (
        FROM line WHERE line.line_id = counted.line_id AND line.load_id = counted.load_id AND line.phase = 'fit'
    )
    UNION ALL
    SELECT 'an amount is counted although another one replaces it', load_id, line_id
    FROM counted
    WHERE superseded_by IS NOT NULL
    UNION ALL
    SELECT 'an amount counts for a load of another process', counted.load_id, counted.line_id
    FROM counted
    LEFT JOIN load ON load.load_id = counted.load_id AND load.process_id = counted.process_id
    WHERE load.load_id IS NULL
    UNION ALL
    SELECT 'a measurement is not what its sample says', load_id, line_id
    FROM shown
    WHERE measured_by = 'process' AND NOT EXISTS (
        FROM holder_sample AS sample
        WHERE sample.line_id = shown.line_id AND sample.card_id = shown.card_id AND sample.pid = shown.pid
            AND sample.at_us = shown.at_us AND sample.used_bytes = shown.measured_bytes
    )
    UNION ALL
    SELECT 'a measurement is of another process', load_id, line_id
    FROM shown
    WHERE measured_by = 'process' AND EXISTS (
        FROM holder_sample AS sample
        WHERE sample.line_id = shown.line_id AND sample.process_id IS DISTINCT FROM shown.process_id
    )
    UNION ALL
    SELECT 'a measurement is more than its card''s sample says', load_id, line_id
    FROM shown
    WHERE measured_by != 'process' AND NOT EXISTS (
        FROM card_sample AS sample
        WHERE sample.line_id = shown.line_id AND sample.card_id = shown.card_id AND sample.at_us = shown.at_us
            AND sample.used_bytes >= shown.measured_bytes
            AND (shown.measured_by = 'card_less_baseline' OR sample.used_bytes = shown.measured_bytes)
    )
    UNION ALL
    SELECT 'a measurement was taken when its load was not there', load_id, line_id
    FROM shown
    WHERE moment != 'at' AND (at_us < ready_us OR at_us >= closing_us)
    UNION ALL
    SELECT 'a measurement is stale: a later sample shows the load too', load_id, line_id
    FROM shown
    WHERE moment = 'last' AND measured_by = 'process'
        AND load_id NOT IN (SELECT load_id FROM phase WHERE phase = 'asleep')
        AND EXISTS (
            FROM holder_sample AS sample
            WHERE sample.card_id = shown.card_id AND sample.pid = shown.pid AND sample.used_bytes IS NOT NULL
                AND sample.process_id = shown.process_id
                AND sample.at_us > shown.at_us AND sample.at_us < shown.closing_us
        )
    UNION ALL
    SELECT 'a runtime counts twice', load_id, min(line_id)
    FROM runtime
    GROUP BY load_id, device
    HAVING count(*) > 1
    UNION ALL
    SELECT 'memory that is on no card is put on one', load.load_id, NULL
    FROM device
    JOIN load USING (process_id)
    WHERE device.place != 'card' AND device.card_id IS NOT NULL
)
SELECT DISTINCT what, load_id, line_id FROM wrong ORDER BY what, load_id, line_id
