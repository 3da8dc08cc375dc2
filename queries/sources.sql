-- stored
--
-- One row an input: what it is, and what became of its records.
--
-- source_id   VARCHAR  Name of the source.
-- format      VARCHAR  Format that its content showed.
-- size_bytes  BIGINT   Bytes after decompression.
-- records     BIGINT   Records found in it.
-- read_lines  BIGINT   Records that a pattern read.
-- sized       BIGINT   Records with an amount of memory.
-- sized_read  BIGINT   Of those, read by a pattern.
-- loads       BIGINT   Loads that have lines in it.
-- problems    BIGINT   Problems that are no mere notes.
-- digest      VARCHAR  Root of the digests of its chunks.
WITH owned AS (
    SELECT source_id, count(DISTINCT load_id) AS loads FROM line GROUP BY source_id
),
troubles AS (
    SELECT source_id, count(*) AS problems FROM problem WHERE severity != 'note' GROUP BY source_id
)
SELECT
    source.source_id, source.format, source.size_bytes, source.records,
    coalesce(scan_count.read, 0) AS read_lines,
    coalesce(scan_count.sized, 0) AS sized,
    coalesce(scan_count.sized_read, 0) AS sized_read,
    coalesce(owned.loads, 0) AS loads,
    coalesce(troubles.problems, 0) AS problems,
    source.digest
FROM source
LEFT JOIN scan_count USING (source_id)
LEFT JOIN owned USING (source_id)
LEFT JOIN troubles USING (source_id)
ORDER BY source.source_id
