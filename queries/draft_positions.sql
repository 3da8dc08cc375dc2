-- stored
--
-- One row a load and position in a draft: how often the token at that position was accepted, of all drafts.
--
-- Each printed rate is a share of the drafts of its sample; samples are weighted by their drafts. Samples whose drafts
-- do not follow are left out, and counted in `left_out`.
--
-- load_id   VARCHAR  The load.
-- position  BIGINT   Position, from 1.
-- accepted  BIGINT   Tokens accepted at this position; from rounded rates.
-- drafts    BIGINT   Drafts.
-- rate      DOUBLE   accepted / drafts.
-- left_out  BIGINT   Samples with rates by position that could not be weighted.
WITH places AS (
    SELECT load_id, drafts, positions, unnest(generate_series(1, len(positions))) AS position
    FROM draft_samples
    WHERE positions IS NOT NULL AND drafted > 0
)
SELECT
    load_id,
    position::BIGINT AS position,
    sum(round(positions[position] * drafts))::BIGINT AS accepted,
    sum(drafts)::BIGINT AS drafts,
    sum(round(positions[position] * drafts)) / nullif(sum(drafts), 0) AS rate,
    count(*) FILTER (drafts IS NULL) AS left_out
FROM places
GROUP BY load_id, position
ORDER BY load_id, position
