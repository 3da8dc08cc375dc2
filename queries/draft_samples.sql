-- stored
--
-- One row a count of drafted and accepted tokens that covers one request or one interval of a load.
--
-- Only lines that belong to a load and are believed. Cumulative lines are not here: see draft_totals. The steps
-- (drafts) are not printed; they follow from the accepted tokens and the mean length if that counts the bonus token,
-- else from the rates by position. Of an interval whose drafts all have full depth they are drafted / depth, if the mean
-- length then is one with the bonus token or one without.
--
-- load_id         VARCHAR  The load.
-- ordinal         BIGINT   Place among all matched lines.
-- at_us           BIGINT   When, µs UTC.
-- covers          VARCHAR  request or interval.
-- writer          VARCHAR  Tag of the line: port, pid or rank.
-- slot            BIGINT   Slot.
-- task            BIGINT   Task.
-- accepted        BIGINT   Tokens accepted.
-- drafted         BIGINT   Tokens drafted.
-- ratio           DOUBLE   accepted / drafted.
-- printed_ratio   DOUBLE   Rate as printed.
-- mean_length     DOUBLE   Mean length as printed.
-- positions       DOUBLE[]  Rates by position, as printed.
-- drafts          BIGINT   Verification steps, if they follow.
-- depth           BIGINT   Depth the load was set up with.
-- line_id         VARCHAR  Evidence: the line with the counts.
-- positions_line  VARCHAR  Evidence: the line with the rates by position, if it is another.
WITH counts AS (
    SELECT *
    FROM draft_accepted
    WHERE believed AND load_id IS NOT NULL AND event_scope IN ('request', 'interval')
        AND (drafted IS NOT NULL OR mean_length IS NOT NULL)
),
rates AS (
    SELECT load_id, slot, task, ordinal, positions, line_id
    FROM draft_accepted
    WHERE believed AND load_id IS NOT NULL AND event_scope = 'request' AND drafted IS NULL AND positions IS NOT NULL
),
joined AS (
    SELECT
        counts.*,
        CASE WHEN counts.positions IS NULL THEN rates.line_id END AS positions_line,
        TRY_CAST(string_split(coalesce(counts.positions, rates.positions), ', ') AS DOUBLE[]) AS listed
    FROM counts
    ASOF LEFT JOIN rates
        ON counts.load_id = rates.load_id AND counts.task = rates.task AND counts.ordinal <= rates.ordinal
),
measured AS (
    SELECT
        joined.load_id, joined.ordinal, joined.time_us AS at_us, joined.event_scope AS covers, joined.writer, joined.slot, joined.task,
        joined.accepted, joined.drafted, joined.accepted / nullif(joined.drafted, 0) AS ratio,
        CASE WHEN isnan(joined.ratio) THEN NULL ELSE joined.ratio END AS printed_ratio,
        joined.mean_length, joined.listed AS positions, list_sum(joined.listed) AS reach, joined.line_id,
        joined.positions_line, speculation.n_max AS depth
    FROM joined
    LEFT JOIN speculation USING (load_id)
)
SELECT
    load_id, ordinal, at_us, covers, writer, slot, task, accepted, drafted, ratio, printed_ratio, mean_length, positions,
    CASE
        WHEN covers = 'interval' AND drafted % depth = 0 AND abs(mean_length - accepted * depth / drafted - 0.5) BETWEEN 0.495 AND 0.505
            THEN drafted / depth
        WHEN accepted > 0 AND mean_length > 1
            AND round(accepted / (mean_length - 1)) BETWEEN accepted / (mean_length + 0.005 - 1)
                AND accepted / (mean_length - 0.005 - 1)
            THEN round(accepted / (mean_length - 1))
        WHEN accepted > 0 AND reach > 0 THEN round(accepted / reach)
        WHEN accepted = 0 AND covers = 'interval' AND drafted % depth = 0 THEN drafted / depth
    END::BIGINT AS drafts,
    depth, line_id, positions_line
FROM measured
ORDER BY load_id, ordinal
