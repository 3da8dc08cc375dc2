-- stored
--
-- One row a model and engine: how long its loads took until they served.
--
-- engine    VARCHAR  Program that holds them.
-- model     VARCHAR  Model.
-- loads     BIGINT   Loads.
-- ready     BIGINT   Loads that got ready and whose time is known.
-- min_s     DOUBLE   Shortest, seconds.
-- median_s  DOUBLE   Median.
-- max_s     DOUBLE   Longest.
-- sum_s     DOUBLE   All together.
SELECT
    loads.engine,
    loads.model,
    count(*) AS loads,
    count(load_times.loading_s) AS ready,
    min(load_times.loading_s) AS min_s,
    median(load_times.loading_s) AS median_s,
    max(load_times.loading_s) AS max_s,
    sum(load_times.loading_s ORDER BY loads.number) AS sum_s
FROM loads
LEFT JOIN load_times USING (load_id)
GROUP BY loads.engine, loads.model
ORDER BY sum_s DESC NULLS LAST, loads.engine, loads.model
