-- stored
--
-- One row a load that drafted: what its requests or intervals add up to, beside the last cumulative counts.
--
-- The acceptance is the sum of accepted over the sum of drafted tokens; rates are never averaged. Cumulative counts
-- hold everything since the load began: the last line of each method counts, and nothing is added to it. The mean
-- length counts the bonus token: 1 + accepted / drafts; it is empty if the steps of a sample do not follow.
--
-- load_id           VARCHAR  The load.
-- samples           BIGINT   Requests or intervals with drafts.
-- covers            VARCHAR  request or interval.
-- accepted          BIGINT   Sum.
-- drafted           BIGINT   Sum.
-- acceptance        DOUBLE   accepted / drafted.
-- lowest            DOUBLE   Lowest rate of a sample.
-- highest           DOUBLE   Highest rate of a sample.
-- drafts            BIGINT   Verification steps; empty if those of a sample do not follow and no total gives them.
-- mean_length       DOUBLE   1 + accepted / drafts.
-- total_accepted    BIGINT   Last cumulative counts, summed over methods.
-- total_drafted     BIGINT   Last cumulative counts, summed over methods.
-- total_drafts      BIGINT   Last cumulative counts, summed over methods.
-- totals_fall       BOOLEAN  Whether a cumulative count ever falls: then two loads were taken for one.
-- first_us          BIGINT   First sample.
-- last_us           BIGINT   Last sample.
-- lines             VARCHAR  Evidence: lines of the samples, in order.
-- total_lines       VARCHAR  Evidence: the last cumulative line of each method.
WITH sums AS (
    SELECT
        load_id, count(*) AS samples, string_agg(DISTINCT covers, ', ' ORDER BY covers) AS covers,
        sum(accepted)::BIGINT AS accepted, sum(drafted)::BIGINT AS drafted, min(ratio) AS lowest, max(ratio) AS highest,
        CASE WHEN count(drafts) = count(*) THEN sum(drafts)::BIGINT END AS drafts,
        min(at_us) AS first_us, max(at_us) AS last_us, string_agg(line_id, ' ' ORDER BY ordinal) AS lines
    FROM draft_samples
    WHERE drafted > 0
    GROUP BY load_id
),
cumulative AS (
    SELECT
        load_id, coalesce(method, '') AS method, slot, ordinal, line_id, accepted, drafted, drafts,
        drafted < lag(drafted) OVER (PARTITION BY load_id, method, slot ORDER BY ordinal) AS falls,
        row_number() OVER (PARTITION BY load_id, method, slot ORDER BY ordinal DESC) AS back
    FROM draft_accepted
    WHERE believed AND load_id IS NOT NULL AND event_scope = 'load'
),
totals AS (
    SELECT
        load_id, sum(accepted) FILTER (back = 1)::BIGINT AS accepted, sum(drafted) FILTER (back = 1)::BIGINT AS drafted,
        sum(drafts) FILTER (back = 1)::BIGINT AS drafts, coalesce(bool_or(falls), false) AS falls,
        string_agg(line_id, ' ' ORDER BY ordinal) FILTER (back = 1) AS lines
    FROM cumulative
    GROUP BY load_id
)
SELECT
    load_id,
    coalesce(sums.samples, 0) AS samples,
    sums.covers,
    sums.accepted,
    sums.drafted,
    sums.accepted / nullif(sums.drafted, 0) AS acceptance,
    sums.lowest,
    sums.highest,
    CASE
        WHEN sums.drafts IS NOT NULL THEN sums.drafts
        WHEN sums.accepted = totals.accepted AND sums.drafted = totals.drafted THEN totals.drafts
    END AS drafts,
    CASE
        WHEN sums.accepted = 0 THEN 1
        WHEN sums.drafts IS NOT NULL THEN 1 + sums.accepted / sums.drafts
        WHEN sums.accepted = totals.accepted AND sums.drafted = totals.drafted
            THEN 1 + totals.accepted / nullif(totals.drafts, 0)
    END::DOUBLE AS mean_length,
    totals.accepted AS total_accepted,
    totals.drafted AS total_drafted,
    totals.drafts AS total_drafts,
    coalesce(totals.falls, false) AS totals_fall,
    sums.first_us,
    sums.last_us,
    sums.lines,
    totals.lines AS total_lines
FROM sums
FULL JOIN totals USING (load_id)
ORDER BY load_id
