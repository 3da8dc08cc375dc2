-- stored
--
-- One row a reason not to take an acceptance at face value, with the lines behind it.
--
-- `tiny`: nearly everything accepted of few tokens; says nothing (95 % of fewer than 64 drafted). `trivial`: nearly
-- everything accepted of many; text that repeats or echoes its prompt does that. `collapse`: the rate of a load falls to
-- half or less and stays there, with 100 drafted tokens on either side (a difference of six standard errors); with it
-- what the load decoded at before and after. `synthetic`:
-- a benchmarking switch makes the acceptance up. `arithmetic`: figures of one line cannot all be true. `depth`: asked for
-- one depth, set up with another. `totals`: cumulative counts and the sum of requests cannot both be whole. `inert`: set
-- up and never drafted.
--
-- load_id  VARCHAR  The load.
-- doubt    VARCHAR  tiny, trivial, collapse, synthetic, arithmetic, depth, totals or inert.
-- ordinal  BIGINT   Place of its first line; empty if it is about the load.
-- note     VARCHAR  In words, with the figures.
-- lines    VARCHAR  Evidence, separated by blanks.
WITH samples AS (
    SELECT * FROM draft_samples WHERE drafted > 0
),
single AS (
    SELECT
        load_id, CASE WHEN drafted < 64 THEN 'tiny' ELSE 'trivial' END AS doubt, ordinal,
        CASE WHEN drafted < 64
            THEN format('{} of {} drafted tokens accepted: too few to say anything', accepted, drafted)
            ELSE format('{} of {} drafted tokens accepted: text that repeats or echoes its prompt does that', accepted, drafted)
        END AS note,
        line_id AS lines
    FROM samples
    WHERE ratio >= 0.95
),
running AS (
    SELECT
        load_id, ordinal, line_id,
        sum(accepted) OVER earlier AS accepted_before, sum(drafted) OVER earlier AS drafted_before,
        sum(accepted) OVER later AS accepted_after, sum(drafted) OVER later AS drafted_after
    FROM samples
    WINDOW
        earlier AS (PARTITION BY load_id ORDER BY ordinal ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING),
        later AS (PARTITION BY load_id ORDER BY ordinal ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)
),
halves AS (
    SELECT
        *, accepted_before / drafted_before AS before, accepted_after / drafted_after AS after,
        (accepted_before + accepted_after) / (drafted_before + drafted_after) AS pooled
    FROM running
    WHERE drafted_before >= 100 AND drafted_after >= 100
),
worst AS (
    SELECT *
    FROM halves
    WHERE after <= before / 2
        AND (before - after) / nullif(sqrt(pooled * (1 - pooled) * (1 / drafted_before + 1 / drafted_after)), 0) >= 6
    QUALIFY row_number() OVER (PARTITION BY load_id ORDER BY before - after DESC, ordinal) = 1
),
-- What it decoded at on either side: by its requests, else by its statistics lines, whose windows are no rates of any.
paces AS (
    SELECT
        worst.load_id,
        median(rates.decode_per_s) FILTER (rates.last < worst.ordinal) AS before,
        median(rates.decode_per_s) FILTER (rates.last >= worst.ordinal) AS after
    FROM worst
    JOIN request_rates AS rates USING (load_id)
    GROUP BY worst.load_id
),
windows AS (
    SELECT
        worst.load_id,
        avg(said.generated_tokens_per_s ORDER BY said.ordinal) FILTER (said.ordinal < worst.ordinal) AS before,
        avg(said.generated_tokens_per_s ORDER BY said.ordinal) FILTER (said.ordinal >= worst.ordinal) AS after
    FROM worst
    JOIN engine_measured AS said USING (load_id)
    WHERE said.believed AND said.generated_tokens_per_s > 0
    GROUP BY worst.load_id
),
collapses AS (
    SELECT
        worst.load_id, 'collapse' AS doubt, worst.ordinal,
        format('{:.1f} % accepted before, {:.1f} % from here on', 100 * worst.before, 100 * worst.after)
            || CASE
                WHEN paces.before IS NOT NULL AND paces.after IS NOT NULL
                    THEN format('; decoding at {:.1f} tok/s before, {:.1f} after', paces.before, paces.after)
                WHEN windows.before IS NOT NULL AND windows.after IS NOT NULL
                    THEN format('; windows of {:.1f} tok/s before, {:.1f} after', windows.before, windows.after)
                ELSE ''
            END
            || CASE WHEN load.end_reason IN ('crashed', 'killed', 'failed')
                THEN '; the load then ended: ' || load.end_reason ELSE '' END AS note,
        concat_ws(' ', worst.line_id, CASE WHEN load.end_reason IN ('crashed', 'killed', 'failed') THEN load.ended_line END)
            AS lines
    FROM worst
    JOIN load USING (load_id)
    LEFT JOIN paces USING (load_id)
    LEFT JOIN windows USING (load_id)
),
made_up AS (
    SELECT failure_reported.load_id, 'synthetic' AS doubt, ordinal, 'a benchmarking switch makes the acceptance up' AS note,
        line_id AS lines
    FROM failure_reported
    WHERE believed AND load_id IS NOT NULL AND message LIKE 'synthetic speculative acceptance%'
),
impossible AS (
    SELECT
        load_id, 'arithmetic' AS doubt, ordinal,
        format('{}: printed {:.3f}, but {}', name, printed, note)
            || CASE WHEN computed IS NULL THEN '' ELSE format(' gives {:.3f}', computed) END AS note,
        line_id AS lines
    FROM draft_checks
    WHERE NOT holds
),
depths AS (
    SELECT
        load_id, 'depth' AS doubt, NULL::BIGINT AS ordinal,
        format('its arguments ask for depth {}, its lines say {}', asked_n_max, said_n_max) AS note,
        concat_ws(' ', argument_lines, for_lines) AS lines
    FROM speculation
    WHERE asked_n_max != said_n_max AND len(string_split(coalesce(said_method, ''), ',')) = 1
),
totals AS (
    SELECT
        load_id, 'totals' AS doubt, NULL::BIGINT AS ordinal,
        CASE
            WHEN totals_fall THEN 'cumulative counts fall: two loads may have been taken for one'
            ELSE format(
                'requests add up to {} of {}, more than the cumulative {} of {}', accepted, drafted, total_accepted, total_drafted
            )
        END AS note,
        total_lines AS lines
    FROM draft_totals
    WHERE totals_fall OR drafted > total_drafted
),
inert AS (
    SELECT
        speculation.load_id, 'inert' AS doubt, NULL::BIGINT AS ordinal,
        CASE
            WHEN speculation.said_off THEN 'asked for, but its own line says that none is set up'
            WHEN speculation.refused THEN 'asked for, but this context cannot speculate'
            WHEN requests.telling > 0 THEN format('set up, but none of {} timed requests drafted', requests.telling)
            ELSE format('set up, but {} statistics lines with tokens generated come without drafts', requests.windows)
        END
            || CASE WHEN speculation.draft_model IS NOT NULL AND NOT speculation.said_off AND NOT speculation.refused
                THEN '; a draft model that is missing does that without a line of its own' ELSE '' END AS note,
        concat_ws(' ', speculation.argument_lines, speculation.against_lines, speculation.for_lines, requests.lines) AS lines
    FROM speculation
    LEFT JOIN draft_requests AS requests USING (load_id)
    LEFT JOIN draft_totals AS drafts USING (load_id)
    WHERE speculation.configured AND coalesce(drafts.drafted, drafts.total_drafted, 0) = 0
        AND (speculation.said_off OR speculation.refused OR requests.telling > 0 OR requests.windows > 0)
)
SELECT load_id, doubt, ordinal, note, lines
FROM (
    SELECT * FROM single
    UNION ALL SELECT * FROM collapses
    UNION ALL SELECT * FROM made_up
    UNION ALL SELECT * FROM impossible
    UNION ALL SELECT * FROM depths
    UNION ALL SELECT * FROM totals
    UNION ALL SELECT * FROM inert
)
ORDER BY load_id, ordinal NULLS FIRST, doubt, note
