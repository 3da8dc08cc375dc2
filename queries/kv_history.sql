-- stored
--
-- A pool beside the pool of the same service before it, and beside the service's first.
--
-- Ratios are changes of tokens: 0.1 is 10 % more. The change in bytes is tokens × the earlier pool's bytes per token, on
-- each card: a tensor-parallel pool is as large as its tightest card allows. A pool of no tokens is left out.
--
-- load_id          VARCHAR  The load.
-- number           BIGINT   Its place among the loads of the case.
-- sizing           BIGINT   Sizing within the load.
-- service          VARCHAR  Unit, or what else names the service.
-- tokens           BIGINT   Tokens.
-- earlier_load_id  VARCHAR  The load of the pool before.
-- earlier_number   BIGINT   Its place among the loads of the case.
-- earlier_tokens   BIGINT   Tokens of the pool before.
-- delta_tokens     BIGINT   Difference.
-- ratio            DOUBLE   Change to the pool before.
-- first_ratio      DOUBLE   Change to the service's first pool.
-- delta_bytes      BIGINT   Difference in bytes on each card; none without a budget.
WITH ordered AS (
    SELECT
        *,
        row_number() OVER service AS place,
        lag(load_id) OVER service AS earlier_load_id,
        lag(number) OVER service AS earlier_number,
        lag(tokens) OVER service AS earlier_tokens,
        lag(bytes_per_token) OVER service AS earlier_bytes_per_token,
        first_value(tokens) OVER service AS first_tokens
    FROM kv_pools
    WHERE tokens > 0
    WINDOW service AS (PARTITION BY engine, service ORDER BY number, sizing)
)
SELECT
    load_id,
    number,
    sizing,
    service,
    tokens,
    earlier_load_id,
    earlier_number,
    earlier_tokens,
    tokens - earlier_tokens AS delta_tokens,
    tokens / earlier_tokens - 1 AS ratio,
    CASE WHEN place > 1 THEN tokens / first_tokens - 1 END AS first_ratio,
    round((tokens - earlier_tokens) * coalesce(earlier_bytes_per_token, bytes_per_token))::BIGINT AS delta_bytes
FROM ordered
ORDER BY number, sizing
