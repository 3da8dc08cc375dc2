-- stored
--
-- One failure of a load: the line that can be its root cause, and how many lines only follow from it.
--
-- Failure lines of one load belong together until a request or a ready line stands between them, or 30 seconds. The first
-- line that can be a root is the cause that the log gives; wrappers and consequences never are. A load that ended badly
-- without any such line has one row with none: it was killed, or it exited with a status that its supervisor tells, or it
-- died without a word. Wrappers and consequences after an orderly end began are of that end: they are no failure.
--
-- load_id          VARCHAR  The load.
-- number           BIGINT   Its place among the loads of the case.
-- failure          BIGINT   1, 2, … within the load.
-- outcome          VARCHAR  ended (the load ended of it), survived, or log_ends.
-- error_class      VARCHAR  Class of the root; killed, exited or no_word where no line can be one.
-- message          VARCHAR  The root's words; of one that exited its supervisor's.
-- root_line        VARCHAR  The root; none if no line can be one.
-- at_us            BIGINT   When, µs UTC.
-- first_ordinal    BIGINT   Place of its first line.
-- last_ordinal     BIGINT   Place of its last line.
-- roots            BIGINT   Lines that can be a root, repeats included.
-- followed         BIGINT   Wrappers and consequences.
-- device           VARCHAR  Device, as printed.
-- tried_bytes      BIGINT   Amount asked for.
-- free_bytes       BIGINT   Free on the device.
-- total_bytes      BIGINT   Device memory in all.
-- process_bytes    BIGINT   Held by the process.
-- allocated_bytes  BIGINT   Held by its allocator.
-- reserved_bytes   BIGINT   Reserved by the allocator and not allocated.
-- others_bytes     BIGINT   Held by others; with the process's own context where only its allocator is told of.
-- lines            VARCHAR  Evidence: line ids in order, separated by blanks.
WITH orderly AS (
    SELECT load_id, min(ordinal) AS ordinal
    FROM load_ended
    WHERE believed AND load_id IS NOT NULL AND reason IN ('exit', 'stopped', 'evicted', 'sleep')
    GROUP BY load_id
),
progress AS (
    SELECT load_id, ordinal FROM request_moved
    WHERE believed AND load_id IS NOT NULL AND what IN ('launched', 'released', 'idle')
    UNION ALL
    SELECT load_id, ordinal FROM load_ready WHERE believed AND load_id IS NOT NULL
),
between_lines AS (
    SELECT
        failing.*,
        (SELECT count(*) FROM progress WHERE progress.load_id = failing.load_id AND progress.ordinal < failing.ordinal)
            AS gone
    FROM failure_lines AS failing
    LEFT JOIN orderly USING (load_id)
    WHERE failing.rank = 'root' OR orderly.ordinal IS NULL OR failing.ordinal < orderly.ordinal
        OR EXISTS (
            SELECT 1 FROM failure_lines AS earlier
            WHERE earlier.load_id = failing.load_id AND earlier.ordinal < orderly.ordinal
        )
),
apart AS (
    SELECT
        *,
        (
            coalesce(gone > lag(gone) OVER told, false)
            OR coalesce(time_us - lag(time_us) OVER told > 30000000, false)
        )::INTEGER AS apart
    FROM between_lines
    WINDOW told AS (PARTITION BY load_id ORDER BY ordinal)
),
numbered AS (
    SELECT *, 1 + sum(apart) OVER (PARTITION BY load_id ORDER BY ordinal) AS failure FROM apart
),
grouped AS (
    SELECT
        load_id,
        failure::BIGINT AS failure,
        min(ordinal) AS first_ordinal,
        max(ordinal) AS last_ordinal,
        min(time_us) AS at_us,
        max(time_us) AS last_us,
        count(*) FILTER (rank = 'root') AS roots,
        count(*) FILTER (rank <> 'root') AS followed,
        -- among lines that can be a root the first wins
        arg_min(line_id, ordinal) FILTER (rank = 'root') AS root_line,
        string_agg(line_id, ' ' ORDER BY ordinal) AS lines
    FROM numbered
    GROUP BY load_id, failure
),
ended AS (
    SELECT
        grouped.*,
        failure = max(failure) OVER (PARTITION BY grouped.load_id) AS is_last,
        EXISTS (
            SELECT 1 FROM progress WHERE progress.load_id = grouped.load_id AND progress.ordinal > grouped.last_ordinal
        ) AS went_on
    FROM grouped
),
silent AS (
    SELECT load.load_id, load.ended_us, line.ordinal
    FROM load
    LEFT JOIN line ON line.line_id = load.ended_line
    WHERE load.end_reason IN ('crashed', 'killed', 'failed', 'aborted')
        AND load.load_id NOT IN (SELECT load_id FROM ended WHERE is_last AND NOT went_on)
),
told AS (
    SELECT
        load_id,
        arg_max(coalesce(detail, 'exit status ' || status), ordinal) AS message,
        string_agg(line_id, ' ' ORDER BY ordinal) AS lines
    FROM load_ended
    WHERE believed AND load_id IS NOT NULL AND reason = 'crashed' AND (detail IS NOT NULL OR status <> 0)
    GROUP BY load_id
),
outcomes AS (
    SELECT
        ended.load_id,
        ended.failure,
        CASE
            WHEN ended.went_on OR NOT ended.is_last THEN 'survived'
            -- its clean-up began, and the log stops
            WHEN load.ended_line IS NULL THEN CASE WHEN load.closing_us IS NULL THEN 'log_ends' ELSE 'ended' END
            WHEN load.end_reason IN ('crashed', 'killed', 'failed', 'aborted')
                AND coalesce(load.ended_us - ended.last_us < 120000000, true) THEN 'ended'
            WHEN coalesce(load.ended_us - ended.last_us < 5000000, load.ready_line IS NULL) THEN 'ended'
            ELSE 'survived'
        END AS outcome,
        ended.root_line, ended.at_us, ended.first_ordinal, ended.last_ordinal, ended.roots, ended.followed, ended.lines
    FROM ended
    JOIN load USING (load_id)
    UNION ALL BY NAME
    SELECT
        load_id, 1 + coalesce((SELECT max(failure) FROM ended WHERE ended.load_id = silent.load_id), 0) AS failure,
        'ended' AS outcome, ended_us AS at_us, ordinal AS first_ordinal, ordinal AS last_ordinal, 0 AS roots, 0 AS followed
    FROM silent
)
SELECT
    outcomes.load_id,
    load.number,
    outcomes.failure,
    outcomes.outcome,
    CASE
        WHEN root.error_class IS NOT NULL THEN root.error_class
        WHEN load.end_reason = 'killed' AND outcomes.outcome = 'ended' THEN 'killed'
        WHEN told.message IS NOT NULL AND outcomes.outcome = 'ended' THEN 'exited'
        ELSE 'no_word'
    END AS error_class,
    CASE WHEN root.error_class IS NULL AND load.end_reason <> 'killed' AND outcomes.outcome = 'ended' THEN told.message
        ELSE root.message END AS message,
    outcomes.root_line,
    outcomes.at_us,
    outcomes.first_ordinal,
    outcomes.last_ordinal,
    outcomes.roots,
    outcomes.followed,
    root.device,
    root.tried_bytes,
    root.free_bytes,
    root.total_bytes,
    root.process_bytes,
    root.allocated_bytes,
    root.reserved_bytes,
    root.others_bytes,
    coalesce(outcomes.lines, told.lines, load.ended_line) AS lines
FROM outcomes
JOIN load USING (load_id)
LEFT JOIN told USING (load_id)
LEFT JOIN failure_lines AS root ON root.line_id = outcomes.root_line
ORDER BY load.number, outcomes.failure
