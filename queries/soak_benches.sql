-- One row two load tests and prompts that the benchmark of both names: whether bench and test rank the two alike.
--
-- A benchmark's output is of the load test whose turn log lies in the same folder, if that is the only one there: nothing
-- in either says which server it asked. Rates of the test are the median of its answered turns; those of the benchmark are
-- the mean that it prints. Cold and heat-soaked cards differ by 4 to 5 %, so that a smaller difference ranks nothing.
--
-- run           VARCHAR  The test whose benchmark was the faster.
-- other         VARCHAR  The test that it is held against.
-- prompts       VARCHAR  Prompts of the benchmark, in its words.
-- bench_per_s   DOUBLE   Decoding by the benchmark, tokens per second.
-- other_bench   DOUBLE   The same of the other.
-- soak_per_s    DOUBLE   Decoding over the turns, tokens per second.
-- other_soak    DOUBLE   The same of the other.
-- bench_change  DOUBLE   Difference by the benchmark, as a share of the other.
-- soak_change   DOUBLE   Difference over the turns, as a share of the other.
-- inverted      BOOLEAN  Whether the test ranks them the other way.
-- lines         VARCHAR  Evidence, separated by blanks: the benchmarks' means, and the first turn of each test.
WITH tests AS (
    SELECT
        run, regexp_replace(run, '[^/!]+$', '') AS folder, median(tokens_per_s) FILTER (WHERE NOT failed) AS per_s,
        arg_min(line_id, place) AS line_id
    FROM soak_turns
    WHERE basis = 'turn log'
    GROUP BY run
    QUALIFY count(*) OVER (PARTITION BY folder) = 1
),
lines AS (
    SELECT line.source_id, marker.ordinal, marker.detail AS prompts, NULL AS per_s, NULL AS line_id
    FROM marker_seen AS marker JOIN line USING (line_id)
    WHERE marker.what = 'prompts'
    UNION ALL
    SELECT
        line.source_id, setting.ordinal, NULL, TRY_CAST(regexp_extract(setting.value, 'mean= *([\d.]+)', 1) AS DOUBLE),
        setting.line_id
    FROM setting_reported AS setting JOIN line USING (line_id)
    WHERE setting.name = 'decode_TPS'
),
means AS (
    SELECT
        regexp_replace(source_id, '[^/!]+$', '') AS folder, per_s, line_id, ordinal,
        last_value(split_part(prompts, ' ', 1) IGNORE NULLS) OVER (PARTITION BY source_id ORDER BY ordinal) AS prompts
    FROM lines
),
benched AS (
    SELECT
        tests.run, tests.per_s AS soak_per_s, tests.line_id AS turn, means.prompts, means.per_s AS bench_per_s,
        means.line_id AS mean
    FROM means
    JOIN tests USING (folder)
    WHERE means.per_s > 0 AND tests.per_s > 0
    QUALIFY row_number() OVER (PARTITION BY tests.run, means.prompts ORDER BY means.ordinal DESC) = 1
)
SELECT
    one.run, other.run AS other, one.prompts, one.bench_per_s, other.bench_per_s AS other_bench, one.soak_per_s,
    other.soak_per_s AS other_soak,
    one.bench_per_s / other.bench_per_s - 1 AS bench_change,
    one.soak_per_s / other.soak_per_s - 1 AS soak_change,
    one.bench_per_s / other.bench_per_s - 1 > 0.05 AND one.soak_per_s / other.soak_per_s - 1 < -0.05 AS inverted,
    concat_ws(' ', one.mean, other.mean, one.turn, other.turn) AS lines
FROM benched AS one
JOIN benched AS other
    ON one.prompts = other.prompts AND one.run != other.run AND one.bench_per_s > other.bench_per_s
ORDER BY inverted DESC, one.run, other.run, one.prompts
