-- stored
--
-- One row an amount that a load printed and that its ledger leaves out, with the reason.
--
-- load_id        VARCHAR  The load.
-- logged         VARCHAR  Device as logged.
-- part           VARCHAR  Part.
-- kind           VARCHAR  Kind; none for a forecast of several kinds.
-- size_bytes     BIGINT   Amount.
-- mark           VARCHAR  superseded, planned, summary, estimated, claimed or suspect.
-- why            VARCHAR  Why it is not counted.
-- superseded_by  VARCHAR  Line that replaces it.
-- line_id        VARCHAR  Evidence.
-- text           VARCHAR  Beginning of the line.
SELECT
    item.load_id, item.logged, item.part, item.kind, item.size_bytes, item.mark, item.why, item.superseded_by,
    item.line_id, line.text
FROM item
JOIN line ON line.line_id = item.line_id AND line.load_id = item.load_id
WHERE item.mark != 'counted'
ORDER BY item.load_id, line.ordinal, item.logged, item.part, item.kind, item.size_bytes
