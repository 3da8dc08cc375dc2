-- macro (asked TIMESTAMPTZ)
--
-- What the log says that each load held at a moment, by device, part and kind.
--
-- A moment without a zone is UTC. An amount that a later line replaces counts until that line; a load that sleeps
-- inside its life holds nothing.
--
-- load_id      VARCHAR  The load.
-- device       VARCHAR  Device.
-- place        VARCHAR  card, host, shared or remote.
-- part         VARCHAR  Part of the load.
-- kind         VARCHAR  What the amount holds.
-- size_bytes   BIGINT   Sum.
-- bound_bytes  BIGINT   Sum of the rounding bounds.
-- basis        VARCHAR  logged or derived.
-- lines        VARCHAR  Evidence: line ids in order, separated by blanks.
WITH alive AS (
    SELECT load_id, epoch_us(asked::TIMESTAMPTZ) AS asked_us FROM load_at(asked) WHERE phase IS DISTINCT FROM 'asleep'
)
SELECT
    amounts.load_id, amounts.device, amounts.place, amounts.part, amounts.kind,
    sum(amounts.size_bytes)::BIGINT AS size_bytes,
    sum(amounts.bound_bytes)::BIGINT AS bound_bytes,
    CASE WHEN bool_or(amounts.basis = 'derived') THEN 'derived' ELSE 'logged' END AS basis,
    string_agg(amounts.line_id, ' ' ORDER BY amounts.ordinal) AS lines
FROM alive
JOIN ledger_lines AS amounts USING (load_id)
WHERE amounts.at_us <= alive.asked_us AND (amounts.until_us IS NULL OR alive.asked_us < amounts.until_us)
GROUP BY amounts.load_id, amounts.device, amounts.place, amounts.part, amounts.kind
ORDER BY amounts.load_id, amounts.device, min(amounts.ordinal), amounts.part, amounts.kind
