-- macro (wanted VARCHAR)
--
-- What an id that a report cites stands for: the address of its bytes, its owner, and what it says.
--
-- line_id    VARCHAR  Identity.
-- source_id  VARCHAR  Source.
-- digest     VARCHAR  Root digest of the source.
-- offset     BIGINT   Byte offset in the source after decompression.
-- length     BIGINT   Bytes.
-- time_us    BIGINT   µs since the epoch, UTC.
-- cursor     VARCHAR  Journal cursor.
-- load_id    VARCHAR  Load that owns it.
-- scope      VARCHAR  exact, inferred or ambiguous; none for telemetry and for a line without an owner.
-- rule       VARCHAR  Why it has that owner, or none.
-- text       VARCHAR  What it says.
WITH found AS (
    SELECT line_id, source_id, "offset", length, time_us, cursor, load_id, scope, rule, text
    FROM line WHERE line_id = wanted
    UNION ALL
    SELECT line_id, source_id, "offset", length, at_us, NULL, NULL, NULL, 'telemetry', text
    FROM telemetry_row WHERE line_id = wanted
    UNION ALL
    SELECT line_id, source_id, "offset", length, NULL, NULL, NULL, NULL, 'no pattern reads it', text
    FROM unread WHERE line_id = wanted
)
SELECT
    found.line_id, found.source_id, source.digest, found."offset", found.length, found.time_us, found.cursor,
    found.load_id, found.scope, found.rule, found.text
FROM found
LEFT JOIN source USING (source_id)
ORDER BY found.source_id, found."offset", found.text
