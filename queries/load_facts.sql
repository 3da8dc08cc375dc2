-- stored
--
-- One thing that is true of a load and may differ in another: version, model, a setting, a device, the memory it began with.
--
-- What a program does not print is not here: absence is no proof of a default. Free memory at the start is before the load's
-- process where telemetry shows it (others hold the rest: the baseline), else what the program itself was told.
--
-- load_id     VARCHAR  The load.
-- what        VARCHAR  version, model, argument, setting, layers, speculation, cache, device, start_memory, pool or notice.
-- part        VARCHAR  Part of the load.
-- name        VARCHAR  Name of the setting, device or figure.
-- value       VARCHAR  Value, as printed.
-- size_bytes  BIGINT   Value in bytes, if it is an amount.
-- number      DOUBLE   Value, if it is a figure of the pool.
-- line_id     VARCHAR  Evidence.
WITH devices AS (
    SELECT
        load.load_id, device.device, device.card_id, card.name, card.driver, device.pci_bus_id
    FROM load
    JOIN device USING (process_id)
    LEFT JOIN card USING (card_id)
    WHERE device.place = 'card'
    QUALIFY row_number() OVER (PARTITION BY load.load_id, device.device ORDER BY device.card_id, device.pci_bus_id) = 1
),
speculation AS (
    SELECT
        load_id,
        arg_max(method || coalesce(', depth ' || n_max, ''), ordinal) AS method,
        arg_max(line_id, ordinal) AS line_id
    FROM (
        SELECT
            load_id, ordinal, line_id, active,
            last_value(method IGNORE NULLS) OVER told AS method,
            last_value(n_max IGNORE NULLS) OVER told AS n_max
        FROM speculation_configured
        WHERE believed AND load_id IS NOT NULL
        WINDOW told AS (PARTITION BY load_id ORDER BY ordinal)
    )
    GROUP BY load_id
),
pools AS (
    SELECT * FROM kv_pools QUALIFY row_number() OVER (PARTITION BY load_id ORDER BY sizing DESC) = 1
),
facts AS (
    SELECT
        load_id, 'version' AS what, 'target' AS part, 'version' AS name, version AS value, NULL AS size_bytes, NULL AS number, NULL AS line_id
    FROM loads
    UNION ALL
    SELECT load_id, 'model', 'target', 'model', model, NULL, NULL, NULL FROM loads
    UNION ALL
    SELECT load_id, origin, part, name, value, NULL, NULL, line_id FROM configuration
    UNION ALL
    SELECT load_id, 'layers', 'target', 'layers offloaded', layers, NULL, NULL, NULL FROM loads
    UNION ALL
    SELECT load_id, 'speculation', 'target', 'speculation', coalesce(method, 'off'), NULL, NULL, line_id FROM speculation
    UNION ALL
    SELECT load_id, 'notice', 'target', 'unused tensors', 'printed', NULL, NULL, arg_min(line_id, ordinal)
    FROM marker_seen
    WHERE believed AND load_id IS NOT NULL AND what IN ('tensor_unused', 'tensor_unused_torn')
    GROUP BY load_id
    UNION ALL
    SELECT
        load_id, 'cache', part, 'cache', string_agg(cells || ' cells ' || k_type || '/' || v_type, ', ' ORDER BY line_id),
        NULL, NULL, min(line_id)
    FROM kv_caches
    WHERE k_type IS NOT NULL AND phase <> 'fit'
    GROUP BY load_id, part
    UNION ALL
    SELECT load_id, 'device', 'target', device, coalesce(name || ' ', '') || coalesce(card_id, pci_bus_id, ''), NULL, NULL, NULL
    FROM devices
    UNION ALL
    SELECT load_id, 'device', 'target', 'driver of ' || device, driver, NULL, NULL, NULL FROM devices
    UNION ALL
    SELECT
        load_id, 'start_memory', 'target', 'free on card ' || card || ' (' || origin || ')',
        round(free_bytes / 1048576)::BIGINT || ' MiB', free_bytes, NULL, line_id
    FROM start_memory
    UNION ALL
    SELECT load_id, 'pool', 'target', 'tokens', tokens::VARCHAR, NULL, tokens, split_part(lines, ' ', 1) FROM pools
    UNION ALL
    SELECT load_id, 'pool', 'target', 'concurrency', concurrency::VARCHAR, NULL, concurrency, split_part(lines, ' ', 1) FROM pools
    UNION ALL
    SELECT
        load_id, 'pool', 'target', 'budget on a card', round(budget_bytes / 1073741824, 2) || ' GiB', budget_bytes, NULL,
        split_part(lines, ' ', 1)
    FROM pools
)
SELECT
    load_id, what, part, name, value, size_bytes::BIGINT AS size_bytes, number::DOUBLE AS number, nullif(line_id, '') AS line_id
FROM facts
WHERE value IS NOT NULL AND value <> ''
ORDER BY load_id, what, part, name, value, line_id
