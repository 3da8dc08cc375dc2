-- stored
--
-- One row a model load: what it holds, when it began, got ready and ended, and how.
--
-- Times are µs since the epoch, UTC; empty where the log has no wall time that could be resolved.
--
-- load_id     VARCHAR  The load.
-- number      BIGINT   Its place among the loads of the case, by time.
-- engine      VARCHAR  Program that holds it.
-- version     VARCHAR  Version of that program, as reported: of a supervisor that holds it, the supervisor's.
-- model       VARCHAR  Best name that the log gives.
-- label       VARCHAR  What its supervisor calls it; a name that a line gives goes before that of its file.
-- unit        VARCHAR  Unit of its service; else its container, or what it is logged as.
-- pid         BIGINT   Host process id, if trusted or joined.
-- begun_us    BIGINT   Begin.
-- ready_us    BIGINT   Ready.
-- closing_us  BIGINT   Begin of its clean-up.
-- ended_us    BIGINT   End.
-- end_reason  VARCHAR  How it ended; log_ends if the log does not say.
-- loading_s   DOUBLE   Seconds from begin to ready: by times, else its writer's own clock, else as its supervisor says.
-- layers      VARCHAR  Layers offloaded of all, as last printed: a corroboration, no identity.
-- parts       VARCHAR  Models that its amounts are of, and others that a line says it loads, in order: target, draft, mtp, vision.
-- models      BIGINT   Models with weights of their own: its target, and each draft or MTP head that a line shows to be loaded beside it; empty if none shows.
-- lines       BIGINT   Lines that belong to it.
WITH layers AS (
    SELECT load_id, arg_max(offloaded || '/' || total, ordinal) AS layers
    FROM layers_offloaded
    WHERE believed AND load_id IS NOT NULL
    GROUP BY load_id
),
names AS (
    SELECT load_id, arg_min(model, ordinal) AS name
    FROM model_identified
    WHERE believed AND load_id IS NOT NULL AND what = 'name'
    GROUP BY load_id
),
parts AS (
    SELECT load_id, string_agg(part, ' ' ORDER BY first, part) AS parts
    FROM (
        SELECT load_id, part, min(ordinal) AS first
        FROM (
            SELECT load_id, part, ordinal FROM ledger_lines WHERE mark = 'counted'
            UNION ALL
            SELECT load_id, part, ordinal FROM model_identified
            WHERE believed AND phase IN ('fit', 'allocate') AND part <> 'target'
        )
        GROUP BY load_id, part
    )
    WHERE load_id IS NOT NULL
    GROUP BY load_id
),
targets AS (
    -- What it plans, holds, tries to hold or does. A refused start, options and an end show no model.
    SELECT DISTINCT load_id
    FROM line
    WHERE load_id IS NOT NULL AND (
        event IN (
            'load_began', 'load_ready', 'buffer_allocated', 'memory_estimated', 'memory_profiled', 'breakdown_reported',
            'cache_described', 'layers_offloaded', 'pool_sized', 'allocation_failed', 'speculation_configured',
            'scheduler_decided', 'engine_measured'
        )
        OR starts_with(event, 'request_') OR starts_with(event, 'draft_')
    )
),
beside AS (
    -- Weights count by the part that they are of. Lines that only name a model name the one whose weights they are.
    SELECT load_id, greatest(count(DISTINCT part) FILTER (holds), 1) AS models
    FROM (
        SELECT load_id, part, true AS holds
        FROM item
        WHERE mark = 'counted' AND kind = 'weights' AND part IN ('draft', 'mtp')
        UNION ALL
        SELECT load_id, NULL, false
        FROM model_identified
        WHERE believed AND phase IN ('fit', 'allocate') AND what = 'draft'
        UNION ALL
        SELECT load_id, NULL, false FROM memory_estimated WHERE believed AND what = 'draft model'
        UNION ALL
        -- By a method that drafts with a model: a head's may be on the target's weights.
        SELECT load_id, NULL, false
        FROM speculation_configured
        WHERE believed AND phase IN ('fit', 'allocate') AND active AND part = 'draft'
        UNION ALL
        -- What drafts from the text says that it loads a drafter too.
        SELECT load_id, NULL, false
        FROM marker_seen LEFT JOIN speculation USING (load_id)
        WHERE believed AND phase IN ('fit', 'allocate') AND what IN ('draft', 'draft_shares')
            AND NOT regexp_full_match(coalesce(method, ''), '(ngram|suffix)[^,]*')
        UNION ALL
        -- A server does not get ready without the draft that it is told to load.
        SELECT load_id, NULL, false
        FROM speculation JOIN load USING (load_id)
        WHERE draft_model IS NOT NULL AND ready_line IS NOT NULL AND NOT said_off AND NOT refused
    )
    WHERE load_id IS NOT NULL
    GROUP BY load_id
),
lines AS (
    SELECT load_id, count(*) AS lines FROM line WHERE load_id IS NOT NULL GROUP BY load_id
)
SELECT
    load.load_id,
    load.number,
    load.engine,
    CASE WHEN parent.program = load.engine THEN coalesce(parent.version, process.version) ELSE process.version END AS version,
    load.model,
    CASE WHEN load.label IS NULL OR ends_with(load.model, load.label) THEN coalesce(names.name, load.label) ELSE load.label END
        AS label,
    process.unit,
    process.pid,
    load.begun_us,
    load.ready_us,
    load.closing_us,
    load.ended_us,
    load.end_reason,
    load_times.loading_s,
    layers.layers,
    parts.parts,
    -- A head or a draft stands beside a target, whether or not the log goes back to it.
    CASE WHEN beside.models IS NOT NULL OR targets.load_id IS NOT NULL THEN 1 + coalesce(beside.models, 0) END AS models,
    coalesce(lines.lines, 0) AS lines
FROM load
JOIN process USING (process_id)
LEFT JOIN process AS parent ON parent.process_id = process.parent_id
LEFT JOIN layers USING (load_id)
LEFT JOIN names USING (load_id)
LEFT JOIN load_times USING (load_id)
LEFT JOIN parts USING (load_id)
LEFT JOIN targets USING (load_id)
LEFT JOIN beside USING (load_id)
LEFT JOIN lines USING (load_id)
ORDER BY load.number
