-- stored
--
-- One row a problem that reading or the analysis met: worst first.
--
-- severity   VARCHAR  error, loss or note.
-- source_id  VARCHAR  Source.
-- what       VARCHAR  What was met.
-- count      BIGINT   How often.
-- remedy     VARCHAR  What to do, if anything helps.
SELECT severity, source_id, what, count, nullif(remedy, '') AS remedy
FROM problem
ORDER BY CASE severity WHEN 'error' THEN 0 WHEN 'loss' THEN 1 ELSE 2 END, source_id, what, remedy, count
