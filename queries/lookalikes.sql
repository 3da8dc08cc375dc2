-- stored
--
-- One row a line that looks like evidence on a topic, whoever it belongs to: what a search by words would return.
--
-- The column `says` is what the line would mean for its owner: for, against, or nothing where it only looks so. A line
-- is evidence about its owner alone. Rows without an owner are listed with their candidates and are evidence about none.
--
-- topic       VARCHAR  speculation, memory or life.
-- line_id     VARCHAR  Evidence.
-- source_id   VARCHAR  Source.
-- ordinal     BIGINT   Place among all matched lines.
-- at_us       BIGINT   When, µs UTC.
-- load_id     VARCHAR  The load that owns it.
-- scope       VARCHAR  exact, inferred or ambiguous.
-- candidates  VARCHAR  Loads that could have written an ambiguous line, separated by blanks.
-- reason      VARCHAR  Rule that gave the owner, or why there is none.
-- suspect     VARCHAR  Why it is suspected to be forged, or carried text.
-- says        VARCHAR  for, against or nothing.
-- what        VARCHAR  What the line is.
-- text        VARCHAR  The line.
WITH argument AS (
    SELECT
        load_id, coalesce(asked_method IS NOT NULL OR draft_model IS NOT NULL, false) AS asks,
        unnest(string_split(argument_lines, ' ')) AS line_id
    FROM speculation
),
said AS (
    SELECT
        'speculation' AS topic, line_id, CASE WHEN active IS NOT DISTINCT FROM false THEN 'against' ELSE 'for' END AS says,
        CASE
            WHEN active IS NOT DISTINCT FROM false THEN '"no implementations": none is set up'
            WHEN method IS NOT NULL THEN 'sets up ' || method
            ELSE 'depth ' || n_max
        END AS what
    FROM speculation_configured
    UNION ALL
    SELECT
        'speculation', line_id, CASE WHEN drafted > 0 THEN 'for' ELSE 'nothing' END,
        CASE event_scope WHEN 'load' THEN 'cumulative: ' WHEN 'interval' THEN 'interval: ' ELSE 'request: ' END
            || accepted || ' of ' || drafted || ' drafted tokens accepted'
    FROM draft_accepted
    WHERE drafted IS NOT NULL
    UNION ALL
    SELECT 'speculation', line_id, 'for', 'creates a draft context'
    FROM marker_seen
    WHERE what = 'mtp'
    UNION ALL
    SELECT 'speculation', line_id, 'for', 'loads a draft model'
    FROM model_identified
    WHERE what = 'draft'
    UNION ALL
    SELECT 'speculation', line_id, 'for', 'forecasts the memory of the ' || what
    FROM memory_estimated
    WHERE what IN ('draft model', 'MTP context')
    UNION ALL
    SELECT 'speculation', item.line_id, 'for', 'memory of the ' || item.part || ' context'
    FROM item
    WHERE item.part IN ('mtp', 'draft') AND item.mark = 'counted'
    UNION ALL
    SELECT 'speculation', line_id, 'against', 'says that speculation cannot be had'
    FROM failure_reported
    WHERE message LIKE '%speculative decoding not supported%'
    UNION ALL
    SELECT
        'speculation', line_id, CASE WHEN draft_bytes > 0 THEN 'for' ELSE 'nothing' END,
        CASE
            WHEN draft_bytes > 0 THEN 'a prompt-cache save that holds a share of a draft context'
            ELSE '"draft: 0.000 MiB": a prompt-cache save of one request, not an allocation'
        END
    FROM prompt_saved
    WHERE draft_bytes IS NOT NULL
    UNION ALL
    SELECT
        'speculation', line_id, CASE WHEN asks THEN 'for' ELSE 'against' END,
        CASE WHEN asks THEN 'arguments that ask for it' ELSE 'arguments that ask for none' END
    FROM argument
    UNION ALL
    SELECT 'memory', held.line_id, CASE WHEN coalesce(bool_or(item.mark = 'counted'), true) THEN 'for' ELSE 'nothing' END,
        CASE
            WHEN coalesce(bool_or(item.mark = 'counted'), true) THEN 'an allocation'
            WHEN bool_or(item.mark = 'planned') THEN 'an amount of a dry run, not an allocation'
            WHEN bool_or(item.mark = 'superseded') THEN 'an amount that a later line replaces'
            ELSE 'an amount that is not counted: ' || min(item.why)
        END
    FROM buffer_allocated AS held
    LEFT JOIN item USING (line_id)
    GROUP BY held.line_id
    UNION ALL
    SELECT 'memory', line_id, 'nothing', 'a forecast, not an allocation'
    FROM memory_estimated
    UNION ALL
    SELECT 'memory', line_id, 'for', 'the size of a pool'
    FROM pool_sized
    UNION ALL
    SELECT 'memory', line_id, 'nothing', 'a prompt-cache save of one request in host memory, not an allocation'
    FROM prompt_saved
    UNION ALL
    SELECT 'memory', line_id, 'against', 'an allocation that was refused'
    FROM allocation_failed
    UNION ALL
    SELECT 'memory', line_id, 'against', 'memory given back'
    FROM buffer_released
    UNION ALL
    SELECT 'life', line_id, 'for', 'a load begins'
    FROM load_began
    UNION ALL
    SELECT 'life', line_id, 'for', 'a load is ready'
    FROM load_ready
    UNION ALL
    SELECT 'life', line_id, 'for', 'a load ends'
    FROM load_ended
)
SELECT
    said.topic,
    said.line_id,
    line.source_id,
    line.ordinal,
    line.time_us AS at_us,
    coalesce(line.load_id, argument.load_id) AS load_id,
    line.scope,
    line.candidates,
    line.rule AS reason,
    CASE WHEN line.load_id IS NULL AND line.rule = 'carried text is data' THEN line.rule ELSE line.suspect END AS suspect,
    said.says,
    said.what,
    line.text
FROM said
JOIN line USING (line_id)
LEFT JOIN argument ON argument.line_id = said.line_id AND said.topic = 'speculation'
ORDER BY topic, ordinal, load_id, says, what
