-- stored
--
-- One row a load and kind of event: how many of its lines were read as that, and how surely they are its own.
--
-- load_id    VARCHAR  The load.
-- number     BIGINT   Its place among the loads of the case.
-- event      VARCHAR  Table of the events.
-- lines      BIGINT   Lines.
-- exact      BIGINT   Of those, owned by what the line itself carries or a trusted field says.
-- inferred   BIGINT   Owned by state or order.
-- suspected  BIGINT   Suspected to be forged.
SELECT
    line.load_id, load.number, line.event,
    count(*) AS lines,
    count(*) FILTER (line.scope = 'exact') AS exact,
    count(*) FILTER (line.scope = 'inferred') AS inferred,
    count(line.suspect) AS suspected
FROM line
JOIN load USING (load_id)
GROUP BY line.load_id, load.number, line.event
ORDER BY load.number, lines DESC, line.event
