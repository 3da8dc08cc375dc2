-- stored
--
-- What the service manager or the kernel logged about a failed load, and how it is linked to it.
--
-- `unit` is its unit, in that minute or by its own invocation, `pid` the process id on that host, `card` a card that the load holds; `time` is no
-- link: it happened within a minute of the end, and no field says that it concerns this load.
--
-- load_id  VARCHAR  The load.
-- failure  BIGINT   Failure within the load.
-- what     VARCHAR  Kind of service_changed: exited, failed, killed, oom_killed, xid, …
-- how      VARCHAR  unit, pid, card or time.
-- code     VARCHAR  exited, killed or dumped.
-- status   VARCHAR  Exit status, signal or detail, as printed.
-- number   BIGINT   Xid.
-- process  VARCHAR  Process that the line names.
-- device   VARCHAR  PCI bus id that the line names.
-- at_us    BIGINT   When, µs UTC.
-- ordinal  BIGINT   Its place among all lines.
-- line_id  VARCHAR  Evidence.
WITH failing AS (
    SELECT failures.load_id, failures.failure, coalesce(load.ended_us, failures.at_us) AS at_us, load.process_id
    FROM failures
    JOIN load USING (load_id)
    WHERE failures.outcome <> 'survived'
),
cards AS (
    -- the kernel prints no function: 0000:2b:00
    SELECT DISTINCT process_id, lower(regexp_extract(bus, '([0-9A-Fa-f]{4}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2})(?:\.\d)?$', 1)) AS bus
    FROM (
        SELECT device.process_id, coalesce(device.pci_bus_id, card.pci_bus_id) AS bus
        FROM device
        LEFT JOIN card USING (card_id)
        UNION
        SELECT process_id, pci_bus_id AS bus FROM device_seen WHERE believed AND pci_bus_id IS NOT NULL
    )
    WHERE bus IS NOT NULL
),
linked AS (
    SELECT
        failing.load_id,
        failing.failure,
        host.what,
        CASE
            WHEN host.load_id = failing.load_id OR host.unit = process.unit THEN 'unit'
            WHEN host.pid = process.pid AND line.host IS NOT DISTINCT FROM process.host THEN 'pid'
            WHEN lower(host.device) IN (SELECT bus FROM cards WHERE cards.process_id = failing.process_id) THEN 'card'
            ELSE 'time'
        END AS how,
        host.code,
        host.status,
        host.number,
        host.process,
        host.device,
        host.time_us AS at_us,
        host.ordinal,
        host.line_id
    FROM failing
    JOIN process USING (process_id)
    JOIN service_changed AS host
        ON host.believed AND (host.load_id = failing.load_id OR abs(host.time_us - failing.at_us) <= 60000000)
        AND (host.load_id IS NULL OR host.load_id = failing.load_id)
    JOIN line USING (line_id)
    WHERE host.what NOT IN ('consumed', 'started', 'starting', 'booted', 'suppressed')
)
SELECT load_id, failure, what, how, code, status, number, process, device, at_us, ordinal, line_id
FROM linked
-- a manager's line about another unit says nothing here
WHERE how <> 'time' OR what IN (
    'xid', 'oom_invoked', 'oom_chosen', 'oom_killed', 'card_lost', 'card_fault', 'card_timeout', 'card_reset', 'pcie_error',
    'suspended'
)
ORDER BY load_id, failure, ordinal
