-- One row an identity behind a name that stands for several: other files, or one file started with other options.
--
-- A name says which model somebody asked for, not which file a load holds: it can be pulled again, or given other options.
-- Only command lines are compared: a load whose options are not in the log has none here.
--
-- name     VARCHAR  The name, as it is shown.
-- model    VARCHAR  Blob, path or name of the file.
-- options  VARCHAR  Options without the port; none if the log has no command line.
-- models   BIGINT   Models that the name stands for.
-- starts   BIGINT   Sets of options that it was started with.
-- loads    VARCHAR  The loads, in order, separated by blanks.
WITH named AS (
    SELECT
        load_identity.load_id,
        load.number,
        load_identity.identity AS name,
        load_identity.model,
        CASE WHEN load_identity.options NOT LIKE 'context %' THEN load_identity.options END AS options
    FROM load_identity
    JOIN load USING (load_id)
    WHERE load_identity.basis = 'name'
),
identities AS (
    SELECT name, model, options, min(number) AS number, string_agg(load_id, ' ' ORDER BY number) AS loads
    FROM named
    GROUP BY name, model, options
),
told AS (
    SELECT
        *,
        count(DISTINCT model) OVER (PARTITION BY name) AS models,
        count(DISTINCT options) OVER (PARTITION BY name) AS starts
    FROM identities
)
SELECT name, model, options, models, starts, loads
FROM told
WHERE models > 1 OR starts > 1
ORDER BY name, number
