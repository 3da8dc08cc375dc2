-- stored
--
-- The lines of a load as each known algorithm of a cache pool's budget takes them: one row a printed budget, algorithm and term.
--
-- vLLM's releases, read side by side: 0.6.4 takes the allocator's peak off the share of the card; 0.6.5 to 0.19 weights,
-- peak of activations and non-torch memory; 0.20 to 0.26 the estimate of CUDA graphs as well, where one was made and not
-- switched off; from 0.27 on what the card lost since the baseline, the peak and the estimate. The account that is printed
-- at the end of a start has the estimate inside the peak from 0.27 on, and had in 0.18. A term's line is the one
-- nearest to the budget's, since one load may show the lines of two starts.
--
-- load_id      VARCHAR  The load.
-- budget_line  VARCHAR  Line that prints the budget.
-- algorithm    VARCHAR  Name of the algorithm; budget_replay says whose it is.
-- term         VARCHAR  requested, weights, activation, non_torch, consumed, allocated or estimate.
-- place        BIGINT   Its place in the sum.
-- sign         BIGINT   1 where it is added, -1 where it is taken off.
-- size_bytes   BIGINT   Amount; none where no line of the load prints it.
-- bound_bytes  BIGINT   How far the amount may be from what was added.
-- basis        VARCHAR  logged, or derived where it follows from a share and a card.
-- line_id      VARCHAR  Its line.
WITH budgets AS (
    SELECT pool.load_id, pool.line_id, pool.ordinal, coalesce(pool.device, pool.writer_device) AS logged
    FROM pool_sized AS pool
    JOIN line USING (line_id)
    WHERE pool.believed AND pool.load_id IS NOT NULL AND pool.budget_bytes IS NOT NULL
        AND line.program = 'vllm' AND line.pattern = 'pool_budget'
    UNION ALL
    SELECT profiled.load_id, profiled.line_id, profiled.ordinal, coalesce(profiled.device, profiled.writer_device)
    FROM memory_profiled AS profiled
    JOIN line USING (line_id)
    WHERE profiled.believed AND profiled.load_id IS NOT NULL AND profiled.kv_bytes IS NOT NULL
        AND line.program = 'vllm' AND line.pattern <> 'pool_by_hand'
),
accounts AS (
    SELECT
        profiled.*, coalesce(profiled.device, profiled.writer_device) AS logged,
        -- What is printed at the end of a start names the share and what it came to beside the peak.
        requested_bytes IS NOT NULL AND activation_bytes IS NOT NULL AS at_end
    FROM memory_profiled AS profiled
    JOIN line USING (line_id)
    WHERE profiled.believed AND profiled.load_id IS NOT NULL AND line.program = 'vllm'
),
figures AS (
    SELECT load_id, logged, line_id, ordinal, 'requested' AS figure, requested_bytes AS size_bytes FROM accounts
    UNION ALL
    SELECT load_id, logged, line_id, ordinal, 'requested', ceil(total_bytes * utilization_ratio)::BIGINT FROM accounts
    WHERE requested_bytes IS NULL
    UNION ALL
    SELECT load_id, logged, line_id, ordinal, 'weights', weights_bytes FROM accounts
    UNION ALL
    SELECT load_id, logged, line_id, ordinal, 'non_torch', non_torch_bytes FROM accounts
    UNION ALL
    SELECT load_id, logged, line_id, ordinal, 'consumed', consumed_bytes FROM accounts
    UNION ALL
    SELECT load_id, logged, line_id, ordinal, 'allocated', allocated_bytes FROM accounts
    UNION ALL
    SELECT load_id, logged, line_id, ordinal, 'activation', activation_bytes FROM accounts
    WHERE NOT at_end OR consumed_bytes IS NULL
    UNION ALL
    SELECT load_id, logged, line_id, ordinal, 'peak_at_end', activation_bytes FROM accounts WHERE at_end
    UNION ALL
    SELECT load_id, coalesce(device, writer_device), line_id, ordinal, 'estimate', size_bytes
    FROM memory_estimated
    WHERE believed AND load_id IS NOT NULL AND kind = 'cuda_graphs' AND what LIKE 'CUDA graphs%'
),
known (algorithm, term, figure, place, sign) AS (
    VALUES
    ('share_less_peak', 'requested', 'requested', 1, 1),
    ('share_less_peak', 'allocated', 'allocated', 2, -1),
    ('share_less_peak', 'non_torch', 'non_torch', 3, -1),
    ('parts', 'requested', 'requested', 1, 1),
    ('parts', 'weights', 'weights', 2, -1),
    ('parts', 'activation', 'activation', 3, -1),
    ('parts', 'non_torch', 'non_torch', 4, -1),
    ('parts_and_estimate', 'requested', 'requested', 1, 1),
    ('parts_and_estimate', 'weights', 'weights', 2, -1),
    ('parts_and_estimate', 'activation', 'activation', 3, -1),
    ('parts_and_estimate', 'non_torch', 'non_torch', 4, -1),
    ('parts_and_estimate', 'estimate', 'estimate', 5, -1),
    ('parts_estimate_in_peak', 'requested', 'requested', 1, 1),
    ('parts_estimate_in_peak', 'weights', 'weights', 2, -1),
    ('parts_estimate_in_peak', 'activation', 'peak_at_end', 3, -1),
    ('parts_estimate_in_peak', 'non_torch', 'non_torch', 4, -1),
    ('parts_estimate_in_peak', 'estimate', 'estimate', 5, 1),
    ('consumed', 'requested', 'requested', 1, 1),
    ('consumed', 'consumed', 'consumed', 2, -1),
    ('consumed', 'activation', 'activation', 3, -1),
    ('consumed_and_estimate', 'requested', 'requested', 1, 1),
    ('consumed_and_estimate', 'consumed', 'consumed', 2, -1),
    ('consumed_and_estimate', 'activation', 'activation', 3, -1),
    ('consumed_and_estimate', 'estimate', 'estimate', 4, -1),
    ('consumed_estimate_in_peak', 'requested', 'requested', 1, 1),
    ('consumed_estimate_in_peak', 'consumed', 'consumed', 2, -1),
    ('consumed_estimate_in_peak', 'activation', 'peak_at_end', 3, -1)
),
nearest AS (
    SELECT
        budgets.line_id AS budget_line, figures.figure,
        arg_min(figures.size_bytes, (abs(figures.ordinal - budgets.ordinal), figures.ordinal)) AS size_bytes,
        arg_min(figures.line_id, (abs(figures.ordinal - budgets.ordinal), figures.ordinal)) AS line_id
    FROM budgets
    JOIN figures ON figures.load_id = budgets.load_id AND figures.logged IS NOT DISTINCT FROM budgets.logged
    WHERE figures.size_bytes IS NOT NULL
    GROUP BY budgets.line_id, figures.figure
),
derived AS (
    -- The share of the card as telemetry and arguments have it; weights by the line that says how much loading took.
    SELECT budgets.line_id AS budget_line, 'requested' AS figure, max(pool.requested_bytes) AS size_bytes
    FROM budgets
    JOIN load USING (load_id)
    JOIN device ON device.process_id = load.process_id AND device.logged = coalesce(budgets.logged, '')
    JOIN pool_budget AS pool ON pool.load_id = budgets.load_id AND pool.device = device.device
    GROUP BY budgets.line_id
    UNION ALL
    SELECT budgets.line_id, 'weights', max(nullif(pool.weights_bytes, 0))
    FROM budgets
    JOIN load USING (load_id)
    JOIN device ON device.process_id = load.process_id AND device.logged = coalesce(budgets.logged, '')
    JOIN pool_budget AS pool ON pool.load_id = budgets.load_id AND pool.device = device.device
    GROUP BY budgets.line_id
)
SELECT
    budgets.load_id,
    budgets.line_id AS budget_line,
    known.algorithm,
    known.term,
    known.place::BIGINT AS place,
    known.sign::BIGINT AS sign,
    coalesce(nearest.size_bytes, derived.size_bytes) AS size_bytes,
    -- Two places of a GiB are printed; of a card's memory telemetry tells whole MiB, of what the driver keeps some more.
    CASE WHEN nearest.size_bytes IS NULL AND known.term = 'requested' THEN 33554432 ELSE 5368710 END::BIGINT AS bound_bytes,
    CASE WHEN nearest.size_bytes IS NOT NULL THEN 'logged' WHEN derived.size_bytes IS NOT NULL THEN 'derived' END AS basis,
    nearest.line_id
FROM budgets
CROSS JOIN known
LEFT JOIN nearest ON nearest.budget_line = budgets.line_id AND nearest.figure = known.figure
LEFT JOIN derived ON derived.budget_line = budgets.line_id AND derived.figure = known.figure
ORDER BY budgets.load_id, budgets.ordinal, known.algorithm, known.place
