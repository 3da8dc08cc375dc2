-- stored
--
-- What each known algorithm of a cache pool's budget gives from the load's own lines, beside the budget that is printed.
--
-- `expected` says that the load's release works so, as far as releases were read (0.6 to 0.33); of a release that is not
-- known, or is newer, none is expected. An estimate of CUDA graphs is expected where the log has one and does not say that
-- it was left out.
--
-- load_id           VARCHAR  The load.
-- budget_line       VARCHAR  Line that prints the budget.
-- logged            VARCHAR  Device that it is for, as logged.
-- printed_bytes     BIGINT   The printed budget.
-- version           VARCHAR  Release that the load reports.
-- algorithm         VARCHAR  Name of the algorithm.
-- about             VARCHAR  Whose it is, and what it does.
-- rank              INTEGER  Order in which algorithms that fit equally well are preferred.
-- expected          BOOLEAN  Whether the load's release works so; none where it is not known.
-- complete          BOOLEAN  Whether the log has every term.
-- missing           VARCHAR  Terms that it lacks, separated by blanks.
-- size_bytes        BIGINT   Sum of the terms that it has: the figure where it is complete, else at most so much.
-- tolerance_bytes   BIGINT   How far a budget that it made may be from that figure.
-- difference_bytes  BIGINT   Printed less figure.
-- fits              BOOLEAN  Whether it gives the printed budget; none where a term is missing and the rest leaves room.
-- lines             VARCHAR  Evidence: line ids in order of the sum, separated by blanks; the budget's own first.
WITH known (algorithm, rank, first_release, last_release, about) AS (
    VALUES
    ('share_less_peak', 1, 6, 6, 'vLLM 0.6: the share less what the allocator held at most and the rest of the card'),
    ('parts', 2, 6, 26, 'vLLM 0.6 to 0.26: the share less weights, peak of activations and non-torch memory'),
    ('parts_and_estimate', 3, 18, 26, 'vLLM 0.20 to 0.26, earlier by choice: the same less the estimate of CUDA graphs'),
    ('parts_estimate_in_peak', 4, 18, 18, 'vLLM 0.18: the parts, with the estimate inside the peak of the last account'),
    ('consumed', 5, 27, 33, 'vLLM from 0.27: the share less what the card lost and the peak of activations'),
    ('consumed_and_estimate', 6, 27, 33, 'vLLM from 0.27: the same less the estimate of CUDA graphs'),
    ('consumed_estimate_in_peak', 7, 27, 33, 'vLLM from 0.27: the same, with the estimate inside the peak of the last account')
),
printed AS (
    SELECT line_id, coalesce(device, writer_device) AS logged, budget_bytes AS printed_bytes, ordinal FROM pool_sized
    WHERE load_id IS NOT NULL
    UNION ALL
    SELECT line_id, coalesce(device, writer_device), kv_bytes, ordinal FROM memory_profiled WHERE load_id IS NOT NULL
),
said AS (
    -- The engine's configuration begins with its release, where no line of its own says it.
    SELECT load_id, nullif(max(regexp_extract(text, '^\(v([^()\s]+)\) with config: ', 1)), '') AS version
    FROM arguments_reported
    WHERE believed AND load_id IS NOT NULL
    GROUP BY load_id
),
versions AS (
    SELECT load.load_id, coalesce(process.version, said.version) AS version
    FROM load
    JOIN process USING (process_id)
    LEFT JOIN said USING (load_id)
),
releases AS (
    SELECT
        load_id, version,
        TRY_CAST(split_part(version, '.', 1) AS BIGINT) * 1000
            + TRY_CAST(regexp_extract(version, '^\d+\.(\d+)', 1) AS BIGINT) AS release
    FROM versions
),
left_out AS (
    SELECT DISTINCT load_id FROM configuration WHERE name = 'cuda_graph_estimate' AND value = 'not applied'
),
estimated AS (
    SELECT DISTINCT budget_line FROM budget_terms WHERE term = 'estimate' AND size_bytes IS NOT NULL
),
terms AS (
    SELECT *, row_number() OVER (PARTITION BY load_id, budget_line, algorithm, line_id ORDER BY place) = 1 AS first_of_line
    FROM budget_terms
),
sums AS (
    SELECT
        load_id, budget_line, algorithm,
        bool_and(size_bytes IS NOT NULL) AS complete,
        string_agg(term, ' ' ORDER BY place) FILTER (size_bytes IS NULL) AS missing,
        bool_or(term = 'requested' AND size_bytes IS NOT NULL) AS begun,
        sum(sign * size_bytes)::BIGINT AS size_bytes,
        sum(bound_bytes) FILTER (size_bytes IS NOT NULL)::BIGINT + 5368710 AS tolerance_bytes,
        string_agg(line_id, ' ' ORDER BY place) FILTER (first_of_line) AS lines
    FROM terms
    GROUP BY load_id, budget_line, algorithm
),
judged AS (
    SELECT
        sums.*, printed.logged, printed.printed_bytes, printed.ordinal, known.rank, known.about,
        releases.version,
        CASE
            WHEN releases.release IS NULL OR releases.release NOT BETWEEN 6 AND 33 THEN NULL
            WHEN releases.release NOT BETWEEN known.first_release AND known.last_release THEN false
            WHEN sums.algorithm IN ('parts', 'consumed')
                THEN estimated.budget_line IS NULL OR left_out.load_id IS NOT NULL OR releases.release < 20
            WHEN sums.algorithm IN ('parts_and_estimate', 'consumed_and_estimate')
                THEN estimated.budget_line IS NOT NULL AND left_out.load_id IS NULL
            ELSE true
        END AS expected
    FROM sums
    JOIN known USING (algorithm)
    JOIN printed ON printed.line_id = sums.budget_line
    JOIN releases ON releases.load_id = sums.load_id
    LEFT JOIN left_out ON left_out.load_id = sums.load_id
    LEFT JOIN estimated ON estimated.budget_line = sums.budget_line
)
SELECT
    load_id,
    budget_line,
    logged,
    printed_bytes,
    version,
    algorithm,
    about,
    rank::INTEGER AS rank,
    expected,
    complete,
    missing,
    size_bytes,
    tolerance_bytes,
    printed_bytes - size_bytes AS difference_bytes,
    CASE
        WHEN complete THEN abs(printed_bytes - size_bytes) <= tolerance_bytes
        -- What is missing is only ever taken off: a budget above the rest is none of these.
        WHEN begun AND algorithm <> 'parts_estimate_in_peak' AND printed_bytes - size_bytes > tolerance_bytes THEN false
    END AS fits,
    budget_line || coalesce(' ' || lines, '') AS lines
FROM judged
ORDER BY load_id, ordinal, rank
