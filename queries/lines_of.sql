-- macro (wanted VARCHAR)
--
-- One row a line of a load, in order: where it is, what it was read as, and why it is this load's.
--
-- ordinal  BIGINT   Its place among all matched lines.
-- time_us  BIGINT   µs since the epoch, UTC.
-- line_id  VARCHAR  Identity.
-- event    VARCHAR  Table of the event.
-- pattern  VARCHAR  Pattern that read it.
-- part     VARCHAR  Part of the load.
-- phase    VARCHAR  Phase of the load.
-- scope    VARCHAR  exact or inferred.
-- rule     VARCHAR  Rule that gave the owner.
-- suspect  VARCHAR  Why the line is suspected to be forged.
-- text     VARCHAR  Beginning of the line.
SELECT ordinal, time_us, line_id, event, pattern, part, phase, scope, rule, suspect, text
FROM line
WHERE load_id = wanted
ORDER BY ordinal
