-- One row a load that was read twice, since the evidence holds its log twice: a journal and a copy of it.
--
-- The first lines of a copy are those of another load of another source, as many as the shorter has, and it has no wall
-- time or the same. Which of the two is the copy is a choice: the one without wall time, else the later one in the case.
--
-- load_id  VARCHAR  The load that is a copy.
-- copy_of  VARCHAR  The load that it is a copy of.
WITH numbered AS (
    SELECT
        load.load_id, load.number, load.begun_us, begun.source_id, begun.text AS begun_text, line.text, line.ordinal,
        row_number() OVER (PARTITION BY load.load_id ORDER BY line.ordinal) AS place
    FROM load
    JOIN line AS begun ON begun.line_id = load.begun_line
    JOIN line ON line.load_id = load.load_id AND line.source_id = begun.source_id
),
printed AS (
    SELECT load_id, number, begun_us, source_id, begun_text, list(text ORDER BY ordinal) AS texts
    FROM numbered
    WHERE place <= 2000
    GROUP BY load_id, number, begun_us, source_id, begun_text
)
SELECT one.load_id, arg_min(other.load_id, other.number) AS copy_of
FROM printed AS one
JOIN printed AS other
    ON one.begun_text = other.begun_text
    AND one.source_id <> other.source_id
    AND least(len(one.texts), len(other.texts)) > 1
    AND one.texts[1:least(len(one.texts), len(other.texts))] = other.texts[1:least(len(one.texts), len(other.texts))]
    AND (
        (one.begun_us IS NULL AND other.begun_us IS NOT NULL)
        OR (one.begun_us IS NULL AND other.begun_us IS NULL AND other.number < one.number)
        OR (abs(one.begun_us - other.begun_us) < 2000000 AND other.number < one.number)
    )
GROUP BY one.load_id
ORDER BY one.load_id
