-- stored
--
-- What a measured load leaves on its cards beyond everything that its log names: runtimes included.
--
-- Of the last moment. The rests of plain loads on one box are a yardstick: a load that leaves less than any of them has
-- something counted twice.
--
-- load_id         VARCHAR  The load.
-- number          BIGINT   Its place among the loads of the case.
-- cards           BIGINT   Cards that it was measured on.
-- speculates      BOOLEAN  Whether a line configures speculation, or a draft or MTP context is forecast or allocated.
-- measured_bytes  BIGINT   Measured, all cards.
-- logged_bytes    BIGINT   Sum of the logged items on those cards.
-- rest_bytes      BIGINT   The signed rest.
-- bound_bytes     BIGINT   Rounding of the measurement and of the items.
-- lines           VARCHAR  Evidence: rows of telemetry, separated by blanks.
WITH logged AS (
    SELECT load_id, device, sum(size_bytes)::BIGINT AS size_bytes, sum(bound_bytes)::BIGINT AS bound_bytes
    FROM vram_ledger
    GROUP BY load_id, device
),
speculating AS (
    SELECT load_id FROM speculation_configured WHERE believed AND (method IS NOT NULL OR active)
    UNION
    SELECT load_id FROM item WHERE part IN ('draft', 'mtp') AND mark IN ('counted', 'estimated')
)
SELECT
    measure.load_id,
    load.number,
    count(*) AS cards,
    measure.load_id IN (SELECT load_id FROM speculating WHERE load_id IS NOT NULL) AS speculates,
    sum(measure.measured_bytes)::BIGINT AS measured_bytes,
    sum(logged.size_bytes)::BIGINT AS logged_bytes,
    sum(measure.measured_bytes - logged.size_bytes)::BIGINT AS rest_bytes,
    sum(measure.rounding_bytes + logged.bound_bytes)::BIGINT AS bound_bytes,
    string_agg(measure.line_id, ' ' ORDER BY measure.device) AS lines
FROM measure
JOIN logged USING (load_id, device)
JOIN load USING (load_id)
WHERE measure.moment = 'last'
GROUP BY measure.load_id, load.number
ORDER BY load.number
