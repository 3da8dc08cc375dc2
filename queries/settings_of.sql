-- macro (wanted VARCHAR)
--
-- One row a setting of a load: its command line, and what the program said is in effect.
--
-- What is not printed is not here: it has its default.
--
-- origin   VARCHAR  argument or setting.
-- part     VARCHAR  Part of the load that it is about.
-- name     VARCHAR  Name as printed.
-- value    VARCHAR  Value as printed.
-- line_id  VARCHAR  Evidence.
SELECT origin, part, name, value, line_id
FROM configuration
WHERE load_id = wanted
ORDER BY origin, part, name
