-- stored
--
-- What a supervisor said between the load before and a load of an episode that took another's place: one row a line.
--
-- A supervisor that prints no such line leaves the cause open. What would stop it follows from the cause alone. Where the
-- line has no figure of what is available, it is what the supervisor's view of each card said last before it.
--
-- episode          BIGINT   Number of the episode.
-- load_id          VARCHAR  The load that came.
-- line_id          VARCHAR  The line.
-- ordinal          BIGINT   Its place.
-- cause            VARCHAR  models_max, memory, exclusive (a rule says which may be loaded together), retry or other.
-- reason           VARCHAR  Reason in the line's words.
-- victim           VARCHAR  Model that has to go, if named.
-- predicted_bytes  BIGINT   Need as predicted.
-- available_bytes  BIGINT   What the supervisor thinks is available.
-- available_from   VARCHAR  line, or view.
-- detail           VARCHAR  The line's own figures, as printed.
-- remedy           VARCHAR  What would stop it; {n} stands for the number of models.
-- text             VARCHAR  The line.
WITH lines AS (
    SELECT scheduler_decided.*, process_domain.domain, line.text, line_at.at
    FROM scheduler_decided
    JOIN process_domain USING (process_id)
    JOIN line_at USING (line_id)
    JOIN line USING (line_id)
    WHERE scheduler_decided.believed AND scheduler_decided.what IN ('evict', 'limit')
),
-- Each card's account, one line a card: the last of each before a line that evicts, of all cards together.
views AS (
    SELECT process_id, device, ordinal, available_bytes
    FROM scheduler_decided
    WHERE what = 'view' AND believed AND device IS NOT NULL
),
asked AS (
    SELECT lines.line_id, lines.process_id, lines.ordinal, cards.device
    FROM lines
    JOIN (SELECT DISTINCT process_id, device FROM views) AS cards USING (process_id)
    WHERE lines.available_bytes IS NULL
),
viewed AS (
    SELECT asked.line_id, sum(views.available_bytes)::BIGINT AS seen_bytes
    FROM asked
    ASOF JOIN views
        ON views.process_id = asked.process_id AND views.device = asked.device AND views.ordinal <= asked.ordinal
    GROUP BY asked.line_id
),
caused AS (
    SELECT
        swap_runs.episode, swap_runs.load_id, lines.*,
        CASE
            WHEN lines.reason LIKE 'set=%' OR lines.reason LIKE 'group:%' OR lines.reason ILIKE 'exclusive mode%'
                THEN 'exclusive'
            WHEN lines.reason ILIKE '%models_max%' OR lines.reason ILIKE '%max runners%' THEN 'models_max'
            WHEN lines.reason ILIKE '%retry%' THEN 'retry'
            WHEN lines.predicted_bytes IS NOT NULL OR lines.reason ILIKE '%memory%' THEN 'memory'
            ELSE 'other'
        END AS cause
    FROM swap_runs
    JOIN load_starts USING (load_id)
    JOIN load_starts AS before ON before.load_id = load_starts.before_id
    JOIN lines ON lines.domain = swap_runs.domain AND lines.at > before.begun_at AND lines.at <= load_starts.begun_at
    WHERE swap_runs.swaps OR swap_runs.kind = 'reload'
)
SELECT
    episode, load_id, line_id, ordinal, cause, coalesce(reason, 'evicted') AS reason, victim, predicted_bytes,
    coalesce(available_bytes, seen_bytes) AS available_bytes,
    CASE WHEN available_bytes IS NOT NULL THEN 'line' WHEN seen_bytes IS NOT NULL THEN 'view' END AS available_from,
    detail,
    CASE
        WHEN cause = 'models_max' AND reason ILIKE '%max runners%'
            THEN 'Allow {n} models at once (OLLAMA_MAX_LOADED_MODELS={n})'
        WHEN cause = 'models_max' THEN 'Allow {n} models at once (--models-max {n})'
        WHEN cause = 'memory' AND predicted_bytes IS NOT NULL
            THEN 'Ask for a smaller context, for the prediction counts it in full; or give each model its own card'
        WHEN cause = 'exclusive'
            THEN 'Put these {n} into one set or group whose members may be loaded together, if the cards hold them'
        WHEN cause = 'memory' THEN 'Ask for a smaller context, or give each model its own card'
    END AS remedy,
    text
FROM caused
LEFT JOIN viewed USING (line_id)
ORDER BY episode, ordinal, load_id
