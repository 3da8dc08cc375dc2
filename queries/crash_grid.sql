-- stored
--
-- Requests by model and size of their prompt: how many were served, and how many were in flight when their load failed.
--
-- A size is a power of two up to the next. A cell with no crash is a counter-example to any cause that would hold in it too.
--
-- model         VARCHAR  Model, by the best name that the log gives.
-- tokens_from   BIGINT   Least tokens of the cell.
-- tokens_below  BIGINT   Tokens below which it ends.
-- served        BIGINT   Requests that a line released.
-- crashed       BIGINT   Requests in flight at a failure that ended the load.
-- other         BIGINT   Requests cancelled, or still open when the log ends.
-- loads         BIGINT   Loads that had such requests.
-- classes       VARCHAR  Error classes of the failures, separated by ", ".
WITH crashed AS (
    SELECT crash.load_id, crash.launched_line, failures.error_class
    FROM crash_requests AS crash
    JOIN failures USING (load_id, failure)
    WHERE failures.outcome = 'ended'
),
cells AS (
    SELECT
        coalesce(load.model, load.label, 'unknown model') AS model,
        power(2, floor(log2(request.prompt_tokens)))::BIGINT AS tokens_from,
        request.load_id,
        request.how,
        crashed.error_class
    FROM request_outcomes AS request
    JOIN load USING (load_id)
    LEFT JOIN crashed USING (launched_line)
    WHERE request.prompt_tokens > 0
)
SELECT
    model,
    tokens_from,
    2 * tokens_from AS tokens_below,
    count(*) FILTER (error_class IS NULL AND how = 'released') AS served,
    count(*) FILTER (error_class IS NOT NULL) AS crashed,
    count(*) FILTER (error_class IS NULL AND how <> 'released') AS other,
    count(DISTINCT load_id) AS loads,
    string_agg(DISTINCT error_class, ', ' ORDER BY error_class) AS classes
FROM cells
GROUP BY model, tokens_from
ORDER BY model, tokens_from
