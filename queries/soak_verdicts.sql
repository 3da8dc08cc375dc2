-- stored
--
-- How a load test stands by each rule: one row a run, rule set and measure.
--
-- What cannot be measured is no pass: the rule set's verdict is then UNMEASURABLE, unless another of its rules fails.
--
-- run      VARCHAR  Source of the turn log, or the load.
-- rules    VARCHAR  Name of the rule set.
-- version  VARCHAR  Its version.
-- measure  VARCHAR  What is measured.
-- unit     VARCHAR  Its unit.
-- value    DOUBLE   The measure; none if it cannot be measured.
-- fail     DOUBLE   Limit that fails.
-- warn     DOUBLE   Limit that warns.
-- result   VARCHAR  pass, warn, fail or unmeasurable.
WITH measured AS (
    SELECT run, unnest(measures).measure AS measure, unnest(measures).value AS value
    FROM (
        SELECT run, [
            {'measure': 'growth', 'value': growth_bytes / 1048576},
            {'measure': 'retention', 'value': retention},
            {'measure': 'silent_empty', 'value': silent_empty / turns},
            {'measure': 'errors', 'value': errors::DOUBLE},
            {'measure': 'slow_turns', 'value': slow_turns::DOUBLE},
            {'measure': 'first_token', 'value': first_token},
            {'measure': 'oscillation', 'value': oscillation_bytes / 1048576}
        ] AS measures
        FROM soak_runs
    )
)
SELECT
    measured.run, soak_rules.rules, soak_rules.version, measured.measure, soak_rules.unit,
    measured.value::DOUBLE AS value, soak_rules.fail::DOUBLE AS fail, soak_rules.warn::DOUBLE AS warn,
    CASE
        WHEN measured.value IS NULL THEN soak_rules.unknown
        WHEN measured.measure = 'retention' AND measured.value < soak_rules.fail THEN 'fail'
        WHEN measured.measure = 'retention' THEN 'pass'
        WHEN measured.value > soak_rules.fail OR (soak_rules.strict AND measured.value = soak_rules.fail) THEN 'fail'
        WHEN measured.value > soak_rules.warn THEN 'warn'
        ELSE 'pass'
    END AS result
FROM measured
JOIN soak_rules USING (measure)
ORDER BY measured.run, soak_rules.rules, measured.measure
