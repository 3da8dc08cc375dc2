-- One row a sample of telemetry or an answer of a service, by the address of its bytes, with what it says in words.
--
-- line_id    VARCHAR  Identity, as evidence is cited.
-- source_id  VARCHAR  Source.
-- offset     BIGINT   Byte offset.
-- length     BIGINT   Bytes.
-- at_us      BIGINT   µs since the epoch, UTC.
-- text       VARCHAR  What it says.
SELECT
    line_id, source_id, "offset", length, at_us,
    'pid ' || pid || coalesce(' (' || name || ')', '') || ' holds ' || coalesce((used_bytes // 1048576)::VARCHAR, 'unknown')
        || ' MiB on ' || card_id AS text
FROM holder_sample
UNION ALL
SELECT
    line_id, source_id, "offset", length, at_us,
    card_id || ': ' || coalesce((used_bytes // 1048576)::VARCHAR, 'unknown') || ' MiB used of '
        || coalesce((total_bytes // 1048576)::VARCHAR, 'unknown') AS text
FROM card_sample
UNION ALL
SELECT
    line_id, min(source_id) AS source_id, min("offset") AS "offset", min(length) AS length, min(at_us) AS at_us,
    'counters: ' || string_agg(name || ' ' || printf('%.10g', value), ', ' ORDER BY name, value) AS text
FROM request_counter
GROUP BY line_id
