-- stored
--
-- One row a load with periodic statistics: averages over windows of seconds, which are no rates of any request.
--
-- A window holds idle time and parts of requests; on short prompts its prompt figure says next to nothing. The spread
-- is shown so that nobody takes the mean for a rate.
--
-- load_id         VARCHAR  The load.
-- windows         BIGINT   Statistics lines.
-- prompt_mean     DOUBLE   Mean of the prompt figures above zero, tokens per second.
-- prompt_cv       DOUBLE   Their coefficient of variation; empty for fewer than three.
-- generated_mean  DOUBLE   Mean of the generation figures above zero, tokens per second.
-- generated_cv    DOUBLE   Their coefficient of variation; empty for fewer than three.
-- running_most    BIGINT   Most requests running at once.
-- prefix_hits     DOUBLE   Largest share of prefix cache hits.
-- lines           VARCHAR  Evidence: the first lines.
WITH windows AS (
    SELECT
        *, nullif(prompt_tokens_per_s, 0) AS prompt, nullif(generated_tokens_per_s, 0) AS generated
    FROM engine_measured
    WHERE believed AND load_id IS NOT NULL AND generated_tokens_per_s IS NOT NULL
)
SELECT
    load_id,
    count(*) AS windows,
    avg(prompt ORDER BY ordinal) AS prompt_mean,
    CASE WHEN count(prompt) >= 3 THEN stddev_samp(prompt ORDER BY ordinal) / avg(prompt ORDER BY ordinal) END
        AS prompt_cv,
    avg(generated ORDER BY ordinal) AS generated_mean,
    CASE WHEN count(generated) >= 3 THEN stddev_samp(generated ORDER BY ordinal) / avg(generated ORDER BY ordinal) END
        AS generated_cv,
    max(running) AS running_most,
    max(prefix_hit_ratio) AS prefix_hits,
    array_to_string(list_slice(list(line_id ORDER BY ordinal), 1, 4), ' ') AS lines
FROM windows
GROUP BY load_id
ORDER BY load_id
