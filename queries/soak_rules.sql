-- stored
--
-- What a soak test is held against: one row a rule set and measure.
--
-- The rule sets of one harness disagree with each other, so each has its name and version and gives its own verdict. A
-- limit that is not set is none. Ratios are 0 to 1.
--
-- rules    VARCHAR  Name of the rule set.
-- version  VARCHAR  Its version.
-- origin   VARCHAR  Where it stands.
-- measure  VARCHAR  growth, retention, silent_empty, errors, slow_turns, first_token or oscillation.
-- unit     VARCHAR  MiB, ratio, turns or times.
-- fail     DOUBLE   Fails above this; below it, for retention.
-- warn     DOUBLE   Warns above this; below it, for retention.
-- strict   BOOLEAN  Whether the limit itself fails too.
-- unknown  VARCHAR  Result where the measure cannot be taken.
SELECT
    rules, version, origin, measure, unit, fail::DOUBLE AS fail, warn::DOUBLE AS warn, strict, unknown
FROM (VALUES
    ('code', '2026-05', 'soak-helper.py summary', 'growth', 'MiB', 200.0, NULL, FALSE, 'unmeasurable'),
    ('code', '2026-05', 'soak-helper.py summary', 'retention', 'ratio', 0.80, NULL, FALSE, 'warn'),
    ('code', '2026-05', 'soak-helper.py summary', 'silent_empty', 'ratio', 0.50, 0.0, TRUE, 'unmeasurable'),
    ('code', '2026-05', 'soak-helper.py summary', 'errors', 'turns', 0.0, NULL, FALSE, 'unmeasurable'),
    ('code', '2026-05', 'soak-helper.py summary', 'slow_turns', 'turns', NULL, 0.0, FALSE, 'pass'),
    ('code', '2026-05', 'soak-helper.py summary', 'first_token', 'times', NULL, 1.5, FALSE, 'pass'),
    ('code', '2026-05', 'soak-helper.py summary', 'oscillation', 'MiB', NULL, 500.0, FALSE, 'pass'),
    ('help text', '2026-05', 'soak-test.sh --help', 'growth', 'MiB', 200.0, NULL, TRUE, 'unmeasurable'),
    ('help text', '2026-05', 'soak-test.sh --help', 'retention', 'ratio', 0.98, NULL, FALSE, 'unmeasurable'),
    ('help text', '2026-05', 'soak-test.sh --help', 'silent_empty', 'ratio', 0.0, NULL, FALSE, 'unmeasurable'),
    ('help text', '2026-05', 'soak-test.sh --help', 'errors', 'turns', 0.0, NULL, FALSE, 'unmeasurable'),
    ('published rows', '2026-05', 'the convention of its result tables: 240 and 360 MiB are borderline, 90.8 % passes',
        'growth', 'MiB', NULL, 200.0, FALSE, 'unmeasurable'),
    ('published rows', '2026-05', 'the convention of its result tables: 240 and 360 MiB are borderline, 90.8 % passes',
        'errors', 'turns', 0.0, NULL, FALSE, 'unmeasurable')
) AS rules (rules, version, origin, measure, unit, fail, warn, strict, unknown)
ORDER BY rules, measure
