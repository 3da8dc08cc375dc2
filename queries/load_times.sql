-- stored
--
-- How long a load took from its begin until it served: one row a load that got ready.
--
-- A supervisor that says how long the load took which it waited for says it of the one that it began last.
--
-- load_id    VARCHAR  The load.
-- loading_s  DOUBLE   Seconds.
-- basis      VARCHAR  times: from the times or the writer's own clock in two lines; printed: as the log says.
WITH starts AS (
    SELECT load.load_id, process_domain.domain, line.ordinal, ready.ordinal AS ready_ordinal
    FROM load
    JOIN process_domain USING (process_id)
    JOIN line ON line.line_id = load.begun_line
    LEFT JOIN line AS ready ON ready.line_id = load.ready_line
),
said AS (
    SELECT process_domain.domain, load_ready.ordinal, load_ready.load_id, load_ready.seconds_s
    FROM load_ready
    JOIN process_domain USING (process_id)
    WHERE load_ready.believed AND load_ready.seconds_s IS NOT NULL
),
printed AS (
    SELECT coalesce(said.load_id, starts.load_id) AS load_id, min(said.seconds_s) AS seconds_s
    FROM said
    ASOF JOIN starts ON starts.domain = said.domain AND starts.ordinal <= said.ordinal
    WHERE said.load_id IS NOT NULL OR starts.ready_ordinal <= said.ordinal
    GROUP BY coalesce(said.load_id, starts.load_id)
)
SELECT
    load.load_id,
    coalesce((load.ready_us - load.begun_us) / 1e6, load.clocked_us / 1e6, printed.seconds_s) AS loading_s,
    CASE WHEN coalesce(load.ready_us - load.begun_us, load.clocked_us) IS NOT NULL THEN 'times' ELSE 'printed' END AS basis
FROM load
LEFT JOIN printed USING (load_id)
WHERE coalesce(load.ready_us - load.begun_us, load.clocked_us) IS NOT NULL OR printed.seconds_s IS NOT NULL
ORDER BY load.load_id
