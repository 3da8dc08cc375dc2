SELECT 1
FROM loads
SELECT * FROM read_csv('{outside}')
SELECT * FROM '{outside}'
SELECT content FROM read_text('{outside}')
WITH a AS (SELECT * FROM read_text('{outside}')) SELECT * FROM a
SELECT (SELECT content FROM read_blob('{outside}'))
COPY load TO '{outside}'
COPY load FROM '{outside}'
SELECT * FROM query('SELECT * FROM read_text(''{outside}'')')
SELECT * FROM query_table('{outside}')
SELECT json_execute_serialized_sql(json_serialize_sql('SELECT 1'))
ATTACH '{outside}.duckdb'
SET enable_external_access = true
INSTALL httpfs
CREATE TABLE x AS SELECT 1
DELETE FROM load
DROP VIEW loads
PRAGMA database_list
SELECT getenv('HOME')
SELECT current_setting('home_directory')
SELECT * FROM glob('/*')
WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT sum(n) FROM t
SELECT count(*) FROM range(1000000000000) AS a, range(1000000) AS b
SELECT repeat('x', 1000000000)
SELECT list_transform(range(10), lambda x: x + 1), {'a': 1}, MAP {'k': 2}
SELECT number, model, begun_us FROM loads WHERE model LIKE '%gguf' ORDER BY number LIMIT 3
SELECT device, kind, sum(size_bytes) FROM vram_ledger GROUP BY ALL HAVING sum(size_bytes) > 0
SELECT * FROM duckdb_settings()
EXPLAIN ANALYZE SELECT * FROM load
DESCRIBE loads
SHOW TABLES
SUMMARIZE load
VALUES (1, 'a'), (2, NULL)
SELECT * FROM unnest([1, 2, 3])
PIVOT item ON kind USING sum(size_bytes)
SELECT * EXCLUDE (load_id) REPLACE (number + 1 AS number) FROM loads
SELECT 1; SELECT 2
SELECT regexp_matches(text, '(a+)+$') FROM line
FROM cards_at(1)
