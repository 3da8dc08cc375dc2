-- stored
--
-- One row a process: what it shares with the processes whose loads can take its place.
--
-- The loads of one unit on one boot of one host compete with each other; where no service manager tells the unit, those
-- of one source. Units that stop each other by hand are not seen as one.
--
-- process_id  VARCHAR  The process.
-- domain      VARCHAR  Host, boot and unit, or the source.
SELECT
    process.process_id,
    CASE
        WHEN process.host IS NOT NULL AND process.unit IS NOT NULL
            THEN process.host || ' ' || coalesce(process.boot, '') || ' ' || process.unit
        ELSE min(line.source_id)
    END AS domain
FROM process
LEFT JOIN line USING (process_id)
GROUP BY process.process_id, process.host, process.boot, process.unit
ORDER BY process.process_id
