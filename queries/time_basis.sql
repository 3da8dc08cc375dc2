-- One row a source and process: how it is known when its lines were written, or its rows sampled.
--
-- received: when the journal got a line, by its own clock. collector: printed by the journal or a container engine. program:
-- printed by the program itself, with date and zone; of lines of a container without times of the engine too. placed: the
-- program's clock counts from its beginning, which is where its memory appears in the samples. tool: printed by the tool that
-- sampled. file: the file's modification time, which is that of its last reading. none: no time of day is known.
--
-- source_id   VARCHAR  Source.
-- process_id  VARCHAR  Process; none for lines of none, and for samples.
-- lines       BIGINT   Lines that patterns read, or samples.
-- timed       BIGINT   Of those, with a time.
-- basis       VARCHAR  received, collector, program, placed, tool, file or none.
-- assumed     VARCHAR  What is assumed with it: the year, the zone; of a tool, its zone and how that is known.
WITH assumptions AS (
    SELECT source_id, string_agg(what, '; ' ORDER BY what) AS assumed
    FROM problem
    WHERE what LIKE 'times %' OR what LIKE '%prints no time%'
    GROUP BY source_id
),
written AS (
    SELECT
        line.source_id, line.process_id, count(*) AS lines, count(line.time_us) AS timed,
        CASE
            WHEN count(line.time_us) = 0 THEN 'none'
            WHEN source.format IN ('journal-export', 'journal-json', 'journal-native', 'journal-verbose') THEN 'received'
            WHEN source.format LIKE 'journal-%' OR source.format LIKE 'dmesg%'
                OR source.format IN ('docker-json', 'docker-times', 'cri', 'podman') THEN 'collector'
            WHEN any_value(process.joined_by) = 'order of lives; the log has no wall time' THEN 'placed'
            WHEN source.format IN ('compose', 'kubectl') AND count(line.time_us) = count(*) THEN 'collector'
            ELSE 'program'
        END AS basis
    FROM line
    JOIN source USING (source_id)
    LEFT JOIN process USING (process_id)
    GROUP BY line.source_id, line.process_id, source.format
),
sampled AS (
    SELECT
        samples.source_id, NULL::VARCHAR AS process_id, count(*) AS lines, count(*) AS timed,
        CASE WHEN any_value(source.modified_us) IS NULL THEN 'tool' ELSE 'file' END AS basis
    FROM (SELECT source_id FROM card_sample UNION ALL SELECT source_id FROM holder_sample) AS samples
    JOIN source USING (source_id)
    GROUP BY samples.source_id
)
SELECT
    found.source_id, found.process_id, found.lines, found.timed, found.basis,
    CASE
        WHEN found.basis = 'tool' THEN (SELECT 'zone ' || value FROM about WHERE name = 'zone of samples')
        ELSE assumptions.assumed
    END AS assumed
FROM (SELECT * FROM written UNION ALL SELECT * FROM sampled) AS found
LEFT JOIN assumptions USING (source_id)
ORDER BY found.source_id, found.process_id NULLS FIRST, found.basis
