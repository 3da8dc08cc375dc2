-- stored
--
-- One row a model that drafted: depth and acceptance over all of its loads.
--
-- The acceptance is a sum of counts over a sum of counts; lowest and highest are those of single requests or intervals.
--
-- engine      VARCHAR  Program that held it.
-- model       VARCHAR  What models are compared by.
-- identity    VARCHAR  Label for people.
-- loads       BIGINT   Loads that drafted.
-- depths      VARCHAR  Depths that they were set up with, separated by blanks.
-- samples     BIGINT   Requests or intervals with drafts.
-- accepted    BIGINT   Sum.
-- drafted     BIGINT   Sum.
-- acceptance  DOUBLE   accepted / drafted.
-- lowest      DOUBLE   Lowest rate of a sample.
-- highest     DOUBLE   Highest rate of a sample.
SELECT
    load.engine,
    coalesce(load_identity.model, load_identity.identity) AS model,
    arg_min(load_identity.identity, load.number) AS identity,
    count(*) AS loads,
    string_agg(DISTINCT speculation.n_max::VARCHAR, ' ' ORDER BY speculation.n_max::VARCHAR) AS depths,
    sum(totals.samples)::BIGINT AS samples,
    sum(totals.accepted)::BIGINT AS accepted,
    sum(totals.drafted)::BIGINT AS drafted,
    sum(totals.accepted) / nullif(sum(totals.drafted), 0) AS acceptance,
    min(totals.lowest) AS lowest,
    max(totals.highest) AS highest
FROM draft_totals AS totals
JOIN load USING (load_id)
JOIN load_identity USING (load_id)
LEFT JOIN speculation USING (load_id)
WHERE totals.drafted > 0
GROUP BY load.engine, coalesce(load_identity.model, load_identity.identity)
ORDER BY load.engine, coalesce(load_identity.model, load_identity.identity)
