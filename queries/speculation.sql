-- stored
--
-- One row a load: the speculative decoding it was set up with, as its arguments and its own lines say.
--
-- Arguments are a wish, lines of the load a fact: both are kept, and they may differ. Several methods are joined by
-- commas. Nothing here says that a draft was ever made: see draft_totals.
--
-- load_id         VARCHAR  The load.
-- configured      BOOLEAN  true if anything asks for it, false if its arguments or lines rule it out, else empty.
-- method          VARCHAR  Method: by its lines, else by its arguments.
-- n_max           BIGINT   Depth, most tokens drafted at once: by its lines, else by its arguments.
-- p_min           DOUBLE   Probability under which a draft is cut short, as its lines, else its arguments say; empty if neither does.
-- draft_model     VARCHAR  Separate draft model, if any.
-- said_method     VARCHAR  Method that its lines name.
-- said_n_max      BIGINT   Depth that its lines name.
-- asked_method    VARCHAR  Method that its arguments name.
-- asked_n_max     BIGINT   Depth that its arguments name.
-- said_off        BOOLEAN  Whether a line says that there is none.
-- refused         BOOLEAN  Whether a line says that it cannot be had.
-- synthetic       BOOLEAN  Whether acceptance is made up, by a benchmarking switch.
-- argument_lines  VARCHAR  Evidence: lines with arguments that speak of it, separated by blanks.
-- for_lines       VARCHAR  Evidence: lines that set it up.
-- against_lines   VARCHAR  Evidence: lines that say that there is none, or that it cannot be had.
WITH texts AS (
    SELECT
        load_id, ordinal, lines, text,
        nullif(regexp_extract(text, '--spec-type[ =](\S+)', 1), '') AS flag_types,
        nullif(regexp_extract(text, '--(?:spec-draft-n-max|draft-max|draft-n|draft)[ =](\d+)', 1), '') AS flag_n_max,
        nullif(
            regexp_extract(text, '(?:^| )(?:-md|--model-draft|--spec-draft-model|--spec-draft-hf|-hfd)[ =](\S+)', 1), ''
        ) AS flag_model,
        nullif(
            regexp_extract(
                text, '[''"]?speculative_config[''"]?(?:: |=)((?:SpeculativeConfig)?[({][^)}]*[)}]|None)', 1
            ), ''
        ) AS config,
        nullif(regexp_extract(text, '\bspeculative_model=''([^'']+)''', 1), '') AS old_model,
        nullif(regexp_extract(text, '\bnum_speculative_tokens=(\d+)', 1), '') AS old_n_max
    FROM arguments_of_load
),
read AS (
    SELECT
        load_id, ordinal, lines,
        coalesce(
            nullif(array_to_string(list_filter(string_split(flag_types, ','), lambda one: one != 'none'), ','), ''),
            nullif(regexp_extract(config, '[''"]?method[''"]?(?:: |=)[''"]([^''"]+)', 1), ''),
            CASE WHEN flag_types IS NULL AND flag_model IS NOT NULL THEN 'draft model' END,
            CASE WHEN old_model IS NOT NULL THEN old_model END
        ) AS method,
        TRY_CAST(
            coalesce(
                flag_n_max,
                nullif(regexp_extract(config, '[''"]?num_spec(?:ulative)?_tokens[''"]?(?:: |=)(\d+)', 1), ''),
                CASE WHEN old_model IS NOT NULL THEN old_n_max END
            ) AS BIGINT
        ) AS n_max,
        coalesce(
            flag_model,
            -- These draft from the target itself or from its text, and may repeat the target's name as their model.
            CASE WHEN NOT regexp_matches(config, 'mtp|ngram|suffix')
                THEN nullif(regexp_extract(config, '[''"]?model[''"]?(?:: |=)[''"]([^''"]+)', 1), '') END,
            old_model
        ) AS draft_model,
        flag_types = 'none' OR config = 'None' AS none
    FROM texts
    WHERE coalesce(flag_types, flag_n_max, flag_model, config, old_model) IS NOT NULL
),
pieces AS (
    SELECT load_id, len(string_split(lines, ' ')) AS count, unnest(string_split(lines, ' ')) AS line_id FROM read
),
speaking AS (
    SELECT pieces.load_id, string_agg(pieces.line_id, ' ' ORDER BY line.ordinal) AS lines
    FROM pieces
    JOIN line USING (line_id)
    LEFT JOIN line AS before ON before.ordinal = line.ordinal - 1
    WHERE pieces.count = 1 OR regexp_matches(line.text, 'spec|draft|-md\b|-hfd\b')
        OR regexp_matches(before.text, ' --?(?:spec\S*|draft\S*|model-draft|md|hfd)$')
    GROUP BY pieces.load_id
),
asked AS (
    SELECT
        load_id, arg_max(method, ordinal) FILTER (method IS NOT NULL) AS method,
        arg_max(n_max, ordinal) FILTER (n_max IS NOT NULL) AS n_max,
        arg_max(draft_model, ordinal) FILTER (draft_model IS NOT NULL) AS draft_model,
        bool_or(coalesce(none, false)) AS none
    FROM read
    GROUP BY load_id
),
said AS (
    SELECT
        load_id,
        array_to_string(list_distinct(list(method ORDER BY ordinal) FILTER (method IS NOT NULL)), ',') AS method,
        max(n_max) AS n_max,
        max(p_min) AS p_min,
        bool_or(active IS NOT DISTINCT FROM false) AS off,
        string_agg(line_id, ' ' ORDER BY ordinal) FILTER (active IS DISTINCT FROM false) AS lines,
        string_agg(line_id, ' ' ORDER BY ordinal) FILTER (active IS NOT DISTINCT FROM false) AS against
    FROM speculation_configured
    WHERE believed AND load_id IS NOT NULL
    GROUP BY load_id
),
built AS (
    SELECT load_id, arg_max(draft_model, ordinal) AS draft_model, string_agg(line_id, ' ' ORDER BY ordinal) AS lines
    FROM (
        SELECT load_id, ordinal, line_id, model AS draft_model
        FROM model_identified
        WHERE believed AND load_id IS NOT NULL AND phase IN ('fit', 'allocate') AND what = 'draft'
        UNION ALL
        SELECT load_id, ordinal, line_id, NULL
        FROM marker_seen
        WHERE believed AND load_id IS NOT NULL AND phase IN ('fit', 'allocate') AND what = 'mtp'
    )
    GROUP BY load_id
),
set_to AS (
    SELECT load_id, max(TRY_CAST(regexp_extract(value, 'n_max = (\d+)', 1) AS BIGINT)) AS n_max
    FROM setting_reported
    WHERE believed AND load_id IS NOT NULL AND name = 'synthetic acceptance'
    GROUP BY load_id
),
wished AS (
    SELECT load_id, max(TRY_CAST(regexp_extract(text, '--(?:spec-)?draft-p-min[ =]([\d.]+)', 1) AS DOUBLE)) AS p_min
    FROM texts
    GROUP BY load_id
),
told AS (
    SELECT
        load_id, bool_or(message LIKE 'synthetic speculative acceptance%') AS synthetic,
        bool_or(message LIKE '%speculative decoding not supported%') AS refused,
        string_agg(line_id, ' ' ORDER BY ordinal) FILTER (message LIKE '%speculative decoding not supported%') AS against
    FROM failure_reported
    WHERE believed AND load_id IS NOT NULL
        AND (message LIKE 'synthetic speculative acceptance%' OR message LIKE '%speculative decoding not supported%')
    GROUP BY load_id
)
SELECT
    load.load_id,
    CASE
        WHEN coalesce(nullif(said.method, ''), asked.method, asked.draft_model, built.lines) IS NOT NULL THEN true
        WHEN said.off OR asked.none THEN false
    END AS configured,
    coalesce(
        nullif(said.method, ''), asked.method,
        CASE WHEN built.draft_model IS NULL AND built.lines IS NOT NULL THEN 'mtp' END
    ) AS method,
    coalesce(said.n_max, set_to.n_max, asked.n_max) AS n_max,
    coalesce(said.p_min, wished.p_min) AS p_min,
    coalesce(built.draft_model, asked.draft_model) AS draft_model,
    nullif(said.method, '') AS said_method,
    coalesce(said.n_max, set_to.n_max) AS said_n_max,
    asked.method AS asked_method,
    asked.n_max AS asked_n_max,
    coalesce(said.off, false) AS said_off,
    coalesce(told.refused, false) AS refused,
    coalesce(told.synthetic, false) AS synthetic,
    speaking.lines AS argument_lines,
    nullif(concat_ws(' ', said.lines, built.lines), '') AS for_lines,
    nullif(concat_ws(' ', said.against, told.against), '') AS against_lines
FROM load
LEFT JOIN asked USING (load_id)
LEFT JOIN speaking USING (load_id)
LEFT JOIN said USING (load_id)
LEFT JOIN built USING (load_id)
LEFT JOIN told USING (load_id)
LEFT JOIN set_to USING (load_id)
LEFT JOIN wished USING (load_id)
ORDER BY load.number
