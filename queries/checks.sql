-- One row a check that a probe, a script or a client's answers made of a server: of no load.
--
-- A probe names a model at most, and a name is no identity: rows of one name are set beside each other, and nothing is
-- concluded of a load. Where one says that something failed and another that it passed, or measured some of it, neither
-- is dropped: both are given as `against` each other. What was skipped is neither passed nor failed. Answers whose
-- requests asked for reasoning tell how many characters of it came, as any probe does.
--
-- source_id  VARCHAR   Source.
-- ordinal    BIGINT    Place among all matched lines; empty for answers.
-- probe      VARCHAR   Who says so.
-- model      VARCHAR   Model that it names.
-- subject    VARCHAR   What was checked: reasoning for whatever is named after reasoning or thinking, else its name.
-- state      VARCHAR   passed, failed, skipped, measured, or told where its words are none of these.
-- result     VARCHAR   Result as printed.
-- amount     DOUBLE    What it measured.
-- unit       VARCHAR   Of what.
-- reason     VARCHAR   Why, in its words.
-- against    VARCHAR   Lines that say otherwise, separated by blanks; empty if none does.
-- line_id    VARCHAR   Evidence.
WITH lines AS (
    SELECT line.source_id, marker.ordinal, marker.what, marker.detail, NULL AS line_id
    FROM marker_seen AS marker JOIN line USING (line_id)
    WHERE marker.what IN ('check', 'checked_model')
    UNION ALL
    SELECT line.source_id, told.ordinal, NULL, NULL, told.line_id
    FROM check_reported AS told JOIN line USING (line_id)
),
-- a script's result stands under the line that names the check, and under the one that names its server
placed AS (
    SELECT
        source_id, ordinal, line_id,
        last_value(CASE WHEN what = 'check' THEN detail END IGNORE NULLS) OVER before AS named,
        last_value(CASE WHEN what = 'checked_model' THEN detail END IGNORE NULLS) OVER before AS model
    FROM lines
    WINDOW before AS (PARTITION BY source_id ORDER BY ordinal)
),
told AS (
    SELECT
        placed.source_id, placed.ordinal, told.probe, coalesce(told.model, placed.model) AS model,
        coalesce(told.check, placed.named, told.probe) AS checked, told.result, told.amount, told.unit, told.reason,
        told.line_id
    FROM check_reported AS told
    JOIN placed USING (line_id)
    UNION ALL
    SELECT
        source_id, NULL, 'answers', model, 'reasoning', NULL, reasoning_chars, 'characters', NULL, line_id
    FROM answers
    WHERE asked_reasoning AND reasoning_chars IS NOT NULL
),
checks AS (
    SELECT
        source_id, ordinal, probe, model,
        CASE WHEN regexp_matches(checked, 'reason|think', 'i') THEN 'reasoning' ELSE lower(checked) END AS subject,
        CASE
            WHEN regexp_matches(result, '^(skip|not run|n/a)', 'i') THEN 'skipped'
            WHEN regexp_matches(result, '^(fail|broken|error|false$|no$)', 'i') THEN 'failed'
            WHEN regexp_matches(result, '^(pass|ok$|true$|yes$)', 'i') THEN 'passed'
            WHEN amount IS NOT NULL THEN 'measured'
            ELSE 'told'
        END AS state,
        result, amount, unit, reason, line_id
    FROM told
),
sides AS (
    SELECT
        *,
        CASE
            WHEN state = 'failed' THEN 'fails'
            WHEN state = 'passed' OR (state = 'measured' AND amount > 0) THEN 'works'
        END AS side
    FROM checks
)
SELECT
    source_id, ordinal, probe, model, subject, state, result, amount, unit, reason,
    (
        SELECT string_agg(other.line_id, ' ' ORDER BY other.ordinal NULLS LAST, other.line_id)
        FROM sides AS other
        WHERE other.model = sides.model AND other.subject = sides.subject AND other.side != sides.side
    ) AS against,
    line_id
FROM sides
ORDER BY ordinal NULLS LAST, source_id, line_id
