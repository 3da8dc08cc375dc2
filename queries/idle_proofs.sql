-- stored
--
-- One row a timed request whose load says when it is idle: whether it was, right before and right after.
--
-- Right before: of the load's lines that say that a request begins or that all slots are idle, the last one before this
-- request's first says the latter, or there is none and the load had got ready. Right after: the first one behind its last.
--
-- load_id  VARCHAR  The load.
-- request  BIGINT   Key, as in request_rates.
-- before   BOOLEAN  Whether nothing ran when it began.
-- after    BOOLEAN  Whether nothing ran once it was done; empty if no line follows.
-- proven   BOOLEAN  Both.
-- lines    VARCHAR  Evidence: the lines that say so, separated by a blank.
WITH said AS (
    SELECT load_id, ordinal, what = 'idle' AS idle, task, line_id
    FROM request_moved
    WHERE believed AND load_id IS NOT NULL AND what IN ('idle', 'launched')
),
telling AS (
    SELECT DISTINCT load_id FROM said WHERE idle
),
begun AS (
    SELECT rates.load_id, rates.request, rates.task, rates.first - 1 AS before_at, rates.last + 1 AS after_at
    FROM request_rates AS rates
    JOIN telling USING (load_id)
),
before_it AS (
    SELECT begun.*, said.idle AS idle_before, said.line_id AS before_line
    FROM begun
    ASOF LEFT JOIN said ON said.load_id = begun.load_id AND said.ordinal <= begun.before_at
),
around AS (
    SELECT before_it.*, said.idle AS idle_after, said.line_id AS after_line
    FROM before_it
    ASOF LEFT JOIN said ON said.load_id = before_it.load_id AND said.ordinal >= before_it.after_at
)
SELECT
    load_id, request,
    coalesce(idle_before, true) AS before,
    idle_after AS after,
    coalesce(idle_before, true) AND coalesce(idle_after, false) AS proven,
    concat_ws(' ', CASE WHEN idle_before THEN before_line END, CASE WHEN idle_after THEN after_line END) AS lines
FROM around
ORDER BY request
