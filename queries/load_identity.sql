-- stored
--
-- One row a load: which model it is, by the best that the log gives, and with which options.
--
-- A model is its blob, its path or the name that its supervisor gives it; the layer count corroborates and is no
-- identity. Where only the count is known, the label says so, and loads with the same count are taken for one model.
-- Options are the command line without its port, else the context size that the load printed.
--
-- load_id   VARCHAR  The load.
-- model     VARCHAR  What it is compared by; none if the log tells nothing.
-- options   VARCHAR  Options, if any are known.
-- identity  VARCHAR  Label for people.
-- basis     VARCHAR  name, layers or none.
WITH layers AS (
    SELECT load_id, arg_min(offloaded || '/' || total, ordinal) AS layers
    FROM layers_offloaded
    WHERE believed AND load_id IS NOT NULL
    GROUP BY load_id
),
commands AS (
    SELECT load_id, arg_max(text, ordinal) AS arguments
    FROM arguments_of_load
    WHERE how <> 'its own line'
    GROUP BY load_id
),
contexts AS (
    SELECT load_id, 'context ' || arg_min(value, ordinal) AS context
    FROM setting_reported
    WHERE believed AND load_id IS NOT NULL AND name IN ('n_ctx', 'max_model_len') AND phase <> 'fit'
    GROUP BY load_id
),
names AS (
    SELECT load_id, arg_min(model, ordinal) AS name
    FROM model_identified
    WHERE believed AND load_id IS NOT NULL AND what = 'name'
    GROUP BY load_id
),
known AS (
    SELECT
        load.load_id,
        coalesce(load.label, load.model) AS named,
        names.name,
        layers.layers,
        commands.arguments,
        contexts.context
    FROM load
    LEFT JOIN names USING (load_id)
    LEFT JOIN layers USING (load_id)
    LEFT JOIN commands USING (load_id)
    LEFT JOIN contexts USING (load_id)
)
SELECT
    load_id,
    coalesce(named, 'layers ' || layers) AS model,
    coalesce(trim(regexp_replace(arguments, '(^| )--?port[ =]\d+', '', 'g')), context) AS options,
    CASE
        WHEN named IS NULL AND layers IS NULL THEN 'unknown model'
        WHEN named IS NULL THEN 'unknown model, ' || layers || ' layers'
        WHEN name IS NOT NULL THEN regexp_replace(name, '^.*/', '')
        WHEN regexp_matches(named, 'sha256[-:][0-9a-f]{12,}$') THEN regexp_extract(named, 'sha256[-:][0-9a-f]{1,12}')
        ELSE regexp_replace(named, '^.*[/\\]', '')
    END AS identity,
    CASE WHEN named IS NOT NULL THEN 'name' WHEN layers IS NOT NULL THEN 'layers' ELSE 'none' END AS basis
FROM known
ORDER BY load_id
