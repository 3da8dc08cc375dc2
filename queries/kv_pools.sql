-- stored
--
-- One sizing of a load's cache pool: tokens as printed, budget, printed concurrency, and what the figure means.
--
-- A pool line counts only inside a load. Workers that print one each are unified to the smallest (vLLM up to 0.11.0).
-- `meaning` is decided by arithmetic, not by version: if tokens ÷ length is the printed concurrency to rounding, the
-- quotient is valid (vLLM from 0.20 computes tokens so; models with uniform attention always agree). Else the figure is a
-- legacy one, and tokens must not be divided by a length. Bytes per token is budget ÷ tokens of one card, and moves with
-- the length where tokens are computed from it.
--
-- load_id          VARCHAR  The load.
-- number           BIGINT   Its place among the loads of the case.
-- sizing           BIGINT   1, 2, …: a second one in one load means that a start between them is not in the log.
-- service          VARCHAR  Unit, or what else names the service; none if nothing does.
-- engine           VARCHAR  Program that holds it.
-- version          VARCHAR  Its version.
-- at_us            BIGINT   When, µs UTC.
-- tokens           BIGINT   Tokens as printed; the smallest where several workers print.
-- largest_tokens   BIGINT   The largest where several lines print tokens: ranks of one start, or starts that look like one.
-- printed          BIGINT   Lines that printed tokens.
-- budget_bytes     BIGINT   Bytes given to the pool on one card; the smallest.
-- budgets          BIGINT   Lines that printed a budget.
-- bound_card       VARCHAR  Device of the smallest budget, where several ranks print one.
-- request_tokens   BIGINT   Length of a full request.
-- concurrency      DOUBLE   Requests of full length at once, as printed.
-- quotient         DOUBLE   Tokens ÷ length.
-- meaning          VARCHAR  quotient, legacy or unknown.
-- bytes_per_token  DOUBLE   Budget ÷ tokens, one card.
-- kv_dtype         VARCHAR  Data type of the cache, as the log says.
-- kv_dtype_from    VARCHAR  line, or configuration where no line of its own says it.
-- tensor_parallel  BIGINT   Cards that share it, if the configuration says.
-- compile_cache    VARCHAR  cold, warm or none if the log does not say.
-- lines            VARCHAR  Evidence: line ids in order, separated by blanks.
WITH printed AS (
    SELECT
        *,
        coalesce(
            time_us - lag(time_us) OVER (PARTITION BY load_id ORDER BY ordinal) > 60000000, false
        )::INTEGER AS apart
    FROM pool_sized
    WHERE believed AND load_id IS NOT NULL AND tokens IS NOT NULL
),
numbered AS (
    SELECT *, 1 + sum(apart) OVER (PARTITION BY load_id ORDER BY ordinal) AS sizing FROM printed
),
sizings AS (
    SELECT
        load_id,
        sizing::BIGINT AS sizing,
        min(ordinal) AS first_ordinal,
        max(ordinal) AS last_ordinal,
        min(time_us) AS at_us,
        min(tokens) AS tokens,
        max(tokens) AS largest_tokens,
        count(*) AS printed,
        arg_min(line_id, (tokens, ordinal)) AS token_line
    FROM numbered
    GROUP BY load_id, sizing
),
spans AS (
    SELECT
        *,
        coalesce(lag(last_ordinal) OVER (PARTITION BY load_id ORDER BY sizing), -1) AS after_ordinal,
        coalesce(lead(first_ordinal) OVER (PARTITION BY load_id ORDER BY sizing), 9223372036854775807) AS before_ordinal
    FROM sizings
    UNION ALL BY NAME
    SELECT
        load_id, 1 AS sizing, min(ordinal) AS first_ordinal, max(ordinal) AS last_ordinal, min(time_us) AS at_us,
        NULL AS tokens, NULL AS largest_tokens, 0 AS printed, NULL AS token_line, -1 AS after_ordinal, 9223372036854775807 AS before_ordinal
    FROM pool_sized
    WHERE believed AND load_id IS NOT NULL AND load_id NOT IN (SELECT load_id FROM printed)
    GROUP BY load_id
),
concurrencies AS (
    SELECT
        spans.load_id, spans.sizing, min(pool.concurrency) AS concurrency,
        arg_min(pool.request_tokens, (pool.concurrency, pool.ordinal)) AS request_tokens,
        arg_min(pool.line_id, (pool.concurrency, pool.ordinal)) AS line_id
    FROM spans
    JOIN pool_sized AS pool
        ON pool.load_id = spans.load_id AND pool.believed AND pool.concurrency IS NOT NULL
        AND pool.ordinal >= spans.first_ordinal AND pool.ordinal < spans.before_ordinal
    GROUP BY spans.load_id, spans.sizing
),
budgets AS (
    SELECT
        spans.load_id, spans.sizing, min(pool.budget_bytes) AS budget_bytes, count(*) AS budgets,
        arg_min(pool.writer_device, (pool.budget_bytes, pool.ordinal)) AS device,
        arg_min(pool.line_id, (pool.budget_bytes, pool.ordinal)) AS line_id
    FROM spans
    JOIN pool_sized AS pool
        ON pool.load_id = spans.load_id AND pool.believed AND pool.budget_bytes IS NOT NULL
        AND pool.ordinal > spans.after_ordinal AND pool.ordinal <= spans.last_ordinal
    GROUP BY spans.load_id, spans.sizing
),
wanted AS (
    SELECT
        load_id,
        max(value) FILTER (name = 'kv_cache_dtype' AND origin = 'setting') AS line_dtype,
        max(value) FILTER (name = 'kv_cache_dtype' AND origin = 'argument') AS argument_dtype,
        max(try_cast(value AS BIGINT)) FILTER (name = 'tensor_parallel_size') AS tensor_parallel,
        max(try_cast(value AS BIGINT)) FILTER (name = 'max_model_len' AND origin = 'setting') AS max_model_len,
        max(value) FILTER (name = 'compile_cache') AS compile_cache,
        max(line_id) FILTER (name = 'kv_cache_dtype' AND origin = 'setting') AS dtype_line
    FROM configuration
    GROUP BY load_id
),
joined AS (
    SELECT
        spans.load_id,
        load.number,
        spans.sizing,
        coalesce(process.unit, process.label, load.label) AS service,
        load.engine,
        process.version,
        spans.at_us,
        spans.tokens,
        spans.largest_tokens,
        spans.printed,
        budgets.budget_bytes,
        coalesce(budgets.budgets, 0) AS budgets,
        CASE WHEN budgets.budgets > 1 THEN budgets.device END AS bound_card,
        coalesce(concurrencies.request_tokens, wanted.max_model_len) AS request_tokens,
        concurrencies.concurrency,
        wanted.line_dtype,
        wanted.argument_dtype,
        wanted.tensor_parallel,
        wanted.compile_cache,
        concat_ws(' ', budgets.line_id, spans.token_line, nullif(concurrencies.line_id, spans.token_line), wanted.dtype_line)
            AS lines
    FROM spans
    JOIN load USING (load_id)
    JOIN process USING (process_id)
    LEFT JOIN concurrencies USING (load_id, sizing)
    LEFT JOIN budgets USING (load_id, sizing)
    LEFT JOIN wanted USING (load_id)
)
SELECT
    load_id,
    number,
    sizing,
    service,
    engine,
    version,
    at_us,
    tokens,
    largest_tokens,
    printed,
    budget_bytes,
    budgets,
    bound_card,
    request_tokens,
    concurrency,
    tokens / nullif(request_tokens, 0) AS quotient,
    CASE
        WHEN tokens IS NULL OR coalesce(request_tokens, 0) = 0 OR concurrency IS NULL THEN 'unknown'
        WHEN abs(tokens / request_tokens - concurrency) <= 0.005 + 1 / request_tokens + 1e-9 THEN 'quotient'
        ELSE 'legacy'
    END AS meaning,
    budget_bytes / nullif(tokens, 0) AS bytes_per_token,
    coalesce(line_dtype, argument_dtype) AS kv_dtype,
    CASE WHEN line_dtype IS NOT NULL THEN 'line' WHEN argument_dtype IS NOT NULL THEN 'configuration' END AS kv_dtype_from,
    tensor_parallel,
    compile_cache,
    lines
FROM joined
ORDER BY number, sizing
