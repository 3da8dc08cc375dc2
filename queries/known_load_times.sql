-- stored
--
-- How long a model is known to take from the begin of its load until it serves: one row a model.
--
-- Only of loads that got ready. The shortest is the one to hold an interval against: a warm page cache makes it short.
--
-- model       VARCHAR  What models are compared by.
-- loads       BIGINT   Loads that got ready.
-- shortest_s  DOUBLE   Shortest.
-- median_s    DOUBLE   Median.
-- longest_s   DOUBLE   Longest.
SELECT
    load_identity.model,
    count(*) AS loads,
    min(load_times.loading_s) AS shortest_s,
    median(load_times.loading_s) AS median_s,
    max(load_times.loading_s) AS longest_s
FROM load_times
JOIN load_identity USING (load_id)
WHERE load_identity.model IS NOT NULL
GROUP BY load_identity.model
ORDER BY load_identity.model
