-- stored
--
-- One row an arithmetic check of a sample: what the line prints, what its other figures give, whether both can be true.
--
-- The printed figures are rounded: the tolerance is half of their last places. `rate`: accepted / drafted. `mean length`:
-- a whole number of drafts must give the printed mean length, lie between drafted / depth and drafted, and be the one
-- that the rates by position give. `mean length by position`: 1 + the sum of the rates by position. `rate by position`:
-- their mean, which is the rate only if no draft was cut short. `reading`: without counts, a mean length and a rate at a
-- known depth fit together in one of two readings, or in none. `depth`: no mean length beyond 1 + depth.
--
-- load_id     VARCHAR  The load.
-- line_id     VARCHAR  Evidence.
-- ordinal     BIGINT   Place among all matched lines.
-- name        VARCHAR  Check.
-- printed     DOUBLE   Figure of the line.
-- computed    DOUBLE   What its other figures give.
-- tolerance   DOUBLE   Half of the last places.
-- holds       BOOLEAN  Whether they agree.
-- bonus       BOOLEAN  Whether the printed mean length counts the bonus token, if this check says so.
-- note        VARCHAR  In words.
WITH samples AS (
    SELECT
        *, list_sum(positions) AS reach, len(positions) AS places,
        CASE WHEN covers = 'request' THEN 0.000005 ELSE 0.0005 END AS ratio_bound
    FROM draft_samples
    WHERE drafted > 0 OR drafted IS NULL
),
rates AS (
    SELECT
        load_id, line_id, ordinal, 'rate' AS name, printed_ratio AS printed, ratio AS computed,
        ratio_bound AS tolerance, NULL::BOOLEAN AS bonus,
        format('{} accepted / {} drafted', accepted, drafted) AS note
    FROM samples
    WHERE printed_ratio IS NOT NULL AND ratio IS NOT NULL
),
steps AS (
    SELECT
        *,
        ceil(accepted / (mean_length + 0.005 - 1) - 1e-9) AS with_low,
        CASE WHEN mean_length > 1.005 THEN floor(accepted / (mean_length - 0.005 - 1) + 1e-9) ELSE drafted END AS with_high,
        ceil(accepted / (mean_length + 0.005) - 1e-9) AS without_low,
        floor(accepted / greatest(mean_length - 0.005, 0.005) + 1e-9) AS without_high,
        ceil(drafted / coalesce(depth, places, drafted)) AS fewest
    FROM samples
    WHERE mean_length IS NOT NULL AND accepted IS NOT NULL AND accepted > 0
),
-- An interval of full drafts has drafted / depth of them: only one reading is left.
fits AS (
    SELECT
        * REPLACE (CASE WHEN whole THEN drafts ELSE fewest END AS fewest),
        greatest(with_low, fewest) <= least(with_high, drafted) AND NOT (whole AND mean_length < 1 + accepted / drafts - 0.5)
            AS with_bonus,
        greatest(without_low, fewest) <= least(without_high, drafted)
            AND NOT (whole AND mean_length > accepted / drafts + 0.5) AS without_bonus
    FROM (SELECT *, coalesce(covers = 'interval' AND drafts * depth = drafted, false) AS whole FROM steps)
),
lengths AS (
    SELECT
        load_id, line_id, ordinal, 'mean length' AS name, mean_length AS printed,
        CASE
            WHEN with_bonus THEN 1 + accepted / greatest(with_low, fewest)
            WHEN without_bonus THEN accepted / greatest(without_low, fewest)
        END AS computed,
        0.005 AS tolerance,
        CASE WHEN with_bonus AND NOT without_bonus THEN true WHEN without_bonus AND NOT with_bonus THEN false END AS bonus,
        CASE
            WHEN with_bonus THEN format(
                '1 + {} / {} drafts: the bonus token is counted', accepted, greatest(with_low, fewest)::BIGINT
            )
            WHEN without_bonus THEN format(
                '{} / {} drafts: the bonus token is not counted', accepted, greatest(without_low, fewest)::BIGINT
            )
            ELSE format('no whole number of drafts gives {} from {} accepted and {} drafted tokens', mean_length, accepted, drafted)
        END AS note
    FROM fits
),
sums AS (
    SELECT
        load_id, line_id, ordinal, 'mean length by position' AS name, mean_length AS printed,
        CASE WHEN abs(mean_length - reach) < abs(mean_length - 1 - reach) THEN reach ELSE 1 + reach END AS computed,
        0.005 + 0.0005 * places AS tolerance,
        CASE
            WHEN abs(mean_length - 1 - reach) <= 0.005 + 0.0005 * places THEN true
            WHEN abs(mean_length - reach) <= 0.005 + 0.0005 * places THEN false
        END AS bonus,
        CASE
            WHEN abs(mean_length - reach) <= 0.005 + 0.0005 * places THEN 'the sum of the rates by position'
            ELSE '1 + the sum of the rates by position'
        END AS note
    FROM samples
    WHERE mean_length IS NOT NULL AND reach IS NOT NULL AND NOT isnan(reach)
),
means AS (
    SELECT
        load_id, line_id, ordinal, 'rate by position' AS name, printed_ratio AS printed, reach / places AS computed,
        ratio_bound + 0.0005 AS tolerance, NULL::BOOLEAN AS bonus,
        format('mean of {} rates by position; all drafts have full depth', places) AS note
    FROM samples
    WHERE printed_ratio IS NOT NULL AND reach IS NOT NULL AND NOT isnan(reach)
        AND (drafted IS NULL OR drafts IS NULL OR drafted = drafts * places)
),
readings AS (
    SELECT
        load_id, line_id, ordinal, 'reading' AS name, printed_ratio AS printed,
        CASE
            WHEN abs((mean_length - 1) / depth - printed_ratio) <= abs(mean_length / depth - printed_ratio)
                THEN (mean_length - 1) / depth
            ELSE mean_length / depth
        END AS computed,
        ratio_bound + 0.005 / depth AS tolerance,
        CASE
            WHEN abs((mean_length - 1) / depth - printed_ratio) <= ratio_bound + 0.005 / depth THEN true
            WHEN abs(mean_length / depth - printed_ratio) <= ratio_bound + 0.005 / depth THEN false
        END AS bonus,
        format(
            '{:.1f} % at depth {} if the mean length counts the bonus token, {:.1f} % if not',
            100 * (mean_length - 1) / depth, depth, 100 * mean_length / depth
        ) AS note
    FROM samples
    WHERE mean_length IS NOT NULL AND printed_ratio IS NOT NULL AND accepted IS NULL AND depth IS NOT NULL
),
depths AS (
    SELECT
        load_id, line_id, ordinal, 'depth' AS name, mean_length AS printed, 1 + depth AS computed, 0.005 AS tolerance,
        NULL::BOOLEAN AS bonus, format('at most 1 + {} tokens a step', depth) AS note
    FROM samples
    WHERE mean_length IS NOT NULL AND depth IS NOT NULL AND mean_length > 1 + depth + 0.005
)
SELECT
    load_id, line_id, ordinal, name, printed, computed, tolerance,
    name != 'depth' AND computed IS NOT NULL AND abs(printed - computed) <= tolerance + 1e-9 AS holds,
    bonus, note
FROM (
    SELECT * FROM rates
    UNION ALL SELECT * FROM lengths
    UNION ALL SELECT * FROM sums
    UNION ALL SELECT * FROM means
    UNION ALL SELECT * FROM readings
    UNION ALL SELECT * FROM depths
)
ORDER BY ordinal, name
