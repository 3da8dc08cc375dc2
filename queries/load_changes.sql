-- One thing that differs between two loads: version, model, a setting, a device, or what was free when they began.
--
-- For every ordered pair of loads of a case. Only what both loads print is compared for settings of one origin; what just
-- one of them prints is shown with the other side empty where its configuration is printed at all. Free memory counts as
-- different from 64 MiB on. Absence here is no proof of equality: what neither prints is not known.
--
-- before_id      VARCHAR  One load.
-- after_id       VARCHAR  The other.
-- what           VARCHAR  version, model, argument, setting, device or start_memory.
-- name           VARCHAR  Name of the setting or device.
-- before_value   VARCHAR  Value in the one; none if not printed.
-- after_value    VARCHAR  Value in the other; none if not printed.
-- before_line    VARCHAR  Evidence.
-- after_line     VARCHAR  Evidence.
WITH facts AS (
    SELECT load_id, 'version' AS what, 'version' AS name, version AS value, NULL AS line_id, NULL AS size_bytes FROM loads
    WHERE version IS NOT NULL
    UNION ALL
    SELECT load_id, 'model', 'model', model, NULL, NULL FROM loads WHERE model IS NOT NULL
    UNION ALL
    SELECT load_id, origin, name, value, line_id, NULL FROM configuration
    UNION ALL
    SELECT
        load.load_id, 'device', device.device, coalesce(card.name, '') || coalesce(' ' || device.card_id, ''), NULL, NULL
    FROM load
    JOIN device USING (process_id)
    LEFT JOIN card USING (card_id)
    WHERE device.place = 'card'
    QUALIFY row_number() OVER (PARTITION BY load.load_id, device.device ORDER BY device.card_id) = 1
    UNION ALL
    SELECT
        load_id, 'start_memory', card || ' free, ' || origin, round(free_bytes / 1048576)::BIGINT || ' MiB', line_id, free_bytes
    FROM start_memory
    WHERE free_bytes IS NOT NULL
),
pairs AS (
    SELECT one.load_id AS before_id, other.load_id AS after_id FROM load AS one JOIN load AS other
        ON one.load_id <> other.load_id
),
kinds AS (
    SELECT DISTINCT load_id, what FROM facts
),
names AS (
    SELECT DISTINCT pairs.before_id, pairs.after_id, facts.what, facts.name
    FROM pairs
    JOIN facts ON facts.load_id IN (pairs.before_id, pairs.after_id)
    JOIN kinds AS mine ON mine.load_id = pairs.before_id AND mine.what = facts.what
    JOIN kinds AS theirs ON theirs.load_id = pairs.after_id AND theirs.what = facts.what
)
SELECT
    names.before_id,
    names.after_id,
    names.what,
    names.name,
    one.value AS before_value,
    other.value AS after_value,
    one.line_id AS before_line,
    other.line_id AS after_line
FROM names
LEFT JOIN facts AS one ON one.load_id = names.before_id AND one.what = names.what AND one.name = names.name
LEFT JOIN facts AS other ON other.load_id = names.after_id AND other.what = names.what AND other.name = names.name
WHERE one.value IS DISTINCT FROM other.value
    AND (names.what <> 'start_memory' OR coalesce(abs(one.size_bytes - other.size_bytes) >= 67108864, true))
ORDER BY names.before_id, names.after_id, names.what, names.name
