-- stored
--
-- One row a line of the service manager or the kernel about a unit, a process or a card, in order.
--
-- time_us  BIGINT   µs since the epoch, UTC.
-- ordinal  BIGINT   Its place among all matched lines.
-- what     VARCHAR  What happened, such as started, exited, failed, oom_killed, xid.
-- unit     VARCHAR  Unit.
-- pid      BIGINT   Process id.
-- process  VARCHAR  Process name.
-- code     VARCHAR  exited, killed or dumped.
-- status   VARCHAR  Exit status, signal or result, as printed.
-- device   VARCHAR  PCI bus id of a card.
-- number   BIGINT   Xid, restarts, or messages suppressed.
-- load_id  VARCHAR  Load that it ended, if one owns it.
-- line_id  VARCHAR  Evidence.
SELECT time_us, ordinal, what, unit, pid, process, code, status, device, number, load_id, line_id
FROM service_changed
WHERE believed
ORDER BY ordinal
