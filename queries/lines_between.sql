-- macro (since TIMESTAMPTZ, until TIMESTAMPTZ)
--
-- One row a line that was written in a span of time, whoever wrote it: with its owner, or with the reason why it has
-- none.
--
-- Times without a zone are UTC. That a line was written near others makes it no load's: see its owner.
--
-- time_us  BIGINT   µs since the epoch, UTC.
-- ordinal  BIGINT   Its place among all matched lines.
-- load_id  VARCHAR  Load that owns it.
-- number   BIGINT   Place of that load among the loads of the case.
-- event    VARCHAR  Table of the event.
-- scope    VARCHAR  exact, inferred or ambiguous; none for an orphan.
-- rule     VARCHAR  Rule that gave the owner, or the reason why there is none.
-- line_id  VARCHAR  Identity.
-- text     VARCHAR  Beginning of the line.
SELECT
    line.time_us, line.ordinal, line.load_id, load.number, line.event, line.scope, line.rule, line.line_id, line.text
FROM line
LEFT JOIN load USING (load_id)
WHERE line.time_us BETWEEN epoch_us(since::TIMESTAMPTZ) AND epoch_us(until::TIMESTAMPTZ)
ORDER BY line.time_us, line.ordinal
